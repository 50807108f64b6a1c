package noutput.client;

import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Rotating panel: a device answers in a few rounds of every period, drawn in advance.
 *
 * <p><b>Guarantees.</b> In which rounds a device answers is drawn from a secret of its own, whatever
 * its values are. What it sends in one period loses at most {@link #getAnswers} times the
 * campaign's epsilon.
 */
public final class Schedule {
    static final int SECRET_BYTES = 32;
    static final int MAX_ROUNDS = 5000;
    private static final String[] EVERY = {"hour", "day", "week"};
    private static final long[] SECONDS = {3_600, 86_400, 604_800};
    private static final int MAX_PER_PERIOD = 366;
    private static final long MAX_GRACE = 366 * 86_400;
    private static final String CONTEXT = "noutput rounds 1";
    private static final long WORDS = 1L << 32;

    private final String every;
    private final int size;
    private final int answers;
    private final long grace;

    Schedule(String every, int size, int answers, long grace) {
        this.every = every;
        this.size = size;
        this.answers = answers;
        this.grace = grace;
    }

    /** Reads the schedule of a document; null where it has none. */
    static Schedule read(Part document, Admission admission) {
        if (document.get("schedule") == null) {
            return null;
        }
        Part part = Part.of("schedule", document.get("schedule"));
        part.checkKeys(new String[] {"every", "rounds_per_period", "answers", "grace"});
        int size = (int) part.whole("rounds_per_period", 1, MAX_PER_PERIOD);
        Schedule found = new Schedule(part.oneOf("every", EVERY), size,
                (int) part.whole("answers", 1, size), part.whole("grace", 0, MAX_GRACE));
        if (admission.getNeedsToken()) {
            throw document.wrong("schedule", "be null where reports need a token");
        }
        if (Part.of("waves[0]", document.list("waves", 1, 8).get(0)).has("next")) {
            throw document.wrong("schedule", "be null where the campaign is adaptive");
        }
        long length = Instant.read(document, "closes") - Instant.read(document, "opens");
        if (length % (size * found.getSeconds()) != 0 || length / found.getSeconds() > MAX_ROUNDS) {
            throw document.wrong("closes", "be a whole number of periods after opens, and of at most "
                    + MAX_ROUNDS + " rounds");
        }
        return found;
    }

    /** "hour", "day" or "week": the length of a round. */
    public String getEvery() {
        return every;
    }

    /** How many rounds a period has. */
    public int getRoundsPerPeriod() {
        return size;
    }

    /** In how many rounds of a period a device answers. */
    public int getAnswers() {
        return answers;
    }

    /** For how many seconds after its round a report is still counted. */
    public long getGrace() {
        return grace;
    }

    /** The length of a round. */
    long getSeconds() {
        return SECONDS[Arrays.asList(EVERY).indexOf(every)];
    }

    /**
     * The rounds of a period in which a device answers, in their order.
     *
     * @param root of the campaign
     * @param secret 32 random bytes of the device
     * @param joined the round in which it joined: it draws among those that are left from it on
     */
    List<Integer> roundsOf(String root, byte[] secret, int period, int joined) {
        List<Integer> left = new ArrayList<>();
        for (int number = Math.max(period * size, joined); number < (period + 1) * size; number++) {
            left.add(number);
        }
        Words words = new Words(root, secret, period);
        int count = Math.min(answers, left.size());
        for (int place = 0; place < count; place++) {
            Collections.swap(left, place, place + words.below(left.size() - place));
        }
        List<Integer> found = new ArrayList<>(left.subList(0, count));
        Collections.sort(found);
        return found;
    }

    /** What people are told about when they answer. */
    String notice() {
        if (answers == size) {
            return "A device answers in every " + every + ".";
        }
        return "A device answers in " + answers + " of " + size + " " + every + "s, drawn in advance "
                + "whatever the answers are, and again in every period that follows.";
    }

    /** The words that a secret gives for a period. */
    private static final class Words {
        private final byte[] head;
        private final Mac mac;
        private int block;
        private int used = SECRET_BYTES;
        private byte[] bytes;

        Words(String root, byte[] secret, int period) {
            head = new Octets().add(CONTEXT).add(Octets.unhex(root)).add(big(0)).add(big(period))
                    .toBytes();
            try {
                mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(secret, "HmacSHA256"));
            } catch (GeneralSecurityException error) {
                throw new IllegalStateException("the platform lacks HMAC-SHA256", error);
            }
        }

        private static byte[] big(int value) {
            return new byte[] {(byte) (value >>> 24), (byte) (value >>> 16), (byte) (value >>> 8),
                (byte) value};
        }

        private long next() {
            if (used == SECRET_BYTES) {
                mac.update(head);
                bytes = mac.doFinal(big(block++));
                used = 0;
            }
            long word = 0;
            for (int end = used + 4; used < end; used++) {
                word = word << 8 | bytes[used] & 255;
            }
            return word;
        }

        /** A number below a limit, each equally likely. */
        int below(int limit) {
            long word = next();
            while (word >= WORDS - WORDS % limit) {
                word = next();
            }
            return (int) (word % limit);
        }
    }

    @Override
    public String toString() {
        return answers + " of " + size + " rounds, one per " + every;
    }
}
