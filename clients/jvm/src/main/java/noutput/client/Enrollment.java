package noutput.client;

import java.math.BigInteger;
import java.net.URI;
import java.net.URISyntaxException;
import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Enrollment: a token that an issuer signs without seeing it (Privacy Pass, RFC 9578).
 *
 * <pre>{@code
 * String token = Enrollment.enroll(campaign, ledger, "the person's enrollment code");
 * client.submit(url, 42, token);  // later: docs/privacy.md says why
 * }</pre>
 *
 * <p><b>Guarantees.</b> The issuer learns that this person takes part in the campaign of its key, and
 * nothing about the token: what it sees is uniformly distributed, whatever the token is. It cannot
 * tell people apart by their keys, because the campaign's fingerprint covers the only one that is
 * accepted.
 */
public final class Enrollment {
    private static final String DIRECTORY = "/.well-known/private-token-issuer-directory";
    private static final String REQUEST_TYPE = "application/private-token-request";
    private static final String RESPONSE_TYPE = "application/private-token-response";
    private static final int MAX_DIRECTORY = 1 << 20;

    private Enrollment() {}

    /** The person's token for an anonymous campaign; see the other method. */
    public static String enroll(Campaign campaign, Ledger ledger, String credential) {
        return enroll(campaign, ledger, credential, new Delivery());
    }

    /**
     * The person's token for an anonymous campaign; its issuer is asked where there is none yet.
     *
     * @param ledger keeps what was drawn before the issuer is asked: whoever was interrupted asks
     *     for the same again, and an enrollment code is not lost
     * @param credential what the issuer admits the person by, or an empty text
     * @throws DeliveryException if the issuer cannot be reached, admits nobody with this credential,
     *     or signs anything else
     */
    public static String enroll(
            Campaign campaign, Ledger ledger, String credential, Delivery delivery) {
        if (!campaign.getAdmission().getKind().equals("anonymous")) {
            throw new ValueException("the campaign must be anonymous");
        }
        if (!credential.matches("|[!-~]([ -~]*[!-~])?")) {
            throw new ValueException(
                    "the credential must be printable ASCII, without spaces at its ends");
        }
        String root = campaign.getRoot();
        List<Report> reports = ledger.find(root);
        if (!reports.isEmpty()) {
            return reports.get(0).getToken();
        }
        Entries.Enrolled enrolled = ledger.enroll(
                root, () -> Octets.hex(drawSecret(campaign, new SecureRandom())));
        if (!enrolled.token.isEmpty()) {
            return enrolled.token;
        }
        byte[] secret = Octets.unhex(enrolled.secret);
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", REQUEST_TYPE);
        headers.put("Accept", RESPONSE_TYPE);
        if (!credential.isEmpty()) {
            headers.put("Authorization", "Bearer " + credential);
        }
        byte[] body = request(campaign, secret);
        String address = address(campaign, delivery);
        byte[] answer = delivery.exchange(address, headers, body, Tokens.SIGNATURE_BYTES);
        String token = token(campaign, secret, answer);
        ledger.keepToken(root, token);
        return token;
    }

    /** What a token is made of: its nonce, the salt of its signature, the blinding factor. */
    private static byte[] drawSecret(Campaign campaign, SecureRandom random) {
        byte[] start = new byte[Tokens.NONCE_BYTES + BlindRsa.SALT_BYTES];
        random.nextBytes(start);
        BigInteger factor = BlindRsa.drawFactor(campaign.getAdmission().modulus, random);
        return new Octets().add(start).add(Octets.fixed(factor, Tokens.SIGNATURE_BYTES)).toBytes();
    }

    /** What the issuer is sent: the type, the last byte of the key's id, what it signs. */
    static byte[] request(Campaign campaign, byte[] secret) {
        BigInteger blinded = BlindRsa.blind(Tokens.signedPart(campaign, nonce(secret)),
                campaign.getAdmission().modulus, salt(secret), factor(secret));
        byte[] keyId = Tokens.keyId(campaign);
        Octets form = new Octets().addByte(0).addByte(Tokens.TYPE).addByte(keyId[keyId.length - 1]);
        return form.add(Octets.fixed(blinded, Tokens.SIGNATURE_BYTES)).toBytes();
    }

    /** The token that the issuer's answer makes. */
    static String token(Campaign campaign, byte[] secret, byte[] answer) {
        byte[] message = Tokens.signedPart(campaign, nonce(secret));
        byte[] signature = answer.length != Tokens.SIGNATURE_BYTES ? null
                : BlindRsa.finish(message, Tokens.number(answer), campaign.getAdmission().modulus,
                        salt(secret), factor(secret));
        if (signature == null) {
            throw new DeliveryException("the issuer's answer is not signed with the campaign's key");
        }
        return Tokens.write(message, signature);
    }

    private static byte[] nonce(byte[] secret) {
        return Octets.slice(secret, 0, Tokens.NONCE_BYTES);
    }

    private static byte[] salt(byte[] secret) {
        return Octets.slice(secret, Tokens.NONCE_BYTES, Tokens.NONCE_BYTES + BlindRsa.SALT_BYTES);
    }

    private static BigInteger factor(byte[] secret) {
        int start = Tokens.NONCE_BYTES + BlindRsa.SALT_BYTES;
        return Tokens.number(Octets.slice(secret, start, secret.length));
    }

    /** Asks the issuer's directory where tokens are signed. */
    private static String address(Campaign campaign, Delivery delivery) {
        String issuer = campaign.getAdmission().getIssuer();
        Map<String, Object> found = Delivery.readObject(delivery.exchange(
                issuer + DIRECTORY, new LinkedHashMap<String, String>(), new byte[0], MAX_DIRECTORY));
        if (!offers(found.get("token-keys"), Octets.base64(campaign.getAdmission().key))) {
            throw new DeliveryException("the issuer does not offer the campaign's key");
        }
        String address = "";
        try {
            URI given = new URI(String.valueOf(found.get("issuer-request-uri")));
            address = new URI(issuer + DIRECTORY).resolve(given).toString();
        } catch (URISyntaxException error) {
            // refused below
        }
        if (!address.startsWith(issuer + "/") || !address.matches("[!-~]+")) {
            throw new DeliveryException("the issuer signs at another host");
        }
        return address;
    }

    private static boolean offers(Object keys, String wanted) {
        if (keys instanceof List) {
            for (Object each : (List<?>) keys) {
                if (each instanceof Map && wanted.equals(((Map<?, ?>) each).get("token-key"))) {
                    return true;
                }
            }
        }
        return false;
    }
}
