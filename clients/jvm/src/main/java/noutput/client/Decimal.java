package noutput.client;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/** Numbers as the wire format writes them: the shortest decimal that reads as the same double. */
final class Decimal {
    private static final int MOST_DIGITS = 17;

    private Decimal() {}

    /** The label of an answer that is a number, without ".0"; the same in all clients. */
    static String shortest(double value) {
        if (value == 0.0) {
            return "0";
        }
        BigDecimal exact = new BigDecimal(value);
        for (int digits = 1; digits < MOST_DIGITS; digits++) {
            BigDecimal best = null;
            // Next to a power of two the nearest decimal may read as another double, and the one
            // on the other side as this one.
            for (RoundingMode mode : new RoundingMode[] {RoundingMode.DOWN, RoundingMode.UP}) {
                BigDecimal each = exact.round(new MathContext(digits, mode));
                if (each.doubleValue() == value && (best == null || isNearer(each, best, exact))) {
                    best = each;
                }
            }
            if (best != null) {
                return write(best);
            }
        }
        return write(exact.round(new MathContext(MOST_DIGITS, RoundingMode.HALF_EVEN)));
    }

    private static boolean isNearer(BigDecimal one, BigDecimal other, BigDecimal exact) {
        return one.subtract(exact).abs().compareTo(other.subtract(exact).abs()) < 0;
    }

    /** Plain from 1e-4 to 1e16, else with an exponent of two digits or more. */
    private static String write(BigDecimal value) {
        BigDecimal plain = value.stripTrailingZeros();
        int exponent = plain.precision() - plain.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            return plain.toPlainString();
        }
        String digits = plain.unscaledValue().abs().toString();
        String rest = digits.length() > 1 ? "." + digits.substring(1) : "";
        String sign = plain.signum() < 0 ? "-" : "";
        String size = Math.abs(exponent) < 10 ? "0" + Math.abs(exponent) : "" + Math.abs(exponent);
        return sign + digits.charAt(0) + rest + "e" + (exponent < 0 ? "-" : "+") + size;
    }
}
