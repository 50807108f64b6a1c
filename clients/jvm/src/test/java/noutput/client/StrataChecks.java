package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Segments and schedules: the shared vectors, rounds of a device, and labels that leave it. */
final class StrataChecks {
    static final long OPENS = 1772323200000L; // 2026-03-01
    static final long DAY = 86_400_000L;
    private static final Policy POLICY = new Policy(2, 1e6, 30).withSegments("platform");

    private StrataChecks() {}

    static void list() {
        add("documents with segments and schedules are read as by every client", StrataChecks::documents);
        add("rounds agree with the vectors", StrataChecks::rounds);
        add("reports with labels and rounds travel as by every client", StrataChecks::wire);
        add("a device answers once per period", StrataChecks::periods);
        add("the secret is stored before it is used, and stays", StrataChecks::secret);
        add("those who join late draw among the rounds that are left", StrataChecks::late);
        add("a device that is not due says when it is", StrataChecks::due);
        add("several answers per period share its epsilon", StrataChecks::several);
        add("only labels that the policy allows leave", StrataChecks::labels);
        add("labels that are left out are named, once in the log", StrataChecks::leftOut);
        add("no answer is due that the budget refuses", StrataChecks::budget);
        add("labels are checked before they are dropped", StrataChecks::closedList);
        add("a ledger with a damaged secret is refused", StrataChecks::damaged);
    }

    static Campaign campaign(int place) throws Exception {
        return Campaign.read((String) entries(read("strata").get("good")).get(place).get("text"));
    }

    /** A client whose clock can be set. */
    static final class Device {
        long now = OPENS;
        final Ledger ledger;
        final Client client;

        Device(Campaign campaign, Policy policy, Storage storage) {
            ledger = new Ledger(storage);
            client = new Client(campaign, ledger, policy, new SecureRandom(), () -> now);
        }

        /** The reports of four weeks. */
        List<Report> live() {
            List<Report> made = new ArrayList<>();
            for (int number = 0; number < 28; number++) {
                now = OPENS + number * DAY + 1000;
                try {
                    made.add(client.report(ClientChecks.survey()));
                    equal(made.get(made.size() - 1).getRound(), number, "the round");
                } catch (NotDueException error) {
                    isTrue(error.getNext() != number, "another round");
                }
            }
            return made;
        }
    }

