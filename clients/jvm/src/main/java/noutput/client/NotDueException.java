package noutput.client;

/** A device answers in other rounds of the campaign, which it has drawn in advance. */
public final class NotDueException extends NoutputException {
    private static final long serialVersionUID = 1L;

    private final int next;

    NotDueException(String message, int next) {
        super(message);
        this.next = next;
    }

    /** The number of the next round in which it answers, or -1 where no round is left. */
    public int getNext() {
        return next;
    }
}
