package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.json;
import static noutput.client.Checks.refused;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Tables written down here: jumps, two coordinates, damaged documents, questions they do not fit. */
final class TableChecks {
    private static final double EPSILON = 8.5;
    private static final long SMALL = 1 << 20;
    private static final long TOP = 0xFFFFFFFFL; // the largest half of a word
    private static final double[] JUMP = {0.0, 15.0, 15.0, 30.0};

    private TableChecks() {}

    static void list() {
        add("a number is drawn from the row of its side of a jump", TableChecks::rows);
        add("a sampler with a planted fault is noticed", TableChecks::faults);
        add("the lower half of the first word draws the output", TableChecks::outputs);
        add("a table has the fingerprint that another program computed", TableChecks::fingerprints);
        add("damaged tables are refused", TableChecks::damaged);
        add("axes that are none are refused", TableChecks::axes);
        add("edges that are none are refused", TableChecks::edges);
        add("tables that do not fit their question are refused", TableChecks::fits);
        add("a wave's table fits the bounds of the wave", TableChecks::waves);
    }

    /** A draw whose row is known: values and the upper halves of their words. */
    private static final class Case {
        final Object[] axes;
        final double[] values;
        final long[] uppers;
        final int row;

        Case(Object[] axes, double[] values, long[] uppers, int row) {
            this.axes = axes;
            this.values = values;
            this.uppers = uppers;
            this.row = row;
        }
    }

    /** The row of values and words: the client's own, or one with a fault. */
    private interface Sampler {
        int row(Object[] axes, double[] values, long[] words) throws Exception;
    }

    private static Case number(double[] knots, double value, long upper, int row) {
        return new Case(new Object[] {knots}, new double[] {value}, new long[] {upper}, row);
    }

    private static List<Case> cases() {
        List<Case> all = new ArrayList<>();
        for (long upper : new long[] {0, 1, TOP / 2, TOP}) {
            all.add(number(JUMP, 0.0, upper, 0));
            all.add(number(JUMP, Math.nextDown(15.0), upper, 1));
            all.add(number(JUMP, 15.0, upper, 2));
            all.add(number(JUMP, 30.0, upper, 3));
        }
        long half = 1L << 31;
        for (int side = 0; side < 2; side++) {
            all.add(number(JUMP, 7.5 + 15 * side, half - 1, 1 + 2 * side));
            all.add(number(JUMP, 7.5 + 15 * side, half + 1, 2 * side));
        }
        all.add(number(JUMP, Math.nextUp(15.0), 0, 3));
        all.add(number(JUMP, Math.nextUp(15.0), 1, 2));
        // another order of the same operations has another row
        all.add(number(new double[] {-1.1, 2.3}, 0.558712633838877, 2095328387L, 1));
        all.add(number(new double[] {0.0, 0.7}, 0.08254309161566198, 506456970L, 0));
        // [0, 180] mapped to [-1, 1] loses the number below 45
        double[] commute = {0.0, 45.0, 45.0, 60.0, 180.0};
        all.add(number(commute, Math.nextDown(45.0), TOP, 1));
        all.add(number(commute, 45.0, 0, 2));
        all.add(number(commute, 60.0, TOP, 3));
        all.add(number(commute, 60.0, 0, 3));
        double[] huge = {-8e307, 1.0, 1.0, 8e307};
        all.add(number(huge, Math.nextDown(1.0), TOP, 1));
        all.add(number(huge, 1.0, 0, 2));
        all.add(number(huge, -8e307, 0, 0));
        all.add(number(huge, 8e307, TOP, 3));
        double least = Double.MIN_VALUE; // 2^32 divided by it is infinite, and 0 times that no number
        double[] tiny = {0.0, least, least, 2 * least};
        all.add(number(tiny, 0.0, 0, 0));
        all.add(number(tiny, least, 0, 2));
        all.add(number(tiny, 2 * least, TOP, 3));
        for (int answer = 0; answer < 5; answer++) {
            all.add(new Case(new Object[] {5L}, new double[] {answer}, new long[] {TOP * (answer % 2)},
                    answer));
        }
        Object[] mixed = {JUMP, 3L};
        all.add(new Case(mixed, new double[] {Math.nextDown(15.0), 2}, new long[] {TOP, 0}, 5));
        all.add(new Case(mixed, new double[] {15.0, 0}, new long[] {0, 0}, 6));
        Object[] numbers = {JUMP, new double[] {-1.0, 1.0}};
        for (int first = 0; first < 2; first++) {
            for (int second = 0; second < 2; second++) {
                long[] uppers = {half - 1 + 2 * first, half - 1 + 2 * second};
                int row = 2 * (3 - first) + 1 - second;
                all.add(new Case(numbers, new double[] {22.5, 0.0}, uppers, row));
            }
        }
        return all;
    }

