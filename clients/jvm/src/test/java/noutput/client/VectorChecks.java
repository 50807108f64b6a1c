package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.json;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;

import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The vectors that all clients share: documents, tables, draws, values, reports. */
final class VectorChecks {
    private VectorChecks() {}

    static void list() {
        add("the exponential is the same whole number", VectorChecks::exponential);
        add("the same word gives the same output", VectorChecks::draws);
        add("a table of the default size draws the same", VectorChecks::balanced);
        add("rows of answers draw the same", VectorChecks::answerDraws);
        add("pairs draw the same", VectorChecks::pairs);
        add("answers have the same index", VectorChecks::answers);
        add("numbers are moved into the bounds alike", VectorChecks::clamped);
        add("canonical forms are the same", VectorChecks::canonical);
        add("lying tables are refused, by whatever amount they lie", VectorChecks::lying);
        add("tables that are none are refused", VectorChecks::malformed);
        add("campaigns are read", VectorChecks::campaigns);
        add("changed campaigns are refused", VectorChecks::changed);
        add("unusual documents are read or refused as by every client", VectorChecks::documents);
        add("texts with characters that cannot be seen are refused as by every client",
                VectorChecks::texts);
        add("reports travel in the same bytes", VectorChecks::wire);
        add("numbers have the shortest labels", VectorChecks::labels);
    }

    private static void exponential() throws Exception {
        for (Map<String, Object> each : entries(read("exponential").get("cases"))) {
            double epsilon = ((Number) each.get("epsilon")).doubleValue();
            equal(Exact.exponentialFloor(epsilon), each.get("floor"), "epsilon " + epsilon);
        }
    }

    static long word(Map<String, Object> entry) {
        return Long.parseUnsignedLong((String) entry.get("word"), 16);
    }

    private static void draw(List<Table> tables, String input, Object found) {
        isTrue(entries(found).size() >= 44, "enough draws");
        for (Map<String, Object> each : entries(found)) {
            Table table = tables.get(each.containsKey("table") ? ((Long) each.get("table")).intValue() : 0);
            double x = ((Number) each.get(input)).doubleValue();
            int output = table.draw(new double[] {x}, new long[] {word(each)});
            equal(output, each.get("output"), each.toString());
        }
    }

    private static List<Table> tables(Object found) {
        List<Table> tables = new ArrayList<>();
        for (Object each : (List<?>) found) {
            tables.add(Table.read("table", each));
        }
        return tables;
    }

    private static void draws() throws Exception {
        Map<String, Object> found = read("draws");
        draw(tables(found.get("tables")), "x", found.get("draws"));
    }

    private static void pairs() throws Exception {
        Map<String, Object> found = read("draws");
        List<Table> tables = tables(found.get("pair_tables"));
        isTrue(tables.size() >= 4 && entries(found.get("pair_draws")).size() >= 44, "enough draws");
        for (Map<String, Object> each : entries(found.get("pair_draws"))) {
            double[] values = new double[2];
            long[] words = new long[2];
            for (int i = 0; i < 2; i++) {
                values[i] = ((Number) ((List<?>) each.get("x")).get(i)).doubleValue();
                words[i] = Long.parseUnsignedLong((String) ((List<?>) each.get("words")).get(i), 16);
            }
            int output = tables.get(((Long) each.get("table")).intValue()).draw(values, words);
            equal(output, each.get("output"), each.toString());
        }
    }

    private static void balanced() throws Exception {
        Map<String, Object> found = read("balanced");
        Campaign campaign = Campaign.read((String) found.get("campaign"));
        equal(campaign.getTable(0).countOutputs(), 128, "outputs");
        draw(campaign.getTables(), "x", found.get("draws"));
    }

    private static void answerDraws() throws Exception {
        Map<String, Object> found = read("answers");
        draw(tables(found.get("tables")), "answer", found.get("draws"));
    }

