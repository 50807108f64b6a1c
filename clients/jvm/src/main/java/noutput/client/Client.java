package noutput.client;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Logger;

/**
 * A person's side of a campaign: verifies, draws, remembers, sends.
 *
 * <pre>{@code
 * Campaign campaign = Campaign.fetch(url, root); // the fingerprint that the app comes with
 * Client client = new Client(campaign, new Ledger(file), new Policy(1.0, 4.0, 30.0));
 * Receipt receipt = client.submit(url, 42);
 * }</pre>
 *
 * <p>The values of a campaign with several questions are a map of their names: in Kotlin,
 * {@code client.submit(url, mapOf("minutes" to 42, "late" to false))}. A number may be of any type
 * of the language; one outside of the bounds is moved to the nearer bound. Other answers are given
 * by themselves or by their labels.
 *
 * <p><b>Guarantees.</b> Whoever wrote the campaign, and however often it is asked, everything that
 * this object returns for it is epsilon-locally differentially private with the policy's epsilon;
 * and all new reports that are drawn in any period, over all campaigns of one ledger, are so with
 * the policy's total. A report that was drawn before is returned again at any time, and reveals
 * nothing new. Every report takes one 64-bit word of SecureRandom, which is used for nothing else.
 * Values are used for the draw and kept nowhere, exceptions included. With a schedule, the policy's
 * epsilon holds for all that is sent in one period of it, whatever the clock says. Labels are not
 * protected; those leave that the policy names.
 */
public final class Client {
    private static final int ID_BYTES = 16;
    private static final AtomicBoolean WARNED = new AtomicBoolean();
    private static final String ROUND_OVER = "urn:noutput:problem:round-over";

    private volatile Campaign campaign;
    private final Ledger ledger;
    private final Policy policy;
    private final Clock clock;
    private final SecureRandom random;

    /** The time, in milliseconds since 1970. */
    interface Clock {
        long now();
    }

    /** A client with the default policy; see the other constructor. */
    public Client(Campaign campaign, Ledger ledger) {
        this(campaign, ledger, new Policy());
    }

    /**
     * @param campaign from anywhere, a hostile server included
     * @param ledger the person's memory, one for all campaigns
     * @param policy what the person allows
     * @throws PrivacyException if what the campaign asks for may lose more privacy than the policy
     *     allows for one campaign, as decided in whole numbers; what it claims does not matter
     * @throws DocumentException if the ledger knows the campaign's id by another root, and the policy
     *     does not allow that
     */
    public Client(Campaign campaign, Ledger ledger, Policy policy) {
        this(campaign, ledger, policy, new SecureRandom(), System::currentTimeMillis);
    }

    Client(Campaign campaign, Ledger ledger, Policy policy, SecureRandom random, Clock clock) {
        this.campaign = campaign;
        this.ledger = ledger;
        this.policy = policy;
        this.random = random;
        this.clock = clock;
        policy.checkCampaign(campaign);
        ledger.checkRoot(campaign.getId(), campaign.getRoot(), policy);
    }

    /** The campaign as it is answered: its newest wave that this client could verify. */
    public Campaign getCampaign() {
        return campaign;
    }

    /**
     * Takes a newer wave of an adaptive campaign, and says whether it was taken.
     *
     * @param found from anywhere, such as {@link Campaign#fetch}. It is taken where it continues the
     *     chain of waves that the client has, and its tables are within the policy; otherwise the
     *     client keeps what it has. Reports that were made before stay as they are.
     */
    public synchronized boolean follow(Campaign found) {
        List<String> known = campaign.getChain();
        boolean isNewer = found.getChain().size() > known.size()
                && found.getChain().contains(campaign.getFingerprint());
        if (!isNewer || !policy.allows(found)) {
            return false;
        }
        campaign = found;
        return true;
    }

    /**
     * The labels that would leave the device: those that the policy allows.
     *
     * @param labels what the app knows; each must be in the campaign's closed list
     */
    public Map<String, String> shownLabels(Map<String, String> labels) {
        return campaign.getSegments().told(labels, policy.getSegments());
    }

    /** Whether an answer is wanted now, none was given, and the policy's total allows one. */
    public boolean isDue() {
        Campaign asked = campaign;
        long now = clock.now();
        if (!asked.isOpenAt(now)) {
            return false;
        }
        boolean isWanted;
        if (asked.getSchedule() == null) {
            isWanted = ledger.find(asked.getRoot()).isEmpty();
        } else {
            Round next = nextRound();
            isWanted = next != null && next.getStart() <= now;
        }
        return isWanted && policy.allows(ledger.spentSince(policy.since(now)), policy.cost(asked));
    }