    private static Map<String, String> told(String... pairs) {
        Map<String, String> found = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            found.put(pairs[i], pairs[i + 1]);
        }
        return found;
    }

    private static void documents() throws Exception {
        for (Map<String, Object> each : entries(read("strata").get("good"))) {
            Campaign campaign = Campaign.read((String) each.get("text"));
            equal(campaign.getFingerprint(), each.get("fingerprint"), "the fingerprint");
            equal(campaign.getRounds(), each.get("rounds"), "rounds");
            equal(campaign.getNotice(), each.get("notice"), "the notice");
            equal(campaign.getEpsilonPerPeriod(),
                    ((Number) each.get("epsilon_per_period")).doubleValue(), "epsilon per period");
        }
        String notice = campaign(0).getNotice();
        isTrue(notice.contains("labels: platform, version. Labels are not protected"), notice);
        isTrue(notice.contains("in 1 of 7 days, drawn in advance"), notice);
        equal(ClientChecks.campaign(0).getNotice(), "", "no notice");
    }

    private static void rounds() throws Exception {
        List<Map<String, Object>> cases = entries(read("schedule").get("rounds"));
        isTrue(cases.size() > 100, "enough cases");
        for (Map<String, Object> each : cases) {
            Schedule schedule = new Schedule("day", number(each, "rounds_per_period"),
                    number(each, "answers"), 0);
            byte[] secret = Octets.unhex((String) each.get("secret"));
            List<Integer> found = schedule.roundsOf((String) each.get("root"), secret,
                    number(each, "period"), number(each, "joined"));
            equal(found, each.get("rounds"), each.toString());
        }
    }

    private static int number(Map<String, Object> found, String key) {
        return ((Long) found.get(key)).intValue();
    }

    private static void wire() throws Exception {
        for (Map<String, Object> each : entries(read("strata").get("cases"))) {
            Map<String, Object> second = entries(each.get("reports")).get(1);
            Map<String, String> labels = new LinkedHashMap<>();
            for (Map.Entry<?, ?> one : ((Map<?, ?>) second.get("labels")).entrySet()) {
                labels.put((String) one.getKey(), (String) one.getValue());
            }
            int round = second.get("round") == null ? -1 : number(second, "round");
            Report report = new Report((String) second.get("campaign"),
                    (String) second.get("question"), number(second, "output"),
                    (String) second.get("id"), (String) second.get("token"), labels, round);
            String body = (String) entries(each.get("bodies")).get(0).get("body");
            equal(report.toJson(), new String(Octets.unhex(body), Octets.UTF_8), "the body");
        }
    }

    private static void periods() throws Exception {
        Campaign panel = campaign(0);
        Device device = new Device(panel, POLICY, new MemoryStorage());
        List<Report> made = device.live();
        List<Integer> periods = new ArrayList<>();
        HashSet<String> ids = new HashSet<>();
        for (Report report : made) {
            periods.add(report.getRound() / 7);
            ids.add(report.getId());
        }
        equal(periods, Arrays.asList(0, 1, 2, 3), "one per period");
        equal(ids.size(), 4, "ids of their own");
        equal(device.ledger.spentSince(0), 4 * panel.getEpsilonPerPeriod(), "the cost");
        equal(device.live(), made, "the same again, whatever the clock does");
        equal(device.ledger.spentSince(0), 4 * panel.getEpsilonPerPeriod(), "the cost");
        equal(device.ledger.getPending(), made, "pending");
    }

    private static void secret() throws Exception {
        Campaign panel = campaign(0);
        Storage storage = new FileStorage(Checks.folder.resolve("panel").toFile());
        Device device = new Device(panel, POLICY, storage);
        device.now += 2 * DAY;
        Round next = device.client.nextRound();
        Entries.Panel kept = new Ledger(storage).join(panel.getRoot(), 9, () -> "none");
        equal(kept.joined, 2, "the round of joining");
        List<Integer> rounds = panel.getSchedule()
                .roundsOf(panel.getRoot(), Octets.unhex(kept.secret), 0, 2);
        equal(next.getNumber(), rounds.get(0), "the next round");
        equal(next.getEnd() - next.getStart(), DAY, "a day");
    }

    private static void late() throws Exception {
        Campaign panel = campaign(0);
        int[] counts = new int[7];
        Random random = new Random(1); // rounds are a hash of the secret
        byte[] secret = new byte[32];
        for (int i = 0; i < 3000; i++) {
            random.nextBytes(secret);
            counts[panel.getSchedule().roundsOf(panel.getRoot(), secret, 0, 4).get(0)]++;
        }
        double statistic = 0;
        for (int number = 4; number < 7; number++) {
            statistic += Math.pow(counts[number] - 1000, 2) / 1000;
        }
        isTrue(statistic < 27.6, Arrays.toString(counts)); // one in a million
        equal(panel.getSchedule().roundsOf(panel.getRoot(), secret, 0, 7), "[]", "none is left");
    }

    private static void due() throws Exception {
        Campaign panel = campaign(0);
        Device device = new Device(panel, POLICY, new MemoryStorage());
        Round next = device.client.nextRound();
        if (next.getNumber() == 0) {
            isTrue(device.client.isDue(), "due");
            device.client.report(ClientChecks.survey());
            next = device.client.nextRound();
        }
        device.now = next.getStart() - 1;
        isTrue(!device.client.isDue(), "not due yet");
        NotDueException error = refused(NotDueException.class, "another round", () ->
                device.client.report(ClientChecks.survey()));
        equal(error.getNext(), next.getNumber(), "the next");
        device.now = next.getStart();
        isTrue(device.client.isDue(), "due");
        device.now = OPENS - 1;
        isTrue(!device.client.isDue(), "not open yet");
        device.now = OPENS + 28 * DAY;
        isTrue(!device.client.isDue(), "closed");
        equal(device.client.nextRound(), null, "no round");
        refused(ValueException.class, "closed", () -> device.client.report(ClientChecks.survey()));
        Device once = new Device(campaign(1), POLICY, new MemoryStorage());
        isTrue(once.client.isDue(), "due");
        once.client.report(ClientChecks.survey());
        isTrue(!once.client.isDue(), "answered");
        refused(ValueException.class, "no schedule", () -> once.client.nextRound());
    }

    private static void several() throws Exception {
        Campaign thrice = campaign(2);
        equal(thrice.getEpsilonPerPeriod(), 19.5, "epsilon per period");
        refused(PrivacyException.class, "too much", () ->
                new Device(thrice, new Policy(19.4, 1e6, 30), new MemoryStorage()));
        Device device = new Device(thrice, new Policy(19.5, 1e6, 30), new MemoryStorage());
        device.now = device.client.nextRound().getStart();
        equal(device.client.reports(ClientChecks.survey()).size(), 6, "all questions");
        equal(device.ledger.spentSince(0), 6.5, "a third of the period's");
    }

    private static void labels() throws Exception {
        Map<String, String> all = told("version", "4.1", "platform", "web");
        List<Policy> policies = Arrays.asList(new Policy(2, 4, 30),
                new Policy(2, 4, 30).withSegments("platform"),
                new Policy(2, 4, 30).withSegments("platform", "version"));
        List<Map<String, String>> wanted = Arrays.asList(Collections.<String, String>emptyMap(),
                told("platform", "web"), told("platform", "web", "version", "4.1"));
        for (int i = 0; i < 3; i++) {
            Storage storage = new MemoryStorage();
            Device device = new Device(campaign(1), policies.get(i), storage);
            equal(device.client.shownLabels(all), wanted.get(i), "shown");
            Report report = device.client.report(ClientChecks.survey(),
                    new SubmitOptions().withLabels(all));
            equal(report.getLabels(), wanted.get(i), "told");
            equal(report.toJson().contains("labels"), i > 0, "on the wire");
            equal(new Ledger(storage).getPending(), Collections.singletonList(report), "stored");
        }
    }

    private static void leftOut() throws Exception {
        Map<String, String> all = told("version", "4.1", "platform", "web");
        DeliveryChecks.Fake network = new DeliveryChecks.Fake(
                DeliveryChecks.answer(200, DeliveryChecks.COUNTED));
        SubmitOptions options = new SubmitOptions().withLabels(all).withDelivery(network.delivery());
        Storage storage = new MemoryStorage();
        Device device = new Device(campaign(1), POLICY, storage);
        Receipt receipt = device.client.submit("http://a.example/b", ClientChecks.survey(), options);
        equal(receipt.getLeftOut(), Arrays.asList("version"), "left out");
        Policy both = POLICY.withSegments("platform", "version");
        Device wider = new Device(campaign(1), both, storage);
        receipt = wider.client.submit("http://a.example/b", ClientChecks.survey(), options);
        equal(receipt.getLeftOut(), Arrays.asList("version"), "as it was made");
        Device fresh = new Device(campaign(1), both, new MemoryStorage());
        receipt = fresh.client.submit("http://a.example/b", ClientChecks.survey(), options);
        equal(receipt.getLeftOut(), Collections.emptyList(), "nothing is left out");
    }

    private static void budget() throws Exception {
        Storage storage = new MemoryStorage();
        Policy tight = new Policy(2, 2.5, 30);
        Device once = new Device(campaign(1), tight, storage);
        Device rounds = new Device(campaign(0), tight, storage);
        rounds.now = rounds.client.nextRound().getStart();
        isTrue(once.client.isDue() && rounds.client.isDue(), "due");
        once.client.report(ClientChecks.survey());
        isTrue(!rounds.client.isDue(), "the budget is spent");
        refused(PolicyException.class, "too much", () -> rounds.client.report(ClientChecks.survey()));
    }

    private static void closedList() throws Exception {
        Device device = new Device(campaign(1), new Policy(2, 4, 30), new MemoryStorage());
        for (Map<String, String> bad : Arrays.asList(told("platform", "beos"), told("a", "b"))) {
            refused(ValueException.class, "no label", () ->
                    device.client.report(ClientChecks.survey(), new SubmitOptions().withLabels(bad)));
        }
        equal(device.ledger.spentSince(0), 0.0, "nothing is spent");
    }

    private static byte[] stored(Storage storage) {
        byte[][] found = new byte[1][];
        storage.update(bytes -> {
            found[0] = bytes;
            return null;
        });
        return found[0];
    }

    private static void damaged() throws Exception {
        Storage storage = new MemoryStorage();
        new Device(campaign(0), POLICY, storage).client.nextRound();
        byte[] good = stored(storage);
        String text = new String(good, Octets.UTF_8);
        int start = text.indexOf('\n') + 1;
        for (String joined : new String[] {"-1", "5000", "\"0\"", "null"}) {
            String rest = text.substring(start).replace("\"joined\":0", "\"joined\":" + joined);
            byte[] bytes = rest.getBytes(Octets.UTF_8);
            String head = "noutput-ledger 1 " + Octets.hex(Octets.digest("SHA-256", bytes)) + "\n";
            Storage bad = new MemoryStorage();
            bad.update(nothing -> new Octets().add(head).add(bytes).toBytes());
            refused(LedgerException.class, joined, () -> new Ledger(bad));
        }
    }
}
