package noutput.client;

/** A storage that forgets when the process ends: for tests and simulations, not for people. */
public final class MemoryStorage implements Storage {
    private byte[] stored;

    @Override
    public synchronized void update(Change change) {
        byte[] next = change.apply(stored == null ? null : stored.clone());
        stored = next == null ? stored : next.clone();
    }
}
