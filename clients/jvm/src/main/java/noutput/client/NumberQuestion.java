package noutput.client;

import java.math.BigDecimal;
import java.math.BigInteger;

/** A question whose answer is a number; one outside the bounds is moved to the nearer bound. */
public final class NumberQuestion extends Question {
    private final double lower;
    private final double upper;
    private final String unit;

    NumberQuestion(Part part) {
        super(part, "number");
        unit = part.text("unit", 0, 64);
        lower = part.number("lower");
        upper = part.number("upper");
        if (!isInterval(lower, upper)) {
            throw part.wrong("upper", "be above lower by a finite number that can be halved");
        }
    }

    private NumberQuestion(NumberQuestion other, double lower, double upper) {
        super(other);
        unit = other.unit;
        this.lower = lower;
        this.upper = upper;
    }

    private static boolean isInterval(double lower, double upper) {
        double half = (upper - lower) / 2.0;
        return half > 0.0 && !Double.isInfinite(half);
    }

    /** The question with the bounds of a wave, which lie within its own. */
    NumberQuestion narrowed(String name, double low, double high) {
        if (!(low >= lower && high <= upper && isInterval(low, high))) {
            String rule = "increase, and lie between " + lower + " and " + upper;
            throw Part.wrong(name, rule, low + ", " + high);
        }
        return new NumberQuestion(this, low, high);
    }

    /** The lower bound, in the question's own unit. */
    public double getLower() {
        return lower;
    }

    /** The upper bound, in the question's own unit. */
    public double getUpper() {
        return upper;
    }

    /** What the number counts, such as "minutes"; may be empty. */
    public String getUnit() {
        return unit;
    }

    @Override
    strictfp double encode(Object value) {
        double number = isNumber(value) ? ((Number) value).doubleValue() : Double.NaN;
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            throw wrongValue("a finite number");
        }
        double inside = Math.min(Math.max(number, lower), upper);
        double unitValue = (inside - lower) / ((upper - lower) / 2.0) - 1.0;
        return Math.min(Math.max(unitValue, -1.0), 1.0);
    }

    /** The number types of the language, and no others: those may change while they are read. */
    static boolean isNumber(Object value) {
        return value instanceof Double || value instanceof Float || value instanceof Long
                || value instanceof Integer || value instanceof Short || value instanceof Byte
                || value instanceof BigInteger || value instanceof BigDecimal;
    }

    @Override
    boolean fits(Table table) {
        return table.isForNumbers();
    }

    @Override
    String[] objectives() {
        return new String[] {"balanced", "mean", "distribution"};
    }
}
