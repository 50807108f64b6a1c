package noutput.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** A question whose answer is a number; one outside the bounds is moved to the nearer bound. */
public final class NumberQuestion extends Question {
    private static final int MAX_EDGES = 31;

    private final double lower;
    private final double upper;
    private final String unit;
    private final List<Double> edges = new ArrayList<>(); // where its tables jump

    NumberQuestion(Part part) {
        super(part, "number");
        unit = part.text("unit", 0, 64);
        lower = part.number("lower");
        upper = part.number("upper");
        if (!isInterval(lower, upper)) {
            throw part.wrong("upper", "be above lower by a finite number that can be halved");
        }
        String name = part.name("edges");
        Object given = part.has("edges") ? part.get("edges") : edges;
        double below = lower;
        for (double edge : Part.numbers(name, given, 0, MAX_EDGES)) {
            if (!(edge > below && edge < upper)) {
                String rule = "increase, and lie between " + lower + " and " + upper;
                throw Part.wrong(name + "[" + edges.size() + "]", rule, edge);
            }
            edges.add(edge);
            below = edge;
        }
    }

    private NumberQuestion(NumberQuestion other, double lower, double upper) {
        super(other);
        unit = other.unit;
        this.lower = lower;
        this.upper = upper;
        for (double edge : other.edges) {
            if (edge > lower && edge < upper) {
                edges.add(edge);
            }
        }
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
    double encode(Object value) {
        double number = isNumber(value) ? ((Number) value).doubleValue() : Double.NaN;
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            throw wrongValue("a finite number");
        }
        return Math.min(Math.max(number + 0.0, lower), upper);
    }

    /** The number types of the language, and no others: those may change while they are read. */
    static boolean isNumber(Object value) {
        return value instanceof Double || value instanceof Float || value instanceof Long
                || value instanceof Integer || value instanceof Short || value instanceof Byte
                || value instanceof BigInteger || value instanceof BigDecimal;
    }

    @Override
    void checkTable(String tableName, Table table) {
        double[] knots = table.getKnots();
        int last = knots.length - 1;
        if (last < 0 || knots[0] != lower || knots[last] != upper) {
            String rule = "have one axis with knots from " + lower + " to " + upper
                    + ", the bounds of " + getName();
            throw Part.wrong(tableName, rule, table);
        }
        List<Double> jumps = new ArrayList<>();
        for (int k = 1; k < last; k++) {
            if (knots[k] == knots[k - 1]) {
                jumps.add(knots[k]);
            }
        }
        if (!jumps.equals(edges)) {
            String rule = "list twice the edges of " + getName() + ", " + edges + ", and no others";
            throw Part.wrong(tableName, rule, jumps.toString());
        }
    }

    @Override
    String[] objectives() {
        return new String[] {"balanced", "mean", "distribution"};
    }
}
