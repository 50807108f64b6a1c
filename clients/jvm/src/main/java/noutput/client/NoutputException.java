package noutput.client;

/**
 * What goes wrong in this package.
 *
 * <pre>
 * NoutputException
 * ├── DocumentException   a document is no campaign, or needs a newer version
 * ├── PrivacyException    a table is less private than it claims, or than the policy allows
 * ├── PolicyException     new reports would exceed what the person allows in a period
 * ├── NotDueException     the device answers in other rounds of the campaign
 * ├── ValueException      a value is no answer, a token is missing, the campaign is not open
 * ├── LedgerException     the ledger is damaged, or cannot be read or written
 * └── DeliveryException   the server did not answer, refused or redirected
 * </pre>
 *
 * <p>No message has a private value, an output, a token or a random number in it.
 */
public class NoutputException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoutputException(String message) {
        super(message);
    }

    NoutputException(String message, Throwable cause) {
        super(message, cause);
    }
}
