package noutput.client;

import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * The privacy certificate and the drawing of one report.
 *
 * <p>This class is all that a device has to trust. No floating-point operation takes part in the
 * decision whether a table is private. A report is drawn from one of a table's rows, so it loses at
 * most the logarithm of the largest ratio within a column; the check replaces e^epsilon by a
 * fraction that is provably not larger.
 */
final class Exact {
    static final long SCALE = 1L << 32;
    private static final int FRACTION_BITS = 64;
    private static final int GUARD_BITS = 64;
    private static final double LARGEST_EXPONENT = 32.0; // no ratio of two weights reaches e^32
    private static final int PARTS = 64; // of an epsilon that may be a sum over as many questions

    private Exact() {}

    /** A whole number that is not above 2^64 e^epsilon; every epsilon above 32 counts as 32. */
    static BigInteger exponentialFloor(double epsilon) {
        return exponentialFloor(epsilon, 1);
    }

    /** A whole number that is not above 2^64 e^(epsilon / parts). */
    private static BigInteger exponentialFloor(double epsilon, int parts) {
        BigDecimal fraction = new BigDecimal(Math.min(epsilon, LARGEST_EXPONENT * parts));
        BigInteger numerator = fraction.unscaledValue();
        BigInteger denominator = BigInteger.valueOf(parts);
        if (fraction.scale() > 0) {
            denominator = denominator.multiply(BigInteger.TEN.pow(fraction.scale()));
        } else {
            numerator = numerator.multiply(BigInteger.TEN.pow(-fraction.scale()));
        }
        BigInteger term = BigInteger.ONE.shiftLeft(FRACTION_BITS + GUARD_BITS);
        BigInteger total = term;
        for (long n = 1; term.signum() > 0; n++) {
            BigInteger divisor = denominator.multiply(BigInteger.valueOf(n));
            term = term.multiply(numerator).divide(divisor);
            total = total.add(term);
        }
        return total.shiftRight(GUARD_BITS);
    }

    /** The first output whose weights differ by more than e^epsilon, or -1 where none does. */
    static int certify(long[] largest, long[] smallest, double epsilon) {
        BigInteger floor = exponentialFloor(epsilon);
        for (int output = 0; output < largest.length; output++) {
            BigInteger high = BigInteger.valueOf(largest[output]).shiftLeft(FRACTION_BITS);
            if (high.compareTo(floor.multiply(BigInteger.valueOf(smallest[output]))) > 0) {
                return output;
            }
        }
        return -1;
    }

    /** Whether so many reports from each table together lose at most epsilon: ratios multiply. */
    static boolean certifyAll(Iterable<? extends Table> tables, double epsilon, int times) {
        BigInteger high = BigInteger.ONE;
        BigInteger low = BigInteger.ONE;
        for (Table table : tables) {
            long[] ratio = table.largestRatio();
            high = high.multiply(BigInteger.valueOf(ratio[0]));
            low = low.multiply(BigInteger.valueOf(ratio[1]));
        }
        BigInteger bound = exponentialFloor(epsilon, PARTS).pow(PARTS).multiply(low.pow(times));
        return high.pow(times).shiftLeft(FRACTION_BITS * PARTS).compareTo(bound) <= 0;
    }

    /**
     * The row that a number is drawn from: one end of its cell, chosen by the upper 32 bits of the
     * word so that the mean is right. A knot belongs to the cell above it, the last to the one below.
     */
    static strictfp int drawRow(double[] knots, double x, long word) {
        int cell = 0;
        int end = knots.length - 1;
        while (end - cell > 1) { // by halves, so that the time does not depend on x
            int middle = (cell + end) >>> 1;
            if (knots[middle] > x) {
                end = middle;
            } else {
                cell = middle;
            }
        }
        double rise = SCALE / (knots[cell + 1] - knots[cell]);
        // in the narrowest cells the rise is infinite, and 0 times it no number: then the lower end
        return (word >>> 32) < (x - knots[cell]) * rise ? cell + 1 : cell;
    }

    /** The output that the lower 32 bits of the word select in a row of running sums. */
    static int drawOutput(long[] thresholds, long word) {
        long lower = word & (SCALE - 1);
        int output = 0;
        for (long sum : thresholds) {
            output += sum <= lower ? 1 : 0;
        }
        return output;
    }
}