    /** Rows that can be told apart: a word in the middle draws the row's own number. */
    private static long[][] weights(int rows) {
        long[][] found = new long[rows][rows];
        for (int k = 0; k < rows; k++) {
            Arrays.fill(found[k], SMALL);
            found[k][k] = Exact.SCALE - (rows - 1) * SMALL;
        }
        return found;
    }

    private static int countRows(Object... axes) {
        int product = 1;
        for (Object axis : axes) {
            product *= axis instanceof double[] ? ((double[]) axis).length : ((Long) axis).intValue();
        }
        return product;
    }

    /** The document of a table, with the fingerprint that it has. */
    private static Map<String, Object> weighted(double epsilon, long[][] weights, Object... axes)
            throws Exception {
        ByteBuffer form = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
        form.put("noutput-table 1\n".getBytes(StandardCharsets.US_ASCII));
        form.putDouble(epsilon).putInt(weights[0].length).putInt(axes.length);
        List<Object> listed = new ArrayList<>();
        for (Object axis : axes) {
            form.putInt(countRows(axis)).putInt(axis instanceof double[] ? 1 : 0);
            List<Object> knots = new ArrayList<>();
            for (double knot : axis instanceof double[] ? (double[]) axis : new double[0]) {
                form.putDouble(knot);
                knots.add(knot);
            }
            listed.add(axis instanceof double[] ? knots : axis);
        }
        List<Object> rows = new ArrayList<>();
        for (long[] row : weights) {
            List<Object> entries = new ArrayList<>();
            for (long weight : row) {
                form.putInt((int) weight);
                entries.add(weight);
            }
            rows.add(entries);
        }
        form.flip();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(form);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("format", "noutput-table");
        found.put("version", 1L);
        found.put("epsilon", epsilon);
        found.put("scale", Exact.SCALE);
        found.put("axes", listed);
        found.put("weights", rows);
        found.put("fingerprint", Octets.hex(digest.digest()));
        return found;
    }

    private static Map<String, Object> document(Object... axes) throws Exception {
        return weighted(EPSILON, weights(countRows(axes)), axes);
    }

    private static Map<String, Object> copy(Object document) {
        return Json.readObject(json(document));
    }

    private static Table table(Object document) {
        return Table.read("table", copy(document));
    }

    private static int clientRow(Object[] axes, double[] values, long[] words) throws Exception {
        return table(document(axes)).draw(values, words);
    }

    /** How many cases a sampler gets wrong. */
    private static int wrong(Sampler sampler, boolean isClient) throws Exception {
        int wrong = 0;
        for (Case each : cases()) {
            long[] words = new long[each.uppers.length];
            for (int i = 0; i < words.length; i++) {
                words[i] = each.uppers[i] << 32 | 1L << 31;
            }
            int row = sampler.row(each.axes, each.values, words);
            if (isClient) {
                equal(row, each.row, Arrays.deepToString(each.axes) + Arrays.toString(each.values));
            }
            wrong += row == each.row ? 0 : 1;
        }
        return wrong;
    }

    private static void rows() throws Exception {
        equal(wrong(TableChecks::clientRow, true), 0, "wrong rows");
    }

    /** A sampler as the specification has it, but for one fault. */
    private static Sampler faulty(String fault) {
        return (axes, values, words) -> {
            int row = 0;
            for (int i = 0; i < axes.length; i++) {
                long word = words[fault.equals("one word for both") ? 0 : i];
                int own = axes[i] instanceof Long ? (int) values[i]
                        : faultyRow(fault, (double[]) axes[i], values[i], word);
                row = fault.equals("columns first") && i > 0
                        ? own * countRows(axes[0]) + row : row * countRows(axes[i]) + own;
            }
            return row;
        };
    }

