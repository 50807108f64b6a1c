package noutput.client;

/** A value that is no answer, a token that is none, or a campaign that is not open. */
public final class ValueException extends NoutputException {
    private static final long serialVersionUID = 1L;

    ValueException(String message) {
        super(message);
    }
}
