package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;

import java.math.BigDecimal;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The client: what it refuses, what it draws with, and that no message has a value in it. */
final class ClientChecks {
    static final long NOW = 1793491200000L; // 2026-11-01
    static final Policy GENEROUS = new Policy(20, 1e6, 30);

    private ClientChecks() {}

    static void list() {
        add("the policy decides, whatever the campaign claims", ClientChecks::policy);
        add("sums of all questions are compared exactly", ClientChecks::sums);
        add("one 64-bit word per report", ClientChecks::words);
        add("the question is drawn uniformly", ClientChecks::questions);
        add("values are checked by name", ClientChecks::values);
        add("no message has a value in it", ClientChecks::silence);
        add("closed campaigns get no new report", ClientChecks::closed);
        add("a ledger answers one root per id, unless another is allowed", ClientChecks::roots);
        add("tokens are needed where the campaign says so", ClientChecks::tokens);
        add("numbers at both ends are drawn from the outer rows", ClientChecks::ends);
    }

    static Campaign campaign(int place) throws Exception {
        return Campaign.read((String) entries(read("campaigns").get("good")).get(place).get("text"));
    }

    static Map<String, Object> survey() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("commute", 42);
        values.put("stars", 4L);
        values.put("age", "60+");
        values.put("means", "car");
        values.put("late", true);
        values.put("kilometers", new BigDecimal("0.50"));
        return values;
    }

    static Client client(Campaign campaign, Ledger ledger, Policy policy) {
        return new Client(campaign, ledger, policy, new SecureRandom(), () -> NOW);
    }

    private static Ledger memory() {
        return new Ledger(new MemoryStorage());
    }

    private static void policy() throws Exception {
        Campaign one = campaign(0);
        equal(one.getEpsilon(), 2.0, "epsilon");
        client(one, memory(), new Policy(2, 4, 30));
        String message = refused(PrivacyException.class, "too much", () ->
                client(one, memory(), new Policy(1.5, 4, 30))).getMessage();
        equal(message, "the campaign asks for epsilon 2, and the policy allows 1.5 per campaign", "it");
        for (double bad : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            refused(IllegalArgumentException.class, "" + bad, () -> new Policy(bad, 1, 1));
            refused(IllegalArgumentException.class, "" + bad, () -> new Policy(1, bad, 1));
            refused(IllegalArgumentException.class, "" + bad, () -> new Policy(1, 1, bad));
        }
    }

    private static void sums() throws Exception {
        Campaign all = campaign(1);
        isTrue(all.getAsksAll(), "asks all");
        equal(all.getEpsilon(), 6.5, "epsilon");
        client(all, memory(), new Policy(6.5, 7, 30));
        refused(PrivacyException.class, "too much", () -> client(all, memory(), new Policy(6.4, 7, 30)));
        // the smallest double that is enough is the sum of the logarithms, but for their rounding
        double sum = 0;
        for (Table table : all.getTables()) {
            sum += Math.log((double) table.largestRatio()[0] / table.largestRatio()[1]);
        }
        isTrue(Exact.certifyAll(all.getTables(), sum + 8 * Math.ulp(sum), 1), "a little more");
        isTrue(!Exact.certifyAll(all.getTables(), sum - 8 * Math.ulp(sum), 1), "a little less");
    }

    /** Counts what is taken from it. */
    private static final class Counted extends SecureRandom {
        private static final long serialVersionUID = 1L;
        private final List<Long> words = new ArrayList<>();
        private long bits;

        @Override
        public long nextLong() {
            words.add(super.nextLong());
            return words.get(words.size() - 1);
        }

        @Override
        public void nextBytes(byte[] bytes) {
            bits += 8L * bytes.length;
            super.nextBytes(bytes);
        }
    }

    private static void words() throws Exception {
        Campaign all = campaign(1);
        Counted random = new Counted();
        Client client = new Client(all, memory(), GENEROUS, random, () -> NOW);
        List<Report> reports = client.reports(survey());
        equal(random.words.size(), 6, "words");
        equal(random.bits, 6 * (64 + 128), "bits");
        for (int place = 0; place < 6; place++) {
            Question question = all.getQuestions().get(place);
            double[] value = {question.encode(survey().get(question.getName()))};
            int output = all.getTable(place).draw(value, new long[] {random.words.get(place)});
            equal(reports.get(place).getOutput(), output, question.getName());
        }
        equal(client.reports(survey()), reports, "the same reports");
        equal(random.words.size(), 6, "no more words");
    }

    private static void questions() throws Exception {
        Campaign one = campaign(0);
        int[] counts = new int[6];
        for (int i = 0; i < 6000; i++) {
            String name = client(one, memory(), GENEROUS).report(survey()).getQuestion();
            for (int place = 0; place < 6; place++) {
                counts[place] += one.getQuestions().get(place).getName().equals(name) ? 1 : 0;
            }
        }
        double[] even = {1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0};
        isTrue(Sampling.distance(counts, even) < 48.7, "uniform"); // exceeded once in 10^9 (5 dof)
    }

    private static void values() throws Exception {
        Client one = client(campaign(0), memory(), GENEROUS);
        refused(ValueException.class, "no map", () -> one.report(42));
        Map<String, Object> more = survey();
        more.put("height", 180);
        refused(ValueException.class, "a name too many", () -> one.report(more));
        Map<String, Object> less = survey();
        less.remove("late");
        refused(ValueException.class, "a name too few", () -> one.report(less));
        Client all = client(campaign(1), memory(), GENEROUS);
        refused(ValueException.class, "reports are needed", () -> all.report(survey()));
        Client late = client(campaign(2), memory(), GENEROUS);
        equal(late.report("yes"), late.report(Collections.singletonMap("late", 0)), "the same report");
    }

    private static void silence() throws Exception {
        String secret = "7654321.25";
        Client one = client(campaign(0), memory(), GENEROUS);
        for (String name : survey().keySet()) {
            Map<String, Object> values = survey();
            values.put(name, secret);
            Exception error = refused(ValueException.class, name, () -> one.report(values));
            for (Throwable each = error; each != null; each = each.getCause()) {
                isTrue(!each.toString().contains("7654321"), each.toString());
            }
        }
        Report report = one.report(survey());
        isTrue(!report.toString().contains(report.getId()), "no id in a text");
        isTrue(!report.toString().matches(".*\\b" + report.getOutput() + "\\b.*"), "no output in a text");
    }

    private static void closed() throws Exception {
        Campaign late = campaign(2);
        Ledger ledger = memory();
        for (long when : new long[] {0, NOW * 2}) {
            Client early = new Client(late, ledger, GENEROUS, new SecureRandom(), () -> when);
            refused(ValueException.class, "closed", () -> early.report("yes"));
        }
        Report report = client(late, ledger, GENEROUS).report("yes");
        Client after = new Client(late, ledger, GENEROUS, new SecureRandom(), () -> NOW * 2);
        equal(after.report("no"), report, "the same report");
    }

    private static void roots() throws Exception {
        List<Map<String, Object>> documents = entries(read("roots").get("campaigns"));
        for (Object story : (List<?>) read("roots").get("stories")) {
            Storage storage = new MemoryStorage();
            for (Map<String, Object> step : entries(story)) {
                Map<String, Object> each = documents.get(((Long) step.get("campaign")).intValue());
                Campaign campaign = Campaign.read((String) each.get("text"));
                Policy policy = (Boolean) step.get("new_roots") ? GENEROUS.withNewRoots() : GENEROUS;
                Ledger ledger = new Ledger(storage);
                if ((Boolean) step.get("answered")) {
                    equal(client(campaign, ledger, policy).reports(each.get("values")).size(), 1, "one");
                } else {
                    Exception error = refused(DocumentException.class, "another root",
                            () -> client(campaign, ledger, policy));
                    isTrue(error.getMessage().startsWith("root of the campaign adaptive"), "which");
                    refused(DocumentException.class, "when it is stored", () -> ledger.remember(
                            campaign.getId(), campaign.getRoot(), 1, policy, NOW, ArrayList::new));
                }
            }
        }
    }

    private static void tokens() throws Exception {
        for (Map<String, Object> each : entries(read("tokens").get("cases"))) {
            Campaign campaign = Campaign.read((String) each.get("campaign"));
            Client client = client(campaign, memory(), GENEROUS);
            refused(ValueException.class, "no token", () -> client.reports(each.get("values")));
            List<Report> reports = client.reports(each.get("values"),
                    new SubmitOptions().withToken((String) each.get("token")));
            List<?> ids = (List<?>) each.get("ids");
            for (int place = 0; place < reports.size(); place++) {
                equal(reports.get(place).getId(), ids.get(place), "the id");
                equal(reports.get(place).getToken(), each.get("token"), "the token");
                isTrue(reports.get(place).toJson().length() <= 1024, "the size");
            }
            equal(client.reports(each.get("values")), reports, "the stored ones need no token");
        }
        Client open = client(campaign(2), memory(), GENEROUS);
        refused(ValueException.class, "a token too many", () -> 
                open.report("yes", new SubmitOptions().withToken("x")));
    }

    private static void ends() {
        double[] knots = new double[4096];
        for (int k = 0; k < knots.length; k++) {
            knots[k] = k / 2047.5 - 1;
        }
        equal(Exact.drawRow(knots, -1, -1L), 0, "the first");
        equal(Exact.drawRow(knots, 1, 0), 4095, "the last");
        equal(Exact.drawRow(knots, 1, -1L), 4095, "the last for every word");
    }
}