    private static int faultyRow(String fault, double[] ownKnots, double ownValue, long word) {
        double[] knots = ownKnots.clone();
        double x = ownValue;
        if (fault.equals("mapped to [-1, 1]")) {
            double half = (knots[knots.length - 1] - knots[0]) / 2;
            x = (ownValue - ownKnots[0]) / half - 1;
            for (int k = 0; k < knots.length; k++) {
                knots[k] = (ownKnots[k] - ownKnots[0]) / half - 1;
            }
        }
        int count = 0;
        for (double knot : knots) {
            count += fault.equals("an edge is below itself") ? (knot < x ? 1 : 0) : (knot <= x ? 1 : 0);
        }
        int cell = Math.max(0, Math.min(count - 1, knots.length - 2));
        double width = knots[cell + 1] - knots[cell];
        double position = (x - knots[cell]) * (4294967296.0 / width);
        position = fault.equals("another order") ? (x - knots[cell]) / width * 4294967296.0 : position;
        long half = fault.equals("the other half") ? word & TOP : word >>> 32;
        boolean isUpper = fault.equals("an infinite position is none")
                ? half < position && position <= 2 * TOP : half < position;
        int row = cell + (isUpper && !fault.equals("never the upper row") ? 1 : 0);
        boolean isLeft = row + 1 < knots.length && knots[row] == knots[row + 1];
        boolean isRight = row > 0 && knots[row] == knots[row - 1];
        return fault.equals("the left row on both sides") && isRight ? row - 1
                : fault.equals("the right row on both sides") && isLeft ? row + 1 : row;
    }

    private static void faults() throws Exception {
        equal(wrong(faulty("none"), false), 0, "without a fault");
        String[] faults = {
            "an edge is below itself", "the left row on both sides", "the right row on both sides",
            "mapped to [-1, 1]", "another order", "the other half", "never the upper row",
            "an infinite position is none", "one word for both", "columns first",
        };
        for (String fault : faults) {
            isTrue(wrong(faulty(fault), false) > 0, fault);
        }
    }

    private static void outputs() throws Exception {
        Table table = table(document(JUMP, 3L));
        long rest = TOP << 32; // row 1 of the answers, and row 0 of the numbers
        double[] values = {0.0, 1.0};
        equal(table.draw(values, new long[] {rest, 0}), 0, "the lowest word");
        equal(table.draw(values, new long[] {rest | SMALL - 1, 0}), 0, "the last word of output 0");
        equal(table.draw(values, new long[] {rest | SMALL, 0}), 1, "the first word of output 1");
        equal(table.draw(values, new long[] {rest | TOP - 10 * SMALL, TOP}), 1, "its last word");
        equal(table.draw(values, new long[] {rest | TOP - 10 * SMALL + 1, 0}), 2, "the next word");
        equal(table.draw(values, new long[] {rest | TOP, 0}), 11, "the highest word");
    }

    private static void fingerprints() throws Exception {
        Object[][] cases = {
            {new Object[] {JUMP}, "15b8de008942f457f20ac66bdb54eecc29181279326fa9e052aea6fedf4d50b3"},
            {new Object[] {JUMP, 3L}, "6654b56611ab4a36fe5067adaf7b5940807b1403370ad6b72a66d19b54776181"},
            {new Object[] {5L}, "e90c12e66aea1010e5a6cd4a1eb73b43ee96bd0048d6ff9c856796877d430f70"},
        };
        for (Object[] each : cases) {
            equal(table(document((Object[]) each[0])).fingerprint, each[1], "the fingerprint");
        }
        Map<String, Object> spelled = document(new double[] {0.0, 15.0});
        spelled.put("axes", Json.readObject("{\"a\":[[-0.0,15]]}").get("a"));
        equal(table(spelled).fingerprint, spelled.get("fingerprint"), "a negative zero is zero");
    }

    /** Refuses a table whose message begins so. */
    private static void refusedTable(String begins, Object document) {
        String message = refused(DocumentException.class, begins, () -> table(document)).getMessage();
        isTrue(message.startsWith(begins), begins + ": " + message);
    }

    @SuppressWarnings("unchecked")
    private static List<Object> row(Map<String, Object> document, int index) {
        return (List<Object>) ((List<Object>) document.get("weights")).get(index);
    }

