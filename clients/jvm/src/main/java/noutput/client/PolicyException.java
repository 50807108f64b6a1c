package noutput.client;

/** A campaign that would cost more than the person's policy allows in a period. */
public final class PolicyException extends NoutputException {
    private static final long serialVersionUID = 1L;

    PolicyException(String message) {
        super(message);
    }
}
