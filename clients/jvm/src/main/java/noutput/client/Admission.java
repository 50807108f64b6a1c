package noutput.client;

import java.math.BigInteger;
import java.util.regex.Pattern;

/** Whose reports a campaign counts: everybody's, or those of people with a one-time token. */
public final class Admission {
    private static final long MAX_PER_HOUR = 1_000_000_000_000L;
    private static final String LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
    private static final String PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}"
            + "|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]";
    private static final Pattern ISSUER = Pattern.compile("https?://(?=[a-z0-9.-]{1,252}(:|$))"
            + LABEL + "(\\." + LABEL + ")*(:(" + PORT + "))?");
    private static final int KEY_LETTERS = 456;
    // A public key as RFC 9578 writes it: RSASSA-PSS with SHA-384 and a salt of 48 bytes, 2,048
    // bits, exponent 65537. Only the modulus, between both, is the key's own.
    private static final String BEFORE = "30820152303d06092a864886f70d01010a3030a00d300b06096086480"
            + "16503040202a11a301806092a864886f70d010108300b0609608648016503040202a203020130038201"
            + "0f003082010a0282010100";
    private static final String AFTER = "0203010001";

    private final String kind;
    private final String issuer;
    final byte[] key; // as tokens name it; empty where no issuer is needed
    final BigInteger modulus;

    static final Admission OPEN = new Admission("open", "", new byte[0], BigInteger.ZERO);

    private Admission(String kind, String issuer, byte[] key, BigInteger modulus) {
        this.kind = kind;
        this.issuer = issuer;
        this.key = key;
        this.modulus = modulus;
    }

    /** Reads what a campaign's document says. */
    static Admission read(Object value) {
        if ("open".equals(value)) {
            return OPEN;
        }
        Part part = Part.of("admission", value);
        String kind = part.oneOf("kind", "open", "token", "anonymous");
        boolean isAnonymous = kind.equals("anonymous");
        String[] needed = isAnonymous ? new String[] {"kind", "issuer", "key"}
                : kind.equals("open") ? new String[] {"kind", "reports_per_hour"}
                : new String[] {"kind"};
        part.checkKeys(needed, "reports_per_hour");
        if (part.has("reports_per_hour")) {
            part.whole("reports_per_hour", 1, MAX_PER_HOUR);
        }
        if (!isAnonymous) {
            return new Admission(kind, "", new byte[0], BigInteger.ZERO);
        }
        String rule = "be an address such as https://issuer.example, without a path";
        String issuer = part.match("issuer", ISSUER, rule);
        byte[] key = readKey(part);
        int start = BEFORE.length() / 2;
        byte[] own = Octets.slice(key, start, key.length - AFTER.length() / 2);
        return new Admission(kind, issuer, key, new BigInteger(1, own));
    }

    private static byte[] readKey(Part part) {
        Object text = part.get("key");
        if (text instanceof String && Octets.isBase64((String) text, KEY_LETTERS)) {
            byte[] key = Octets.unbase64((String) text);
            String digits = Octets.hex(key);
            boolean isLarge = key[BEFORE.length() / 2] < 0; // its highest bit
            boolean isOdd = (key[key.length - AFTER.length() / 2 - 1] & 1) == 1;
            if (digits.startsWith(BEFORE) && digits.endsWith(AFTER) && isLarge && isOdd) {
                return key;
            }
        }
        throw part.wrong("key", "be an RSASSA-PSS key of 2,048 bits in base64url");
    }

    /** "open", "token" (tokens of the operator) or "anonymous" (tokens of an issuer, RFC 9578). */
    public String getKind() {
        return kind;
    }

    /** Where anonymous tokens are signed; empty for other kinds. */
    public String getIssuer() {
        return issuer;
    }

    /** Whether a report must carry a token. */
    public boolean getNeedsToken() {
        return !kind.equals("open");
    }

    @Override
    public String toString() {
        return kind;
    }
}
