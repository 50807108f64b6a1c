package noutput.client;

/** A round of a schedule: a time in which some of the devices answer. */
public final class Round {
    private final int number;
    private final long start;
    private final long end;

    Round(int number, long start, long end) {
        this.number = number;
        this.start = start;
        this.end = end;
    }

    /** From 0, over all periods. */
    public int getNumber() {
        return number;
    }

    /** When it begins, in milliseconds since 1970. */
    public long getStart() {
        return start;
    }

    /** When it is over: until just before this instant, in milliseconds since 1970. */
    public long getEnd() {
        return end;
    }

    @Override
    public String toString() {
        return "round " + number;
    }
}
