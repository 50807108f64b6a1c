package noutput.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;

/**
 * A table of whole numbers that is certified before it can be drawn from.
 *
 * <p>Every row has the probabilities of all outputs in units of 2^-32. A table with knots is for
 * numbers, and draws from the rows next to a number of [-1, 1]; any other has one row per answer.
 * Nothing of a table can be changed.
 */
final class Table {
    private static final String[] KEYS =
            {"format", "version", "epsilon", "scale", "weights", "fingerprint"};
    private static final String[] NUMBER_KEYS = {
        "format", "version", "epsilon", "scale", "weights", "fingerprint", "outputs", "knots"
    };
    private static final int MAX_OUTPUTS = 256;
    private static final int MAX_KNOTS = 4096;
    private static final int MAX_ANSWERS = 64;
    private static final double MEAN_TOLERANCE = 1e-9;

    final double epsilon;
    final String fingerprint;
    private final double[] knots; // none for answers
    private final long[][] thresholds;
    private final long[] largest;
    private final long[] smallest;

    /** Reads a table of a document, and certifies it. */
    static Table read(String path, Object value) {
        Part part = Part.of(path, value);
        return new Table(part, part.has("knots"));
    }

    private Table(Part part, boolean isNumeric) {
        part.checkFormat("noutput-table");
        part.checkKeys(isNumeric ? NUMBER_KEYS : KEYS);
        part.whole("scale", Exact.SCALE, Exact.SCALE);
        epsilon = part.positive("epsilon");
        double[] outputs = isNumeric ? part.increasing("outputs", 2, MAX_OUTPUTS) : null;
        long[][] weights = readWeights(part, isNumeric, outputs);
        int size = weights[0].length;
        largest = new long[size];
        smallest = new long[size];
        thresholds = new long[weights.length][size];
        fill(weights);
        certify(epsilon, "the table claims");
        knots = isNumeric ? readKnots(part, outputs, weights) : new double[0];
        fingerprint = print(isNumeric, outputs, weights);
        if (!fingerprint.equals(part.get("fingerprint"))) {
            throw part.wrong("fingerprint", "be " + fingerprint);
        }
    }

    private static long[][] readWeights(Part part, boolean isNumeric, double[] outputs) {
        List<?> rows = part.list("weights", 2, isNumeric ? MAX_KNOTS : MAX_ANSWERS);
        Object first = rows.get(0);
        int size = isNumeric ? outputs.length : first instanceof List ? ((List<?>) first).size() : 0;
        if (size < 2 || size > MAX_OUTPUTS) {
            throw part.wrong("weights", "have from 2 to " + MAX_OUTPUTS + " columns");
        }
        long[][] found = new long[rows.size()][size];
        for (int k = 0; k < found.length; k++) {
            String name = "weights[" + k + "]";
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

    private static double[] readKnots(Part part, double[] outputs, long[][] weights) {
        double[] knots = part.increasing("knots", weights.length, weights.length);
        if (knots[0] != -1.0 || knots[knots.length - 1] != 1.0) {
            throw part.wrong("knots", "reach from -1 to 1");
        }
        BigInteger[] wholes = new BigInteger[outputs.length];
        int scale = 0;
        for (double each : outputs) {
            scale = Math.max(scale, new BigDecimal(each).scale());
        }
        for (int i = 0; i < wholes.length; i++) {
            wholes[i] = new BigDecimal(outputs[i]).setScale(scale).unscaledValue();
        }
        BigDecimal unit = new BigDecimal(Exact.SCALE);
        for (int k = 0; k < knots.length; k++) {
            BigInteger sum = BigInteger.ZERO;
            for (int i = 0; i < wholes.length; i++) {
                sum = sum.add(wholes[i].multiply(BigInteger.valueOf(weights[k][i])));
            }
            // exact, as every division by a power of two is, and rounded once
            double mean = new BigDecimal(sum, scale).divide(unit).doubleValue();
            if (!(Math.abs(mean - knots[k]) <= MEAN_TOLERANCE)) {
                throw Part.wrong("knots[" + k + "]", "be the mean output of its row", knots[k]);
            }
        }
        return knots;
    }

    private String print(boolean isNumeric, double[] outputs, long[][] weights) {
        Octets form = new Octets().add("noutput-table 1\n");
        form.addDouble(epsilon).addWord(largest.length).addWord(weights.length);
        if (isNumeric) {
            for (double[] each : new double[][] {outputs, knots}) {
                for (double number : each) {
                    form.addDouble(number);
                }
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

    boolean isForNumbers() {
        return knots.length > 0;
    }

    int countRows() {
        return thresholds.length;
    }

    int countOutputs() {
        return largest.length;
    }

    /** The output for an input (a number of [-1, 1], or an answer's place) and a 64-bit word. */
    int draw(double input, long word) {
        int row = isForNumbers() ? Exact.drawRow(knots, input, word) : (int) input;
        return Exact.drawOutput(thresholds[row], word);
    }
}