    /**
     * The next round in which the device answers and has not answered yet; null where none is left.
     * The first call joins the campaign: the device draws its secret, and keeps it in the ledger.
     */
    public Round nextRound() {
        Campaign asked = campaign;
        if (asked.getSchedule() == null) {
            throw new ValueException("the campaign must have a schedule");
        }
        int number = ownRound(asked, Math.max(asked.roundAt(clock.now()), 0), true);
        return number < 0 ? null : asked.getRound(number);
    }

    /** The first round from the present one on in which the device answers; -1 where there is none. */
    private int ownRound(Campaign asked, int present, boolean isUnanswered) {
        if (present >= asked.getRounds()) {
            return -1;
        }
        Schedule schedule = asked.getSchedule();
        String root = asked.getRoot();
        Entries.Panel panel = ledger.join(root, present, () -> newDigits(Schedule.SECRET_BYTES));
        byte[] secret = Octets.unhex(panel.secret);
        int size = schedule.getRoundsPerPeriod();
        for (int period = present / size; period * size < asked.getRounds(); period++) {
            for (int number : schedule.roundsOf(root, secret, period, panel.joined)) {
                boolean isMade = isUnanswered && !ledger.find(key(asked, number)).isEmpty();
                if (number >= present && !isMade) {
                    return number;
                }
            }
        }
        return -1;
    }

    /** By what a ledger knows an answer: the campaign, and the round where it has some. */
    private static String key(Campaign asked, int round) {
        return asked.getRoot() + (round < 0 ? "" : ":" + round);
    }

    /** The present round, where the device answers in it; -1 without a schedule. */
    private int presentRound(Campaign asked, long now) {
        if (asked.getSchedule() == null) {
            return -1;
        }
        int present = asked.roundAt(now);
        int number = ownRound(asked, present, false);
        if (number != present) {
            String when = number < 0 ? "in no further round" : "in round " + number;
            throw new NotDueException("this device answers the campaign " + asked.getId() + " " + when
                    + "; the present one is " + present, number);
        }
        return number;
    }

    /** The person's report, where the campaign asks one question; see {@link #reports}. */
    public Report report(Object values) {
        return report(values, new SubmitOptions());
    }

    /** The person's report, where the campaign asks one question; see {@link #reports}. */
    public Report report(Object values, SubmitOptions options) {
        if (campaign.getAsksAll()) {
            throw new ValueException(
                    "the campaign must ask one question: reports() returns what it asks for");
        }
        return reports(values, options).get(0);
    }

    /** The person's reports without labels, on a campaign that is open to everybody. */
    public List<Report> reports(Object values) {
        return reports(values, new SubmitOptions());
    }

    /**
     * The person's reports: new ones, or those that were made before.
     *
     * @param values the answer, or a map of the questions' names to answers
     * @param options the person's token and labels, where the campaign has them
     * @return one report, on a question drawn at random; or one per question, in their order, where
     *     the campaign asks all of them
     * @throws PolicyException if new reports would exceed the policy's total
     * @throws ValueException if a value is missing or no answer, a label is none of the campaign's,
     *     the campaign is not open, or its reports need a token and this is none
     * @throws NotDueException if the campaign has a schedule, and the device answers in other rounds
     */
    public List<Report> reports(Object values, SubmitOptions options) {
        Campaign asked = campaign; // one for all steps, whatever is followed meanwhile
        double[] inputs = inputs(asked, values);
        Map<String, String> told = asked.getSegments().told(options.labels, policy.getSegments());
        warn(leftOut(options.labels, told));
        if (asked.getSchedule() == null) {
            List<Report> stored = ledger.find(asked.getRoot());
            if (!stored.isEmpty()) {
                return stored;
            }
        }
        long now = clock.now();
        if (!asked.isOpenAt(now)) {
            throw new ValueException("the campaign is open from " + asked.getOpens()
                    + " until before " + asked.getCloses());
        }
        byte[] secret = admitted(asked, options.token);
        int round = presentRound(asked, now);
        return ledger.remember(asked.getId(), key(asked, round), policy.cost(asked), policy, now,
                () -> draw(asked, inputs, secret, options.token, told, round));
    }

    /** Reports, sends, and notes what was acknowledged; safe to repeat. */
    public Receipt submit(String url, Object values) {
        return submit(url, values, new SubmitOptions());
    }

    /**
     * Reports, sends one by one, and notes what was acknowledged; safe to repeat.
     *
     * @throws DeliveryException if a report was not acknowledged; it stays in the ledger, and
     *     calling this again sends the same. When the round is over, {@link #resend} does
     */
    public Receipt submit(String url, Object values, SubmitOptions options) {
        List<Report> reports = reports(values, options);
        int accepted = 0;
        for (Report report : reports) {
            accepted += send(url, report, options.delivery);
        }
        return new Receipt(accepted, reports.size() - accepted,
                leftOut(options.labels, reports.get(0).getLabels()));
    }