    private static void answers() throws Exception {
        List<Map<String, Object>> cases = entries(read("answers").get("answers"));
        isTrue(cases.size() > 150, "enough answers");
        for (Map<String, Object> each : cases) {
            Part part = Part.of("question", each.get("question"));
            AnswersQuestion question = new AnswersQuestion(part, (String) part.get("kind"));
            Object value = each.get("value");
            if (each.get("place") == null) {
                String message = refused(ValueException.class, each.toString(), () ->
                        question.encode(value)).getMessage();
                equal(message, "the value of " + question.getName() + " must be one of "
                        + question.getLabels(), "the message");
            } else {
                equal((int) question.encode(value), each.get("place"), each.toString());
            }
        }
    }

    static NumberQuestion number(double lower, double upper) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", "a");
        found.put("unit", "");
        found.put("lower", lower);
        found.put("upper", upper);
        return new NumberQuestion(Part.of("question", found));
    }

    private static void clamped() throws Exception {
        for (Map<String, Object> each : entries(read("campaigns").get("clamped"))) {
            double lower = ((Number) each.get("lower")).doubleValue();
            double upper = ((Number) each.get("upper")).doubleValue();
            double x = ((Number) each.get("x")).doubleValue();
            double found = number(lower, upper).encode(each.get("value"));
            equal(Double.doubleToLongBits(found), Double.doubleToLongBits(x), each.toString());
        }
        Object[] none = {Double.NaN, Double.POSITIVE_INFINITY, "42", null, true, new Object()};
        for (Object value : none) {
            String message = refused(ValueException.class, "" + value, () ->
                    number(0, 1).encode(value)).getMessage();
            equal(message, "the value of a must be a finite number", "the message");
        }
    }

    private static void canonical() throws Exception {
        for (Map<String, Object> each : entries(read("canonical").get("cases"))) {
            equal(Octets.hex(Canonical.of(each.get("value"))), each.get("bytes"), each.toString());
        }
    }

    /** Reads a table the way a client meets it: inside a campaign. */
    private static void readTable(Object table) throws Exception {
        Map<String, Object> document = Json.readObject(
                (String) entries(read("campaigns").get("good")).get(0).get("text"));
        document.put("tables", Collections.singletonList(table));
        Campaign.read(json(document));
    }

    private static void lying() throws Exception {
        List<Map<String, Object>> pairs = entries(read("tables").get("lying"));
        equal(pairs.size(), 100, "pairs");
        for (Map<String, Object> each : pairs) {
            String message = refused(PrivacyException.class, "a lie", () ->
                    readTable(each.get("bad"))).getMessage();
            isTrue(message.startsWith("output " + each.get("output") + " "), message);
            Table.read("table", each.get("good"));
        }
        pairs = entries(read("campaigns").get("lying"));
        equal(pairs.size(), 20, "pairs");
        for (Map<String, Object> each : pairs) {
            Campaign.read(json(each.get("good")));
            refused(PrivacyException.class, "a lie", () -> Campaign.read(json(each.get("bad"))));
        }
    }

    private static void malformed() throws Exception {
        for (Map<String, Object> each : entries(read("tables").get("malformed"))) {
            // not inside a campaign, which is refused for its fingerprint too
            refused(DocumentException.class, (String) each.get("why"), () ->
                    Table.read("table", each.get("table")));
        }
    }

    private static void campaigns() throws Exception {
        List<Map<String, Object>> good = entries(read("campaigns").get("good"));
        isTrue(good.size() > 6, "enough campaigns");
        for (Map<String, Object> each : good) {
            Campaign campaign = Campaign.read(((String) each.get("text")).getBytes(Octets.UTF_8));
            equal(campaign.getFingerprint(), each.get("fingerprint"), "the fingerprint");
            equal(campaign.getEpsilon(), ((Number) each.get("epsilon")).doubleValue(), "epsilon");
        }
    }

    private static void changed() throws Exception {
        List<Map<String, Object>> all = entries(read("campaigns").get("bad"));
        isTrue(all.size() > 130, "enough documents");
        for (Map<String, Object> each : all) {
            refused(DocumentException.class, (String) each.get("why"), () ->
                    Campaign.read(json(each.get("campaign"))));
        }
        Map<String, Object> newer = Json.readObject(
                (String) entries(read("campaigns").get("good")).get(0).get("text"));
        Map<String, Object> wave = entries(newer.get("waves")).get(0);
        wave.put("next", Json.readObject("{\"rule\":\"range 2\",\"reports\":1,\"expected\":1,"
                + "\"until\":null}"));
        refusedAsNewer(newer);
        wave.remove("next");
        for (int i = 0; i < 8; i++) {
            entries(newer.get("waves")).add(wave);
        }
        refusedAsNewer(newer);
        for (Object version : new Object[] {0L, 2L, 10L, 1.0, "1", true, null}) {
            newer.put("version", version);
            refusedAsNewer(newer);
        }
    }

    private static void refusedAsNewer(Object document) {
        String message = refused(DocumentException.class, "a newer document", () ->
                Campaign.read(json(document))).getMessage();
        isTrue(message.contains("the document needs a newer version of noutput"), message);
    }

    private static void documents() throws Exception {
        List<Map<String, Object>> all = entries(read("documents").get("documents"));
        isTrue(all.size() > 90, "enough documents");
        for (Map<String, Object> each : all) {
            byte[] body = Base64.getDecoder().decode((String) each.get("body"));
            if ((Boolean) each.get("accepted")) {
                Campaign.read(body);
            } else {
                refused(DocumentException.class, (String) each.get("why"), () -> Campaign.read(body));
            }
        }
        for (String text : new String[] {"", "[]", "null", "3", "{", "\"text\""}) {
            refused(DocumentException.class, text, () -> Campaign.read(text));
        }
    }

    private static void texts() throws Exception {
        Map<String, Object> vectors = read("texts");
        List<Map<String, Object>> titles = entries(vectors.get("titles"));
        isTrue(titles.size() > 80, "enough titles");
        for (Map<String, Object> each : titles) {
            Map<String, Object> document = new LinkedHashMap<>(entries(
                    Collections.singletonList(vectors.get("base"))).get(0));
            document.put("title", each.get("title"));
            document.put("fingerprint", each.get("fingerprint"));
            String text = Checks.json(document);
            String title = Checks.json(each.get("title"));
            if ((Boolean) each.get("accepted")) {
                equal(Campaign.read(text).getTitle(), each.get("title"), title);
            } else {
                Exception error = refused(DocumentException.class, title, () -> Campaign.read(text));
                isTrue(error.getMessage().startsWith("title must be text"), error.getMessage());
            }
        }
    }

    private static void wire() throws Exception {
        checkBodies(read("balanced"));
        for (Map<String, Object> each : entries(read("wire").get("cases"))) {
            checkBodies(each);
        }
    }

    private static void checkBodies(Map<String, Object> found) {
        Map<String, Object> first = entries(found.get("reports")).get(0);
        Report report = new Report((String) first.get("campaign"),
                (String) first.get("question"), ((Long) first.get("output")).intValue(),
                (String) first.get("id"), first.containsKey("token") ? (String) first.get("token") : "");
        Object body = entries(found.get("bodies")).get(0).get("body");
        equal(Octets.hex(report.toJson().getBytes(Octets.UTF_8)), body, "the body");
    }

    private static void labels() {
        Object[][] cases = {
            {0.0, "0"}, {5.0, "5"}, {-1.5, "-1.5"}, {1000.0, "1000"}, {1e15, "1000000000000000"},
            {1e16, "1e+16"}, {1.5e16, "1.5e+16"}, {1e100, "1e+100"}, {1e-4, "0.0001"},
            {0.00015, "0.00015"}, {1e-5, "1e-05"}, {0.1 + 0.2, "0.30000000000000004"}, {2e-3, "0.002"},
            {1.0 / 3.0, "0.3333333333333333"}, {5e-324, "5e-324"}, {2.0e23, "2e+23"},
            {9007199254740992.0, "9007199254740992"}, {-1.2345e-7, "-1.2345e-07"},
            {9.5367431640625e-07, "9.5367431640625e-07"}, {2.2250738585072014e-308, "2.2250738585072014e-308"},
        };
        for (Object[] each : cases) {
            equal(Decimal.shortest((Double) each[0]), each[1], "the label");
        }
    }
}
