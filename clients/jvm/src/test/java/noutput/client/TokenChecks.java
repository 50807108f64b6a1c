package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;

import java.math.BigInteger;
import java.security.SecureRandom;
import java.util.Map;

/** Tokens, the ids that spend them, and blind signatures: the shared vectors. */
final class TokenChecks {
    private TokenChecks() {}

    static void list() {
        add("tokens give the same ids", TokenChecks::ids);
        add("tokens of other campaigns are refused", TokenChecks::others);
        add("blind signatures are those of RFC 9474", TokenChecks::blind);
        add("tokens are those of RFC 9578", TokenChecks::privacyPass);
        add("factors are units", TokenChecks::factors);
    }

    private static void ids() throws Exception {
        for (Map<String, Object> each : entries(read("tokens").get("cases"))) {
            Campaign campaign = Campaign.read((String) each.get("campaign"));
            byte[] secret = Tokens.secret(campaign, (String) each.get("token"));
            int place = 0;
            for (Object id : (java.util.List<?>) each.get("ids")) {
                equal(Tokens.reportId(campaign, secret, place++), id, "the id");
            }
            equal(place, campaign.getQuestions().size(), "the number of ids");
        }
    }

    private static void others() throws Exception {
        java.util.List<Map<String, Object>> cases = entries(read("tokens").get("cases"));
        for (Map<String, Object> each : cases) {
            Campaign campaign = Campaign.read((String) each.get("campaign"));
            for (Map<String, Object> other : cases) {
                String token = (String) other.get("token");
                if (other != each) {
                    String message = refused(ValueException.class, "another token", () ->
                            Tokens.secret(campaign, token)).getMessage();
                    isTrue(!message.contains(token.substring(0, 8)), "no token in the message");
                }
            }
            for (String token : new String[] {"", "x", "=", new String(new char[24]).replace('\0', '+')}) {
                refused(ValueException.class, "no token", () -> Tokens.secret(campaign, token));
            }
        }
    }

    private static void blind() throws Exception {
        Map<String, Object> found = read("blind_rsa");
        BigInteger modulus = number(found, "p").multiply(number(found, "q"));
        byte[] message = Octets.unhex((String) found.get("msg"));
        byte[] salt = Octets.unhex((String) found.get("salt"));
        BigInteger factor = number(found, "inv").modInverse(modulus);
        equal(factor, new BigInteger((String) read("tokens").get("factor"), 16), "the factor");
        equal(BlindRsa.blind(message, modulus, salt, factor), number(found, "blinded_msg"), "blinded");
        BigInteger answer = number(found, "blind_sig");
        byte[] signature = BlindRsa.finish(message, answer, modulus, salt, factor);
        equal(Octets.hex(signature), found.get("sig"), "the signature");
        isTrue(BlindRsa.finish(message, answer.add(BigInteger.ONE), modulus, salt, factor) == null, "a bad one");
        isTrue(BlindRsa.finish(message, answer.add(modulus), modulus, salt, factor) == null, "a large one");
    }

    private static BigInteger number(Map<String, Object> found, String name) {
        return new BigInteger((String) found.get(name), 16);
    }

    private static void privacyPass() throws Exception {
        Map<String, Object> found = read("privacy_pass");
        String key = (String) found.get("public_key");
        BigInteger modulus = new BigInteger(key.substring(key.length() - 10 - 512, key.length() - 10), 16);
        for (Map<String, Object> each : entries(found.get("cases"))) {
            byte[] challenge = Octets.digest("SHA-256", Octets.unhex((String) each.get("token_challenge")));
            byte[] keyId = Octets.digest("SHA-256", Octets.unhex(key));
            byte[] nonce = Octets.unhex((String) each.get("nonce"));
            Octets form = new Octets().addByte(0).addByte(Tokens.TYPE).add(nonce).add(challenge);
            byte[] message = form.add(keyId).toBytes();
            byte[] salt = Octets.unhex((String) each.get("salt"));
            BigInteger factor = number(each, "blind");
            byte[] blinded = Octets.fixed(BlindRsa.blind(message, modulus, salt, factor), 256);
            isTrue(((String) each.get("token_request")).endsWith(Octets.hex(blinded)), "the request");
            byte[] signature = BlindRsa.finish(
                    message, number(each, "token_response"), modulus, salt, factor);
            equal(Octets.hex(message) + Octets.hex(signature), each.get("token"), "the token");
        }
    }

    private static void factors() {
        BigInteger modulus = BigInteger.valueOf(35);
        for (int i = 0; i < 100; i++) {
            BigInteger factor = BlindRsa.drawFactor(modulus, new SecureRandom());
            isTrue(factor.gcd(modulus).equals(BigInteger.ONE) && factor.compareTo(modulus) < 0, "a unit");
        }
        byte[] salt = new byte[BlindRsa.SALT_BYTES];
        BigInteger encoded = Tokens.number(BlindRsa.encode(new byte[] {1}, 2047, salt));
        BigInteger bad = encoded.setBit(2047).subtract(encoded.setBit(2047).mod(encoded));
        bad = bad.bitLength() == 2048 ? bad : bad.add(encoded);
        BigInteger shared = bad; // a multiple of the message
        refused(DocumentException.class, "a key with a factor of the message", () ->
                BlindRsa.blind(new byte[] {1}, shared, salt, BigInteger.ONE));
    }
}
