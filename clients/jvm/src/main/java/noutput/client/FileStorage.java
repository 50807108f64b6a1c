package noutput.client;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A storage in one file, with a lock file beside it.
 *
 * <p>What is stored replaces the file as a whole: it is written to a new file, forced to the disk,
 * renamed, and the folder is forced to the disk before {@link #update} returns. Threads and
 * processes take turns. Only the owner of the file can read or write it, where the platform has
 * such rights. The file name followed by ".lock" must not be deleted while the ledger is in use.
 *
 * <p>It needs java.nio.file, which Android has from version 8 (API 26) on: older versions offer no
 * way to force a folder to the disk. Apps for those implement {@link Storage} themselves.
 */
public final class FileStorage implements Storage {
    private static final long PATIENCE = 30_000; // milliseconds to wait for another process
    private static final long STEP = 2;
    private static final Set<PosixFilePermission> OWNER = PosixFilePermissions.fromString("rw-------");

    private final Path path;
    private final boolean hasRights;

    /**
     * @param file the file; it and its folders are made where they are missing
     * @throws LedgerException if it cannot be made, or kept from others
     */
    public FileStorage(File file) {
        Path found = file.toPath().toAbsolutePath();
        try {
            makeFolders(found.getParent());
            // behind links: a link would be replaced, and its target would stay as it is
            path = Files.exists(found) ? found.toRealPath()
                    : found.getParent().toRealPath().resolve(found.getFileName());
            hasRights = path.getFileSystem().supportedFileAttributeViews().contains("posix");
            keepFromOthers();
        } catch (IOException error) {
            throw failure(found, error);
        }
    }

    private static LedgerException failure(Path path, IOException error) {
        String message = "the ledger " + path + " cannot be read and written: " + error;
        return new LedgerException(message, error);
    }

    private static void makeFolders(Path folder) throws IOException {
        List<Path> made = new ArrayList<>();
        for (Path each = folder; each != null && !Files.exists(each); each = each.getParent()) {
            made.add(each);
        }
        Files.createDirectories(folder);
        for (Path each : made) {
            force(each.getParent());
        }
    }

    private void keepFromOthers() throws IOException {
        if (!hasRights || !Files.exists(path)) {
            return;
        }
        if (!OWNER.containsAll(Files.getPosixFilePermissions(path))) {
            Files.setPosixFilePermissions(path, OWNER);
        }
        if (!OWNER.containsAll(Files.getPosixFilePermissions(path))) {
            throw new IOException("others may read or write it");
        }
    }

    @Override
    @SuppressWarnings("try") // the lock is held, not used
    public void update(Change change) {
        // Locks of files are those of the process, and closing any descriptor of a file releases
        // them all. So within the process, in whatever class loader, one thread at a time opens it:
        // an interned text is the same object everywhere.
        synchronized (("noutput ledger " + path).intern()) {
            try (FileChannel channel = open(sibling(".lock"), StandardOpenOption.CREATE);
                    FileLock lock = lock(channel)) {
                byte[] next = change.apply(stored());
                if (next != null) {
                    replace(next);
                }
            } catch (IOException error) {
                throw failure(path, error);
            }
        }
    }

    /** What is stored, or null where there is no file: any other failure is no empty ledger. */
    private byte[] stored() throws IOException {
        try {
            return Files.readAllBytes(path);
        } catch (NoSuchFileException error) {
            return null;
        }
    }

    private Path sibling(String suffix) {
        return path.resolveSibling(path.getFileName() + suffix);
    }

    private FileChannel open(Path file, OpenOption how) throws IOException {
        Set<OpenOption> options = new HashSet<>(Arrays.asList(how, StandardOpenOption.WRITE));
        FileAttribute<?>[] rights = hasRights
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER)}
                : new FileAttribute<?>[0];
        return FileChannel.open(file, options, rights);
    }

    private static FileLock lock(FileChannel channel) throws IOException {
        for (long waited = 0; waited < PATIENCE; waited += STEP) {
            FileLock lock = tryLock(channel);
            if (lock != null) {
                return lock;
            }
            try {
                Thread.sleep(STEP);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while another process has it");
            }
        }
        throw new IOException("another process has it for " + PATIENCE / 1000 + " s");
    }

    private static FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException error) {
            return null; // of this process
        }
    }

    private void replace(byte[] next) throws IOException {
        Path beside = sibling(".new");
        Files.deleteIfExists(beside); // of a process that was ended while it wrote
        try (FileChannel channel = open(beside, StandardOpenOption.CREATE_NEW)) {
            ByteBuffer rest = ByteBuffer.wrap(next);
            while (rest.hasRemaining()) {
                channel.write(rest);
            }
            channel.force(true);
        }
        Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE);
        force(path.getParent());
    }

    /** Forces the names in a folder to the disk; Windows does so by itself, and cannot be told. */
    private static void force(Path folder) throws IOException {
        if (folder.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }
    }
}