    private static void damaged() throws Exception {
        Map<String, Object> good = document(JUMP);
        table(good);
        Map<String, Object> damaged = copy(good);
        damaged.put("epsilon", Math.nextUp(EPSILON));
        refusedTable("table.fingerprint must be ", damaged);
        refused(PrivacyException.class, "less epsilon", () -> table(weighted(8.0, weights(4), JUMP)));
        damaged = copy(good);
        damaged.put("axes", Json.readObject("{\"a\":[[0,15,15.000000000000002,30]]}").get("a"));
        refusedTable("table.fingerprint must be ", damaged);
        damaged = copy(good);
        row(damaged, 1).set(0, SMALL + 1);
        refusedTable("table.weights[1] must add up to 4294967296", damaged);
        row(damaged, 1).set(1, Exact.SCALE - 3 * SMALL - 1);
        refusedTable("table.fingerprint must be ", damaged);
        long[][] lying = weights(4);
        lying[2][3] = 1; // more than e^8.5 times less than the largest of its column
        lying[2][2] += SMALL - 1;
        String message = refused(PrivacyException.class, "a lie", () ->
                table(weighted(EPSILON, lying, JUMP))).getMessage();
        isTrue(message.startsWith("output 3 is less private"), message);
        damaged = copy(good);
        damaged.put("fingerprint", ((String) good.get("fingerprint")).replace('1', '2'));
        refusedTable("table.fingerprint must be ", damaged);
        for (String key : new String[] {"outputs", "knots", "unit"}) {
            damaged = copy(good);
            damaged.put(key, new ArrayList<>());
            refusedTable("key table." + key + " must be absent", damaged);
        }
        for (String key : good.keySet()) {
            damaged = copy(good);
            damaged.remove(key);
            Map<String, Object> shorter = damaged;
            refused(DocumentException.class, "without " + key, () -> table(shorter));
        }
    }

    private static void axes() throws Exception {
        double[] many = new double[65];
        for (int k = 0; k < many.length; k++) {
            many[k] = k;
        }
        String jump = "increase, where an inner knot may be listed twice";
        Object[][] cases = {
            {"table.axes must be a list of 1 to 2 entries", "[]"},
            {"table.axes must be a list of 1 to 2 entries", "[2,2,2]"},
            {"table.axes must be a list of 1 to 2 entries", "{}"},
            {"table.axes[0] must be a whole number from 2 to 64", "[1]"},
            {"table.axes[0] must be a whole number from 2 to 64", "[65]"},
            {"table.axes[0] must be a whole number from 2 to 64", "[4.0]"},
            {"table.axes[0] must be a whole number from 2 to 64", "[true]"},
            {"table.axes[0] must be a whole number from 2 to 64", "[null]"},
            {"table.axes[1] must be a whole number from 2 to 64", "[2,\"2\"]"},
            {"table.axes[0] must be a list of 2 to 4096 entries", "[[]]"},
            {"table.axes[0] must be a list of 2 to 4096 entries", "[[1]]"},
            {"table.axes[0][1] must be a number", "[[0,\"1\",2,3]]"},
            {"table.axes[0][1] must be a number", "[[0,null,2,3]]"},
            {"table.axes[0][2] must " + jump, "[[0,15,14,30]]"},
            {"table.axes[0][3] must " + jump, "[[0,15,15,15,30]]"},
            {"table.axes[0][1] must " + jump, "[[0,0,15,30]]"},
            {"table.axes[0][3] must " + jump, "[[0,15,30,30]]"},
            {"table.axes[0][1] must " + jump, "[[1,1]]"},
            {"table.axes[0] must have a finite width", "[[-9e307,0,1,9e307]]"},
            {"table.axes[1][2] must " + jump, "[2,[3,4,2]]"},
            {"table.axes must have at most 4096 rows", "[" + json(boxed(many)) + ",64]"},
            {"table.weights must be a list of 5 to 5 entries", "[5]"},
            {"table.weights must be a list of 3 to 3 entries", "[[0,15,30]]"},
            {"table.weights must be a list of 8 to 8 entries", "[[0,15,15,30],2]"},
        };
        for (Object[] each : cases) {
            Map<String, Object> damaged = document(JUMP);
            damaged.put("axes", Json.readObject("{\"a\":" + each[1] + "}").get("a"));
            refusedTable((String) each[0], damaged);
        }
        table(document(4L));
        table(document(2L, 2L));
        table(document(new double[] {-8e307, 0.0, 8e307}));
    }

