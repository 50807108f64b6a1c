package noutput.client;

/** A table that is less private than it claims, or than the person's policy allows. */
public final class PrivacyException extends NoutputException {
    private static final long serialVersionUID = 1L;

    PrivacyException(String message) {
        super(message);
    }
}
