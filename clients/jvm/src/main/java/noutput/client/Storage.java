package noutput.client;

/**
 * Where a {@link Ledger} keeps its bytes: {@link FileStorage}, or what an app implements.
 *
 * <p>On Android, for example with {@code AtomicFile}, for an app that runs in one process:
 *
 * <pre>{@code
 * class AtomicStorage(private val file: AtomicFile) : Storage {
 *     override fun update(change: Storage.Change) {
 *         synchronized(AtomicStorage::class.java) {
 *             try {
 *                 val next = change.apply(read()) ?: return
 *                 val stream = file.startWrite()
 *                 try {
 *                     stream.write(next)
 *                 } catch (error: IOException) {
 *                     file.failWrite(stream)
 *                     throw error
 *                 }
 *                 file.finishWrite(stream) // which tells of no failure
 *                 if (!Arrays.equals(next, read())) throw IOException("it is not what was written")
 *             } catch (error: IOException) {
 *                 throw LedgerException("the ledger cannot be read and written", error)
 *             }
 *         }
 *     }
 *
 *     private fun read(): ByteArray? = try {
 *         file.readFully() // also what is left where a process was ended while it wrote
 *     } catch (error: FileNotFoundException) {
 *         if (file.baseFile.exists()) throw error
 *         null
 *     }
 * }
 * }</pre>
 */
public interface Storage {
    /**
     * Changes what is stored, as one step.
     *
     * <p>An implementation calls {@code change} exactly once, with what is stored. Between reading
     * and storing, no other thread and no other process may read or store. What the change returns
     * must be on the disk when this method returns, as a whole; however the process ends, what is
     * stored is either the old or the new. Where the change throws, nothing is stored, and the
     * exception goes on to the caller.
     *
     * @throws LedgerException if the bytes cannot be read or stored
     */
    void update(Change change);

    /** What is to be done with the stored bytes. */
    interface Change {
        /**
         * @param stored what was stored last, or null where nothing was
         * @return what to store, or null to leave what is stored
         */
        byte[] apply(byte[] stored);
    }
}
