package noutput.client;

/** A document that is no campaign, or that needs a newer version of noutput. */
public final class DocumentException extends NoutputException {
    private static final long serialVersionUID = 1L;

    DocumentException(String message) {
        super(message);
    }
}