    private static List<Object> boxed(double... numbers) {
        List<Object> found = new ArrayList<>();
        for (double number : numbers) {
            found.add(number);
        }
        return found;
    }

    private static Map<String, Object> numberQuestion(double lower, double upper, Object edges) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("kind", "number");
        found.put("name", "commute");
        found.put("lower", lower);
        found.put("upper", upper);
        found.put("unit", "minutes");
        if (edges != null) {
            found.put("edges", edges);
        }
        return found;
    }

    /** A campaign of one question and one wave per table; bounds are those of the later waves. */
    private static String campaign(Object question, double[] bounds, Object... tables) {
        Map<String, Object> found = Json.readObject("{\"format\":\"noutput-campaign\",\"version\":1,"
                + "\"id\":\"a\",\"title\":\"A\",\"text\":\"A?\",\"public\":true,"
                + "\"opens\":\"2026-03-01T00:00:00Z\",\"closes\":\"2036-03-01T00:00:00Z\","
                + "\"ask\":\"one\",\"segments\":{},\"schedule\":null,\"admission\":\"open\"}");
        List<Object> prints = new ArrayList<>();
        List<Object> waves = new ArrayList<>();
        found.put("questions", Arrays.asList(question));
        found.put("waves", waves);
        for (int index = 0; index < tables.length; index++) {
            Map<String, Object> wave = Json.readObject(
                    "{\"tables\":[" + index + "],\"objectives\":[\"mean\"]}");
            if (index > 0) {
                int outputs = table(tables[0]).countOutputs();
                wave.put("inputs", Arrays.asList(Arrays.asList(boxedZeros(outputs))));
                wave.put("bounds", Arrays.asList(boxed(bounds)));
                wave.put("reasons", Arrays.asList(""));
                wave.put("predecessor", found.remove("fingerprint"));
            } else if (tables.length > 1) {
                wave.put("next", Json.readObject(
                        "{\"rule\":\"range 1\",\"reports\":1,\"expected\":1,\"until\":null}"));
            }
            waves.add(wave);
            prints.add(table(tables[index]).fingerprint);
            found.put("tables", prints);
            Octets form = new Octets().add("noutput-campaign 1\n").add(Canonical.of(found));
            found.put("fingerprint", Octets.hex(form.sha256()));
        }
        found.put("tables", Arrays.asList(tables));
        return json(found);
    }

    private static List<Object> boxedZeros(int count) {
        List<Object> found = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            found.add(0L);
        }
        return found;
    }

    private static void refusedCampaign(String part, String campaign) {
        String message = refused(DocumentException.class, part, () ->
                Campaign.read(campaign)).getMessage();
        isTrue(message.contains(part), part + ": " + message);
    }

    private static void edges() throws Exception {
        Object smooth = document(new double[] {0.0, 30.0});
        Campaign.read(campaign(numberQuestion(0, 30, null), null, smooth));
        Campaign.read(campaign(numberQuestion(0, 30, boxed()), null, smooth));
        double[] most = new double[31];
        double[] knots = new double[2 + 2 * most.length];
        for (int k = 0; k < most.length; k++) {
            most[k] = k + 0.5;
            knots[2 * k + 1] = knots[2 * k + 2] = most[k];
        }
        knots[knots.length - 1] = 32.0;
        Campaign.read(campaign(numberQuestion(0, 32, boxed(most)), null, document(knots)));
        double[] more = new double[32];
        for (int k = 0; k < more.length; k++) {
            more[k] = (k + 1) / 2.0;
        }
        String rule = "increase, and lie between 0.0 and 30.0";
        Object[][] cases = {
            {"questions[0].edges must be a list of 0 to 31 entries", boxed(more)},
            {"questions[0].edges must be a list of 0 to 31 entries", 15.0},
            {"questions[0].edges must be a list of 0 to 31 entries", "15"},
            {"questions[0].edges[0] must " + rule, boxed(0.0)},
            {"questions[0].edges[0] must " + rule, boxed(30.0)},
            {"questions[0].edges[0] must " + rule, boxed(-1.0, 15.0)},
            {"questions[0].edges[1] must " + rule, boxed(15.0, 15.0)},
            {"questions[0].edges[1] must " + rule, boxed(15.0, 14.0)},
            {"questions[0].edges[1] must " + rule, boxed(15.0, 31.0)},
            {"questions[0].edges[0] must be a number", Arrays.asList("15")},
        };
        for (Object[] each : cases) {
            refusedCampaign((String) each[0],
                    campaign(numberQuestion(0, 30, each[1]), null, document(JUMP)));
        }
        Map<String, Object> none = numberQuestion(0, 30, null);
        none.put("edges", null);
        refusedCampaign("questions[0].edges must be a list", campaign(none, null, smooth));
        Map<String, Object> scale = Json.readObject(
                "{\"kind\":\"scale\",\"name\":\"a\",\"answers\":[1,2],\"edges\":[1.5]}");
        refusedCampaign("key questions[0].edges must be absent", campaign(scale, null, document(2L)));
    }

    private static void fits() throws Exception {
        Object edges = boxed(15.0);
        Campaign campaign = Campaign.read(campaign(numberQuestion(0, 30, edges), null, document(JUMP)));
        Question question = campaign.getAsked().get(0);
        equal(question.encode(Math.nextDown(15.0)), Math.nextDown(15.0), "in its own unit");
        equal(question.encode(31), 30.0, "the upper bound");
        equal(question.encode(-5.5), 0.0, "the lower bound");
        Map<String, Object> choice = Json.readObject(
                "{\"kind\":\"choice\",\"name\":\"a\",\"answers\":[\"x\",\"y\",\"z\",\"w\"]}");
        Campaign.read(campaign(choice, null, document(4L)));
        Object bounds = "have one axis with knots from 0.0 to 30.0, the bounds of commute";
        Object twice = "list twice the edges of commute, [15.0], and no others";
        Object none = "list twice the edges of commute, [], and no others";
        Object answers = "have one axis of 4 rows, the answers of a";
        Object[][] cases = {
            {bounds, numberQuestion(0, 30, edges), document(new double[] {0.0, 15.0, 15.0, 31.0})},
            {bounds, numberQuestion(0, 30, edges), document(new double[] {-1.0, 15.0, 15.0, 30.0})},
            {bounds, numberQuestion(0, 30, edges), document(4L)},
            {bounds, numberQuestion(0, 30, edges), document(JUMP, 2L)},
            {twice, numberQuestion(0, 30, edges), document(new double[] {0.0, 15.0, 30.0})},
            {twice, numberQuestion(0, 30, edges), document(new double[] {0.0, 16.0, 16.0, 30.0})},
            {twice, numberQuestion(0, 30, edges),
                document(new double[] {0.0, 15.0, 15.0, 16.0, 16.0, 30.0})},
            {none, numberQuestion(0, 30, null), document(JUMP)},
            {none, numberQuestion(0, 30, boxed()), document(JUMP)},
            {answers, choice, document(3L)},
            {answers, choice, document(JUMP)},
            {answers, choice, document(4L, 2L)},
        };
        for (Object[] each : cases) {
            refusedCampaign("tables[0] must " + each[0], campaign(each[1], null, each[2]));
        }
    }

    private static void waves() throws Exception {
        Object question = numberQuestion(0, 30, boxed(15.0, 20.0));
        Object first = document(new double[] {0.0, 15.0, 15.0, 20.0, 20.0, 30.0});
        double[] bounds = {10.0, 20.0}; // an edge on a bound of the wave is no edge of the wave
        Object second = document(new double[] {10.0, 15.0, 15.0, 20.0});
        Campaign found = Campaign.read(campaign(question, bounds, first, second));
        equal(found.getChain().size(), 2, "waves");
        equal(found.getAsked().get(0).encode(25), 20.0, "the upper bound of the wave");
        equal(found.getAsked().get(0).encode(12.5), 12.5, "a number within");
        double[][] others = {
            {0.0, 15.0, 15.0, 30.0}, {10.0, 15.0, 15.0, 25.0}, {9.0, 15.0, 15.0, 20.0}, {10.0, 20.0},
        };
        for (double[] knots : others) {
            refusedCampaign("tables[1] must ",
                    campaign(question, bounds, first, document(knots)));
        }
    }
}