    /** The names of the labels that are not told. */
    private static List<String> leftOut(Map<String, String> labels, Map<String, String> told) {
        List<String> names = new ArrayList<>(labels.keySet());
        names.removeAll(told.keySet());
        return Collections.unmodifiableList(names);
    }

    /** Says once per process which labels do not leave, so that no app loses them unnoticed. */
    private static void warn(List<String> names) {
        if (!names.isEmpty() && WARNED.compareAndSet(false, true)) {
            Logger.getLogger("noutput.client").warning(
                    "labels are left out, because the policy does not name them: " + names);
        }
    }

    /** Sends again, with the default delivery; see the other method. */
    public int resend(String url) {
        return resend(url, new Delivery());
    }

    /**
     * Sends the reports on the campaign that were drawn and never acknowledged, the same ones, and
     * notes what was acknowledged. They are those of every round whose grace time is not over or,
     * without a schedule, those of a campaign that has not closed. Each is a request of its own, the
     * oldest first. Nothing is drawn, and others stay where they are.
     *
     * @return how many reports were acknowledged; those that the collector refused because their
     *     round is over by its own clock are not among them
     * @throws DeliveryException if a report was not acknowledged for another reason; calling this
     *     again sends it and the rest
     */
    public int resend(String url, Delivery delivery) {
        Campaign asked = campaign;
        int sent = 0;
        for (Report report : ledger.pending(asked.getRoot())) {
            if (clock.now() >= asked.countedUntil(report.getRound())) {
                continue;
            }
            try {
                send(url, report, delivery);
                sent++;
            } catch (DeliveryException error) {
                if (!ROUND_OVER.equals(error.getProblem())) {
                    throw error;
                }
            }
        }
        return sent;
    }

    /** Sends a report and notes it; returns 1 where it was counted now, 0 where it had been before. */
    private int send(String url, Report report, Delivery delivery) {
        int accepted = delivery.send(url, report).getAccepted();
        ledger.markSent(report);
        return accepted;
    }

    /** What the tables take, for every question; messages name questions, never values. */
    private static double[] inputs(Campaign campaign, Object values) {
        List<Question> questions = campaign.getAsked();
        Map<?, ?> named = values instanceof Map ? (Map<?, ?>) values : null;
        if (named == null && questions.size() > 1) {
            throw new ValueException("the values must be a map with the names " + names(questions));
        }
        if (named == null) {
            named = Collections.singletonMap(questions.get(0).getName(), values);
        }
        double[] found = new double[questions.size()];
        for (int i = 0; i < found.length; i++) {
            Question question = questions.get(i);
            if (named.size() != found.length || !named.containsKey(question.getName())) {
                throw new ValueException(
                        "the values must have the names " + names(questions) + ", and no others");
            }
            found[i] = question.encode(named.get(question.getName()));
        }
        return found;
    }

    private static List<String> names(List<Question> questions) {
        List<String> found = new ArrayList<>();
        for (Question question : questions) {
            found.add(question.getName());
        }
        return found;
    }

    /** The secret of the person's token; empty where the campaign is open to everybody. */
    private static byte[] admitted(Campaign campaign, String token) {
        boolean isNeeded = campaign.getAdmission().getNeedsToken();
        if (isNeeded && token.isEmpty()) {
            throw new ValueException("the token must be given: the campaign asks for one");
        }
        if (!isNeeded && !token.isEmpty()) {
            throw new ValueException("the token must be absent: the campaign is open to everybody");
        }
        return isNeeded ? Tokens.secret(campaign, token) : new byte[0];
    }

    private List<Report> draw(Campaign campaign, double[] inputs, byte[] secret, String token,
            Map<String, String> labels, int round) {
        int first = campaign.getAsksAll() ? 0 : random.nextInt(inputs.length);
        int last = campaign.getAsksAll() ? inputs.length - 1 : first;
        List<Report> found = new ArrayList<>();
        for (int index = first; index <= last; index++) {
            double[] value = {inputs[index]};
            long[] word = {random.nextLong()};
            int output = campaign.getTable(index).draw(value, word);
            String name = campaign.getQuestions().get(index).getName();
            String id = secret.length == 0 ? newDigits(ID_BYTES)
                    : Tokens.reportId(campaign, secret, index);
            found.add(new Report(
                    campaign.getFingerprint(), name, output, id, token, labels, round));
        }
        return found;
    }

    /** So many random bytes, in hexadecimal digits. */
    private String newDigits(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return Octets.hex(bytes);
    }
}
