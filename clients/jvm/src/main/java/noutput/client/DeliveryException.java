package noutput.client;

/**
 * A server that did not answer, refused or redirected.
 *
 * <p>The report may have been counted nevertheless. To send it again is always safe.
 */
public final class DeliveryException extends NoutputException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final String problem;

    DeliveryException(String message) {
        this(message, 0, "");
    }

    DeliveryException(String message, int status, String problem) {
        super(message);
        this.status = status;
        this.problem = problem;
    }

    /** The HTTP status, or 0 where no answer came. */
    public int getStatus() {
        return status;
    }

    /** The type of the problem document, such as "urn:noutput:problem:campaign-not-open", or "". */
    public String getProblem() {
        return problem;
    }
}
