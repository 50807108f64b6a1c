package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.refused;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The ledger: one answer per campaign, budgets, damage, rights. */
final class LedgerChecks {
    private static final long DAY = 86_400_000L;
    private static final long NOW = ClientChecks.NOW;
    private static final Policy POLICY = new Policy(1, 2, 30);

    private LedgerChecks() {}

    static void list() {
        add("a report is remembered in a private file", LedgerChecks::remembered);
        add("the total is capped in any period", LedgerChecks::capped);
        add("sums of decimal fractions reach the total", LedgerChecks::fractions);
        add("what fails while drawing costs nothing", LedgerChecks::failing);
        add("pending reports are those not sent", LedgerChecks::pending);
        add("a damaged ledger is refused and left alone", LedgerChecks::damaged);
        add("threads take turns", LedgerChecks::threads);
        add("enrollments are kept until there are reports", LedgerChecks::enrolled);
        add("storages that break the rules are noticed", LedgerChecks::storages);
        add("links lead to the same ledger", LedgerChecks::links);
        add("leftovers of a killed process are no obstacle", LedgerChecks::leftovers);
        add("an interrupted thread stores nothing or all", LedgerChecks::interrupted);
    }

    private static File file(String name) {
        return Checks.folder.resolve("deep/" + name + "/ledger").toFile();
    }

    private static String print(int number) {
        return String.format("%064x", number);
    }

    private static Report remember(Ledger ledger, int number, long now, double cost) {
        String root = print(number);
        return ledger.remember(root, root, cost, POLICY, now, () -> Collections.singletonList(
                new Report(root, "late", 1, Octets.hex(Octets.digest("SHA-256",
                        ("" + System.nanoTime()).getBytes())).substring(0, 32), ""))).get(0);
    }

