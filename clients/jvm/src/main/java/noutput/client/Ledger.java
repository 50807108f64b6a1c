package noutput.client;

import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A person's memory: what was answered, what it cost, and what is still to be sent.
 *
 * <pre>{@code
 * Ledger ledger = new Ledger(new File(folder, "noutput-ledger"));  // one for all campaigns
 * ledger.getPending();                                             // what was not acknowledged yet
 * }</pre>
 *
 * <p><b>Guarantees.</b> All reports on a campaign are stored before any is returned. However the
 * process ends, either nothing was answered, or the campaign gets the same reports with the same
 * ids the next time, and their cost counts. Threads and processes that share a storage can neither
 * answer a campaign twice nor exceed the policy together. A damaged ledger is refused. All of this
 * holds as far as the {@link Storage} keeps its promises; {@link FileStorage} does.
 */
public final class Ledger {
    private final Storage storage;

    /**
     * A ledger in a file, which is made where it is missing; see {@link FileStorage}.
     *
     * @throws LedgerException if the file is damaged, no ledger, or cannot be kept from others
     */
    public Ledger(File file) {
        this(new FileStorage(file));
    }

    /** A ledger in a storage, such as one that an app implements. */
    public Ledger(Storage storage) {
        this.storage = storage;
        read(); // refuses what is no ledger
    }

    /** Draws the reports on a campaign; called at most once, where the policy allows it. */
    interface Maker {
        List<Report> make();
    }

    /** The stored reports on a campaign, or new ones, stored before they are returned. */
    List<Report> remember(
            String id, String campaign, double cost, Policy policy, long now, Maker maker) {
        List<Report> found = new ArrayList<>();
        update(entries -> {
            Entries.Answer stored = entries.answers.get(campaign);
            if (stored != null) {
                found.addAll(stored.reports);
                return false;
            }
            checkRoot(entries, id, campaign, policy);
            policy.checkTotal(spent(entries, policy.since(now)), cost);
            List<Report> made = maker.make();
            entries.answers.put(
                    campaign, new Entries.Answer(id, cost, now, made, new boolean[made.size()]));
            entries.enrollments.remove(campaign);
            found.addAll(made);
            return true;
        });
        return Collections.unmodifiableList(found);
    }

    /** Refuses a campaign whose id is known by another root, unless the policy allows that. */
    void checkRoot(String id, String root, Policy policy) {
        checkRoot(read(), id, root, policy);
    }

    // Whoever hands out several documents under one id could tell devices apart by the fingerprint
    // that their reports name, and would get an answer of a device to each.
    private static void checkRoot(Entries entries, String id, String key, Policy policy) {
        String root = root(key);
        String other = null;
        for (Map.Entry<String, Entries.Answer> each : entries.answers.entrySet()) {
            if (each.getValue().id.equals(id)) {
                if (root(each.getKey()).equals(root)) {
                    return;
                }
                other = root(each.getKey());
            }
        }
        if (other != null && !policy.getNewRoots()) {
            throw Part.wrong("root of the campaign " + id, "be " + other + ", by which the ledger"
                    + " knows it: if the campaign was made anew, and this is not a document for some"
                    + " devices only, allow it with Policy.withNewRoots()", root);
        }
    }

    private static String root(String key) {
        return key.split(":")[0];
    }

    /**
     * The stored reports on a campaign, by its root, or by its root, a colon and the number of a round
     * where it has a schedule; none where there are none.
     */
    public List<Report> find(String campaign) {
        Entries.Answer stored = read().answers.get(campaign);
        List<Report> found = stored == null ? new ArrayList<>() : stored.reports;
        return Collections.unmodifiableList(found);
    }

    /** The sum of the costs of campaigns answered after an instant, in milliseconds since 1970. */
    public double spentSince(double milliseconds) {
        return spent(read(), milliseconds);
    }

    /** The reports that no collector has acknowledged yet, oldest first. */
    public List<Report> getPending() {
        return pending("");
    }

    /** Those of one campaign, by its root, in whichever round; of all where the root is empty. */
    List<Report> pending(String root) {
        List<Report> found = new ArrayList<>();
        for (Map.Entry<String, Entries.Answer> each : read().answers.entrySet()) {
            Entries.Answer answer = each.getValue();
            for (int i = 0; i < answer.sent.length; i++) {
                if (!answer.sent[i] && each.getKey().startsWith(root)) {
                    found.add(answer.reports.get(i));
                }
            }
        }
        return Collections.unmodifiableList(found);
    }

    /** Notes that a collector has acknowledged a report. */
    public void markSent(Report report) {
        update(entries -> {
            boolean isNew = false;
            for (Entries.Answer answer : entries.answers.values()) {
                int place = answer.reports.indexOf(report);
                if (place >= 0 && !answer.sent[place]) {
                    answer.sent[place] = true;
                    isNew = true;
                }
            }
            return isNew;
        });
    }

    /** What an issuer is asked with for a token, drawn once per campaign, and the token or "". */
    Entries.Enrolled enroll(String campaign, Secrets secrets) {
        List<Entries.Enrolled> found = new ArrayList<>();
        update(entries -> {
            Entries.Enrolled stored = entries.enrollments.get(campaign);
            found.add(stored == null ? new Entries.Enrolled(secrets.draw(), "") : stored);
            entries.enrollments.put(campaign, found.get(0));
            return stored == null;
        });
        return found.get(0);
    }

    /** The secret that a device draws its rounds from, and the round it joined in; stored first. */
    Entries.Panel join(String campaign, int round, Secrets secrets) {
        List<Entries.Panel> found = new ArrayList<>();
        update(entries -> {
            Entries.Panel stored = entries.panels.get(campaign);
            found.add(stored == null ? new Entries.Panel(secrets.draw(), round) : stored);
            entries.panels.put(campaign, found.get(0));
            return stored == null;
        });
        return found.get(0);
    }

    /** Draws what a token is made of, or a secret, in hexadecimal digits. */
    interface Secrets {
        String draw();
    }

    /** Keeps the token that an issuer has signed, until reports have it. */
    void keepToken(String campaign, String token) {
        update(entries -> {
            Entries.Enrolled stored = entries.enrollments.get(campaign);
            if (stored != null) {
                entries.enrollments.put(campaign, new Entries.Enrolled(stored.secret, token));
            }
            return stored != null;
        });
    }

    private static double spent(Entries entries, double since) {
        List<Double> found = new ArrayList<>();
        for (Entries.Answer answer : entries.answers.values()) {
            if (answer.answered > since) {
                found.add(answer.epsilon);
            }
        }
        return Policy.sum(found);
    }

    /** One step; it says whether the entries have changed. */
    private interface Work {
        boolean run(Entries entries);
    }

    private Entries read() {
        List<Entries> found = new ArrayList<>();
        update(entries -> {
            found.add(entries);
            return false;
        });
        return found.get(0);
    }

    private void update(Work work) {
        int[] calls = {0};
        storage.update(stored -> {
            if (calls[0]++ > 0) {
                throw new LedgerException("the storage must make a change once");
            }
            Entries entries = Entries.read(stored);
            return work.run(entries) ? entries.write() : null;
        });
        if (calls[0] == 0) {
            throw new LedgerException("the storage must make the change that it is given");
        }
    }

    @Override
    public String toString() {
        return "Ledger";
    }
}
