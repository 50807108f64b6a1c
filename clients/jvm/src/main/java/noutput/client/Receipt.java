package noutput.client;

import java.util.Collections;
import java.util.List;

/** A collector's acknowledgement: each report was counted, now or before. */
public final class Receipt {
    private final int accepted;
    private final int repeated;
    private final List<String> leftOut;

    Receipt(int accepted, int repeated) {
        this(accepted, repeated, Collections.<String>emptyList());
    }

    Receipt(int accepted, int repeated, List<String> leftOut) {
        this.accepted = accepted;
        this.repeated = repeated;
        this.leftOut = leftOut;
    }

    /** How many reports were counted now. */
    public int getAccepted() {
        return accepted;
    }

    /** How many reports had been counted before. */
    public int getRepeated() {
        return repeated;
    }

    /**
     * The names of the labels that {@link Client#submit} was given and that the reports do not carry,
     * because the policy did not name them when the reports were made.
     */
    public List<String> getLeftOut() {
        return leftOut;
    }

    @Override
    public String toString() {
        return "Receipt(accepted=" + accepted + ", repeated=" + repeated + ")";
    }
}
