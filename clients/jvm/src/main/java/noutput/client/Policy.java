package noutput.client;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * How much privacy loss a person allows, whatever a campaign asks for.
 *
 * <pre>{@code
 * new Policy(1.0, 4.0, 30.0)  // 1 per campaign, and 4 in any 30 days over all campaigns
 * }</pre>
 *
 * <p>Losses add up: reports with losses e1, e2, ... about the same person together have the loss
 * e1 + e2 + ...
 */
public final class Policy {
    private static final double ROUNDING = 1.0 + Math.pow(2.0, -40); // 0.1 + 0.2 is within 0.3
    private static final double DAY = 86400.0;

    private final double epsilon;
    private final double total;
    private final double days;
    private final Set<String> segments;
    private final boolean newRoots;

    /** A loss of 1 per campaign, and of 4 in any 30 days. */
    public Policy() {
        this(1.0, 4.0, 30.0);
    }

    /**
     * @param epsilon the largest loss by one campaign: of the report, or of all reports together
     *     where it asks all of its questions; of a campaign with a schedule, the largest loss per
     *     period of it
     * @param total the largest sum of losses in any period, over all campaigns
     * @param days the length of the period
     */
    public Policy(double epsilon, double total, double days) {
        this(epsilon, total, days, Collections.<String>emptySet(), false);
    }

    private Policy(
            double epsilon, double total, double days, Set<String> segments, boolean newRoots) {
        this.newRoots = newRoots;
        this.segments = Collections.unmodifiableSet(segments);
        this.epsilon = positive("epsilon", epsilon);
        this.total = positive("total", total);
        this.days = positive("days", days);
    }

    /**
     * This policy, for a person who lets labels of these segments leave the device. Labels are not
     * protected; without this, none leaves.
     */
    public Policy withSegments(String... names) {
        return new Policy(epsilon, total, days, new HashSet<>(Arrays.asList(names)), newRoots);
    }

    /**
     * This policy, where a campaign may be answered whose id the ledger knows by another root. That is
     * right where the operator has made the campaign anew; but whoever hands out several documents
     * under one id gets several answers of a person, and can tell that they belong together.
     */
    public Policy withNewRoots() {
        return new Policy(epsilon, total, days, segments, true);
    }

    /** Whether a campaign may be answered whose id the ledger knows by another root. */
    public boolean getNewRoots() {
        return newRoots;
    }

    /** The names of the segments whose labels may leave the device. */
    public Set<String> getSegments() {
        return segments;
    }

    private static double positive(String name, double value) {
        if (!(value > 0.0) || Double.isInfinite(value)) {
            String rule = " must be a positive finite number; found ";
            throw new IllegalArgumentException(name + rule + value);
        }
        return value;
    }

    /** The largest loss by one campaign. */
    public double getEpsilon() {
        return epsilon;
    }

    /** The largest sum of losses in a period. */
    public double getTotal() {
        return total;
    }

    /** The length of the period. */
    public double getDays() {
        return days;
    }

    /** Since when losses count towards the total, in milliseconds since 1970. */
    double since(long now) {
        return now - 1000.0 * days * DAY;
    }

    /** Refuses a campaign that may lose more than is allowed, whatever it claims. */
    void checkCampaign(Campaign campaign) {
        if (!allows(campaign)) {
            boolean isSum = isSum(campaign);
            throw new PrivacyException("the campaign asks for epsilon "
                    + Decimal.shortest(campaign.getEpsilonPerPeriod()) + (isSum ? " together" : "")
                    + ", and the policy allows " + Decimal.shortest(epsilon) + " per campaign");
        }
    }

    /** Whether what a campaign asks for is within epsilon, as decided in whole numbers. */
    boolean allows(Campaign campaign) {
        List<Table> tables = campaign.getTables();
        int answers = campaign.getAnswers();
        if (!isSum(campaign)) {
            return isPrivate(tables);
        }
        if (campaign.getAsksAll()) {
            return Exact.certifyAll(tables, epsilon, answers);
        }
        for (Table table : tables) {
            if (!Exact.certifyAll(Collections.singletonList(table), epsilon, answers)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isSum(Campaign campaign) {
        return campaign.getAnswers() > 1
                || campaign.getAsksAll() && campaign.getTables().size() > 1;
    }

    private boolean isPrivate(List<Table> tables) {
        for (Table table : tables) {
            if (!table.isPrivate(epsilon)) {
                return false;
            }
        }
        return true;
    }

    /** What answering a campaign costs: the smaller of two proven bounds of its loss. */
    double cost(Campaign campaign) {
        return Math.min(campaign.getEpsilon(), epsilon / campaign.getAnswers());
    }

    /** Whether the period's total has room for one more answer. */
    boolean allows(double before, double cost) {
        return before + cost <= total * ROUNDING;
    }

    /** Refuses to answer where it would exceed the period's total. */
    void checkTotal(double before, double cost) {
        if (!allows(before, cost)) {
            throw new PolicyException("the policy allows a total epsilon of "
                    + Decimal.shortest(total) + " in " + Decimal.shortest(days) + " days; "
                    + Decimal.shortest(before) + " of it is spent, and this campaign costs "
                    + Decimal.shortest(cost));
        }
    }

    /** A sum of doubles that is rounded once. */
    static double sum(Iterable<Double> values) {
        BigDecimal total = BigDecimal.ZERO;
        for (double each : values) {
            total = total.add(new BigDecimal(each));
        }
        return total.doubleValue();
    }

    @Override
    public String toString() {
        return "Policy(epsilon=" + epsilon + ", total=" + total + ", days=" + days + ")";
    }
}
