package noutput.client;

/** A collector's acknowledgement: each report was counted, now or before. */
public final class Receipt {
    private final int accepted;
    private final int repeated;

    Receipt(int accepted, int repeated) {
        this.accepted = accepted;
        this.repeated = repeated;
    }

    /** How many reports were counted now. */
    public int getAccepted() {
        return accepted;
    }

    /** How many reports had been counted before. */
    public int getRepeated() {
        return repeated;
    }

    @Override
    public String toString() {
        return "Receipt(accepted=" + accepted + ", repeated=" + repeated + ")";
    }
}
