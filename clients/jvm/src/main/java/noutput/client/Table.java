package noutput.client;

import java.math.BigInteger;
import java.util.List;

/**
 * A table of whole numbers that is certified before it can be drawn from.
 *
 * <p>Every row has the probabilities of all outputs in units of 2^-32. A question has one axis per
 * coordinate: answers have a row each, and numbers a row per knot, in the question's own unit. An
 * inner knot that is listed twice is a jump, with one row per side. Nothing of a table can be
 * changed. Whatever row is drawn from, the certificate holds: privacy depends neither on the knots
 * nor on the arithmetic that finds the row.
 */
final class Table {
    private static final String[] KEYS =
            {"format", "version", "epsilon", "scale", "axes", "weights", "fingerprint"};
    private static final int MAX_OUTPUTS = 256;
    private static final int MAX_ROWS = 4096;
    private static final int MAX_COORDINATES = 2;

    final double epsilon;
    final String fingerprint;
    private final double[][] knots; // per axis; none for answers
    private final int[] sizes; // per axis: its number of rows
    private final long[][] thresholds;
    private final long[] largest;
    private final long[] smallest;

    /** Reads a table of a document, and certifies it. */
    static Table read(String path, Object value) {
        return new Table(Part.of(path, value));
    }

    private Table(Part part) {
        part.checkFormat("noutput-table");
        part.checkKeys(KEYS);
        part.whole("scale", Exact.SCALE, Exact.SCALE);
        epsilon = part.positive("epsilon");
        List<?> axes = part.list("axes", 1, MAX_COORDINATES);
        knots = new double[axes.size()][];
        sizes = new int[axes.size()];
        int rows = 1;
        for (int i = 0; i < sizes.length; i++) {
            String name = part.name("axes") + "[" + i + "]";
            boolean isNumber = axes.get(i) instanceof List;
            knots[i] = isNumber ? readKnots(name, axes.get(i)) : new double[0];
            sizes[i] = isNumber ? knots[i].length
                    : (int) Part.whole(name, axes.get(i), 2, AnswersQuestion.MAX_ANSWERS);
            rows *= sizes[i];
        }
        if (rows > MAX_ROWS) {
            throw part.wrong("axes", "have at most " + MAX_ROWS + " rows");
        }
        long[][] weights = readWeights(part, rows);
        int size = weights[0].length;
        largest = new long[size];
        smallest = new long[size];
        thresholds = new long[rows][size];
        fill(weights);
        certify(epsilon, "the table claims");
        fingerprint = print(weights);
        if (!fingerprint.equals(part.get("fingerprint"))) {
            throw part.wrong("fingerprint", "be " + fingerprint);
        }
    }

    private static double[] readKnots(String name, Object value) {
        double[] found = Part.numbers(name, value, 2, MAX_ROWS);
        int last = found.length - 1;
        for (int k = 1; k <= last; k++) {
            boolean isJump = found[k] == found[k - 1] && k > 1 && k < last
                    && found[k - 2] < found[k];
            if (!(found[k] > found[k - 1] || isJump)) {
                String rule = "increase, where an inner knot may be listed twice";
                throw Part.wrong(name + "[" + k + "]", rule, found[k]);
            }
        }
        if (Double.isInfinite(found[last] - found[0])) {
            throw Part.wrong(name, "have a finite width", found[0] + ", " + found[last]);
        }
        return found;
    }

    private static long[][] readWeights(Part part, int count) {
        List<?> rows = part.list("weights", count, count);
        Object first = rows.get(0);
        int size = first instanceof List ? ((List<?>) first).size() : 0;
        if (size < 2 || size > MAX_OUTPUTS) {
            throw part.wrong("weights", "have from 2 to " + MAX_OUTPUTS + " columns");
        }
        long[][] found = new long[count][size];
        for (int k = 0; k < found.length; k++) {
            String name = part.name("weights") + "[" + k + "]";
            List<?> row = Part.list(name, rows.get(k), size, size);
            long sum = 0;
            for (int i = 0; i < size; i++) {
                found[k][i] = Part.whole(name + "[" + i + "]", row.get(i), 1, Exact.SCALE - 1);
                sum += found[k][i];
            }
            if (sum != Exact.SCALE) {
                throw Part.wrong(name, "add up to " + Exact.SCALE, sum);
            }
        }
        return found;
    }

    private void fill(long[][] weights) {
        for (int i = 0; i < largest.length; i++) {
            smallest[i] = Exact.SCALE;
            for (long[] row : weights) {
                largest[i] = Math.max(largest[i], row[i]);
                smallest[i] = Math.min(smallest[i], row[i]);
            }
        }
        for (int k = 0; k < weights.length; k++) {
            long sum = 0;
            for (int i = 0; i < largest.length; i++) {
                sum += weights[k][i];
                thresholds[k][i] = sum;
            }
        }
    }

    private String print(long[][] weights) {
        Octets form = new Octets().add("noutput-table 1\n");
        form.addDouble(epsilon).addWord(largest.length).addWord(sizes.length);
        for (int i = 0; i < sizes.length; i++) {
            form.addWord(sizes[i]).addWord(knots[i].length > 0 ? 1 : 0);
            for (double knot : knots[i]) {
                form.addDouble(knot);
            }
        }
        for (long[] row : weights) {
            for (long weight : row) {
                form.addWord(weight);
            }
        }
        return Octets.hex(form.sha256());
    }

    /** Throws unless the table is private for this epsilon, as a statement about real numbers. */
    void certify(double allowed, String who) {
        int output = Exact.certify(largest, smallest, allowed);
        if (output >= 0) {
            throw new PrivacyException("output " + output + " is less private than " + who
                    + ": weights must satisfy max <= e^epsilon * min for epsilon " + allowed);
        }
    }

    boolean isPrivate(double allowed) {
        return Exact.certify(largest, smallest, allowed) < 0;
    }

    /** The largest and the smallest weight of the output where they differ most. */
    long[] largestRatio() {
        int worst = 0;
        for (int i = 1; i < largest.length; i++) {
            BigInteger one = product(largest[i], smallest[worst]);
            BigInteger other = product(largest[worst], smallest[i]);
            worst = one.compareTo(other) > 0 ? i : worst;
        }
        return new long[] {largest[worst], smallest[worst]};
    }

    private static BigInteger product(long a, long b) {
        return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
    }

    /** The knots of a question of one number; none for any other. */
    double[] getKnots() {
        return sizes.length == 1 ? knots[0] : new double[0];
    }

    /** Whether the table is for one question with so many answers. */
    boolean isForAnswers(int count) {
        return sizes.length == 1 && knots[0].length == 0 && sizes[0] == count;
    }

    int countOutputs() {
        return largest.length;
    }

    @Override
    public String toString() {
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < sizes.length; i++) {
            double[] own = knots[i];
            found.append(i == 0 ? "" : " and ").append(own.length == 0 ? sizes[i] + " answers"
                    : "knots from " + own[0] + " to " + own[own.length - 1]);
        }
        return found.toString();
    }

    /**
     * The output for one value (a number within the knots, or the index of an answer) and one
     * 64-bit word per coordinate: the upper half of a word finds the row of its number, the lower
     * half of the first draws the output.
     */
    int draw(double[] values, long[] words) {
        int row = 0;
        for (int i = 0; i < sizes.length; i++) {
            boolean isNumber = knots[i].length > 0;
            int own = isNumber ? Exact.drawRow(knots[i], values[i], words[i]) : (int) values[i];
            row = row * sizes[i] + own;
        }
        return Exact.drawOutput(thresholds[row], words[0]);
    }
}
