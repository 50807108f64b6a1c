package noutput.client;

/** A ledger that is damaged, needs a newer version, or cannot be read, written or locked. */
public final class LedgerException extends NoutputException {
    private static final long serialVersionUID = 1L;

    /** For storages that apps implement: what failed, without anything that was stored. */
    public LedgerException(String message) {
        super(message);
    }

    /** As above, with the failure of the platform that it comes from. */
    public LedgerException(String message, Throwable cause) {
        super(message, cause);
    }
}