    private static void remembered() throws Exception {
        File file = file("one");
        Report first = remember(new Ledger(file), 1, NOW, 1);
        equal(remember(new Ledger(file), 1, NOW + 1, 1), first, "the same report");
        equal(new Ledger(file).find(print(1)), Arrays.asList(first), "what is found");
        equal(new Ledger(file).find(print(2)), "[]", "what is not found");
        Set<?> rights = Files.getPosixFilePermissions(file.toPath());
        equal(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath())), "rw-------", "" + rights);
        Path lock = file.toPath().resolveSibling("ledger.lock");
        equal(PosixFilePermissions.toString(Files.getPosixFilePermissions(lock)), "rw-------", "lock");
        Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString("rw-r--rw-"));
        new Ledger(file);
        equal(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath())), "rw-------", "again");
        equal(new HashSet<>(Arrays.asList(file.getParentFile().list())),
                new HashSet<>(Arrays.asList("ledger", "ledger.lock")), "the folder");
    }

    private static void capped() {
        Ledger ledger = new Ledger(file("capped"));
        remember(ledger, 1, NOW, 1);
        remember(ledger, 2, NOW + 10 * DAY, 1);
        for (long now : new long[] {NOW + 10 * DAY, NOW + 29 * DAY, NOW - 5 * DAY}) {
            String message = refused(PolicyException.class, "too much", () ->
                    remember(ledger, 3, now, 1)).getMessage();
            equal(message, "the policy allows a total epsilon of 2 in 30 days; 2 of it is spent, and"
                    + " this campaign costs 1", "the message");
        }
        remember(ledger, 3, NOW + 30 * DAY + 1, 1);
        refused(PolicyException.class, "too much", () -> remember(ledger, 4, NOW + 39 * DAY, 1));
        equal(ledger.spentSince(NOW + DAY), 2.0, "what is spent");
    }

    private static void fractions() {
        Ledger ledger = new Ledger(new MemoryStorage());
        Policy policy = new Policy(0.1, 0.3, 30);
        for (int i = 0; i < 4; i++) {
            String campaign = print(i);
            Checks.Check answer = () -> ledger.remember(campaign, campaign, 0.1, policy, NOW, () ->
                    Collections.singletonList(new Report(campaign, "late", 0, campaign.substring(32), "")));
            if (i < 3) {
                refusedNot(answer);
            } else {
                refused(PolicyException.class, "the fourth", answer);
            }
        }
    }

    private static void refusedNot(Checks.Check step) {
        try {
            step.run();
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    private static void failing() {
        Ledger ledger = new Ledger(file("failing"));
        refused(IllegalStateException.class, "the maker", () ->
                ledger.remember(print(1), print(1), 1, POLICY, NOW, () -> {
                    throw new IllegalStateException();
                }));
        equal(ledger.spentSince(0), 0.0, "what is spent");
        refused(PolicyException.class, "too much", () ->
                ledger.remember(print(1), print(1), 3, POLICY, NOW, () -> {
                    throw new AssertionError("drawn");
                }));
    }

    private static void pending() {
        Ledger ledger = new Ledger(file("pending"));
        Report first = remember(ledger, 2, NOW, 1);
        Report second = remember(ledger, 1, NOW + 1, 1);
        equal(ledger.getPending(), Arrays.asList(first, second), "both");
        ledger.markSent(first);
        ledger.markSent(first);
        equal(new Ledger(file("pending")).getPending(), Arrays.asList(second), "the other");
        equal(remember(ledger, 2, NOW, 1), first, "the same report");
    }

    private static void damaged() throws Exception {
        File file = file("damaged");
        remember(new Ledger(file), 1, NOW, 1);
        byte[] good = Files.readAllBytes(file.toPath());
        List<byte[]> bad = new ArrayList<>();
        bad.add("nonsense".getBytes());
        bad.add(new byte[0]);
        bad.add(new byte[5000]);
        bad.add(new String(good).replace("\"output\":1", "\"output\":0").getBytes());
        bad.add(new Octets().add(good).add(good).toBytes());
        for (int i = 0; i < good.length; i += 7) {
            byte[] flipped = good.clone();
            flipped[i] ^= 1;
            bad.add(flipped);
            bad.add(Arrays.copyOf(good, i));
        }
        for (byte[] each : bad) {
            Files.write(file.toPath(), each);
            String message = refused(LedgerException.class, "damage", () -> new Ledger(file)).getMessage();
            isTrue(message.startsWith("the ledger is damaged"), message);
            isTrue(Arrays.equals(Files.readAllBytes(file.toPath()), each), "left alone");
        }
        for (int version : new int[] {0, 2, 10}) {
            Files.write(file.toPath(), new String(good).replace("ledger 1", "ledger " + version).getBytes());
            String message = refused(LedgerException.class, "another version", () ->
                    new Ledger(file)).getMessage();
            equal(message, "the ledger must have version 1; found " + version, "the message");
        }
        Files.delete(file.toPath());
        Files.createDirectory(file.toPath());
        refused(LedgerException.class, "a folder", () -> new Ledger(file));
    }

    private static void threads() throws Exception {
        Set<String> ids = Collections.synchronizedSet(new HashSet<>());
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> ids.add(remember(new Ledger(file("threads")), 7, NOW, 1).getId()));
            thread.setUncaughtExceptionHandler((one, error) -> failures.add(error));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        equal(failures, "[]", "failures");
        equal(ids.size(), 1, "ids");
    }

    private static void enrolled() {
        File file = file("enrolled");
        Ledger ledger = new Ledger(file);
        String token = new String(new char[24]).replace('\0', 't');
        equal(ledger.enroll(print(1), () -> "aa").secret, "aa", "the secret");
        equal(new Ledger(file).enroll(print(1), () -> "bb").secret, "aa", "the same secret");
        equal(ledger.enroll(print(1), () -> "bb").token, "", "no token");
        ledger.keepToken(print(1), token);
        equal(new Ledger(file).enroll(print(1), () -> "bb").token, token, "the token");
        remember(ledger, 1, NOW, 1);
        refusedNot(() -> isTrue(!new String(Files.readAllBytes(file.toPath())).contains("secret"), "no secret"));
        equal(ledger.enroll(print(1), () -> "bb").secret, "bb", "forgotten");
    }

    private static void storages() {
        refused(LedgerException.class, "nothing happens", () -> new Ledger((Storage) change -> { }));
        refused(LedgerException.class, "twice", () -> new Ledger((Storage) change -> {
            change.apply(null);
            change.apply(null);
        }));
    }

    private static void links() throws Exception {
        File file = file("links");
        Report first = remember(new Ledger(file), 1, NOW, 1);
        Path link = file.toPath().resolveSibling("link");
        Files.createSymbolicLink(link, file.toPath());
        equal(remember(new Ledger(link.toFile()), 1, NOW, 1), first, "the same report");
        remember(new Ledger(link.toFile()), 2, NOW, 1);
        isTrue(Files.isSymbolicLink(link), "the link stays");
        equal(new Ledger(file).getPending().size(), 2, "reports");
    }

    private static void leftovers() throws Exception {
        File file = file("leftovers");
        new Ledger(file);
        Path beside = file.toPath().resolveSibling("ledger.new");
        Files.write(beside, "half".getBytes());
        Report first = remember(new Ledger(file), 1, NOW, 1);
        isTrue(!Files.exists(beside), "removed");
        equal(remember(new Ledger(file), 1, NOW, 1), first, "the same report");
    }

    private static void interrupted() {
        Ledger ledger = new Ledger(file("interrupted"));
        Thread.currentThread().interrupt();
        try {
            refused(LedgerException.class, "interrupted", () -> remember(ledger, 1, NOW, 1));
        } finally {
            isTrue(Thread.interrupted(), "the flag stays");
        }
        Report first = remember(ledger, 1, NOW, 1);
        equal(remember(new Ledger(file("interrupted")), 1, NOW, 1), first, "the same report");
    }
}
