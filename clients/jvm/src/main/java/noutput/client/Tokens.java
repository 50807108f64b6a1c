package noutput.client;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * Tokens that reports carry: one per person and campaign, each counted once.
 *
 * <p>A token is spent by the id of its report, which is a hash of it. So whoever sends a token twice
 * sends the same report twice, and it is counted once. docs/wire.md describes both kinds.
 */
final class Tokens {
    static final int TYPE = 2; // RFC 9578: blind RSA, 2,048 bits
    static final int NONCE_BYTES = 32;
    static final int SIGNATURE_BYTES = 256;
    static final Pattern FORM = Pattern.compile("|[A-Za-z0-9_-]{24}|[A-Za-z0-9_-]{472}");
    private static final int ISSUED_LETTERS = 24;
    private static final int SIGNED_LETTERS = 472;

    private Tokens() {}

    /** The secret of a token, which its report's id is made of; a signature is not verified. */
    static byte[] secret(Campaign campaign, String token) {
        String kind = campaign.getAdmission().getKind();
        if (kind.equals("token") && Octets.isBase64(token, ISSUED_LETTERS)) {
            return Octets.unbase64(token);
        }
        if (kind.equals("anonymous") && Octets.isBase64(token, SIGNED_LETTERS)) {
            byte[] data = Octets.unbase64(token);
            byte[] nonce = Octets.slice(data, 2, 2 + NONCE_BYTES);
            byte[] head = Octets.slice(data, 0, data.length - SIGNATURE_BYTES);
            if (Arrays.equals(head, signedPart(campaign, nonce))) {
                return nonce;
            }
        }
        throw new ValueException("the token must be one of this campaign");
    }

    /** The id of the report that spends a token, by the place of its question. */
    static String reportId(Campaign campaign, byte[] secret, int place) {
        Octets form = new Octets().add("noutput-token\n").add(Octets.unhex(campaign.getRoot()));
        form.addByte(campaign.getAsksAll() ? place : 0).add(secret);
        return Octets.hex(form.sha256()).substring(0, 32);
    }

    /** What the issuer's signature is of: all of a token but the signature (RFC 9577, 2.2). */
    static byte[] signedPart(Campaign campaign, byte[] nonce) {
        byte[] challenge = Octets.digest("SHA-256", challenge(campaign));
        Octets form = new Octets().addByte(0).addByte(TYPE).add(nonce).add(challenge);
        return form.add(keyId(campaign)).toBytes();
    }

    /** The challenge (RFC 9577, 2.1.1): the issuer, and the campaign as its redemption context. */
    static byte[] challenge(Campaign campaign) {
        String issuer = campaign.getAdmission().getIssuer();
        byte[] name = issuer.substring(issuer.indexOf("://") + 3).getBytes(Octets.UTF_8);
        byte[] context = Octets.unhex(campaign.getRoot());
        Octets form = new Octets().addByte(0).addByte(TYPE);
        form.addByte(name.length >> 8).addByte(name.length).add(name);
        return form.addByte(context.length).add(context).addByte(0).addByte(0).toBytes();
    }

    /** The SHA-256 of the issuer's public key, by which tokens name it. */
    static byte[] keyId(Campaign campaign) {
        return Octets.digest("SHA-256", campaign.getAdmission().key);
    }

    static String write(byte[] signedPart, byte[] signature) {
        return Octets.base64(new Octets().add(signedPart).add(signature).toBytes());
    }

    static BigInteger number(byte[] bytes) {
        return new BigInteger(1, bytes);
    }
}
