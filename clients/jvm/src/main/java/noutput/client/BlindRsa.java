package noutput.client;

import java.math.BigInteger;
import java.security.SecureRandom;

/**
 * Blind RSA signatures, the person's side: RSABSSA-SHA384-PSS-Deterministic of RFC 9474.
 *
 * <p>BigInteger's arithmetic takes a time that depends on its numbers. The person blinds once per
 * campaign, with numbers that are drawn anew, on a device of their own.
 */
final class BlindRsa {
    static final int SALT_BYTES = 48;
    private static final BigInteger EXPONENT = BigInteger.valueOf(65537);
    private static final int HASH_BYTES = 48;

    private BlindRsa() {}

    /** A random blinding factor: a unit of the ring. */
    static BigInteger drawFactor(BigInteger modulus, SecureRandom random) {
        while (true) {
            BigInteger factor = new BigInteger(modulus.bitLength(), random);
            boolean isUnit = factor.compareTo(modulus) < 0 && isCoprime(factor, modulus);
            if (isUnit) {
                return factor;
            }
        }
    }

    /** What the signer gets to see: for every message, any number is equally likely. */
    static BigInteger blind(byte[] message, BigInteger modulus, byte[] salt, BigInteger factor) {
        BigInteger encoded = Tokens.number(encode(message, modulus.bitLength() - 1, salt));
        if (!isCoprime(encoded, modulus)) { // the factor would be one of what the signer sees
            throw new DocumentException("the campaign's key is no product of two large primes");
        }
        return encoded.multiply(factor.modPow(EXPONENT, modulus)).mod(modulus);
    }

    /** The signature of the message, or null where the signer has not made one. */
    static byte[] finish(
            byte[] message, BigInteger answer, BigInteger modulus, byte[] salt, BigInteger factor) {
        BigInteger signature = answer.multiply(factor.modInverse(modulus)).mod(modulus);
        BigInteger wanted = Tokens.number(encode(message, modulus.bitLength() - 1, salt));
        boolean isGood = answer.compareTo(modulus) < 0
                && signature.modPow(EXPONENT, modulus).equals(wanted);
        return isGood ? Octets.fixed(signature, (modulus.bitLength() + 7) / 8) : null;
    }

    private static boolean isCoprime(BigInteger one, BigInteger other) {
        return one.gcd(other).equals(BigInteger.ONE);
    }

    /** EMSA-PSS-ENCODE of RFC 8017 with SHA-384, for a result of at most so many bits. */
    static byte[] encode(byte[] message, int bits, byte[] salt) {
        int size = (bits + 7) / 8;
        Octets form = new Octets().add(new byte[8]).add(sha384(message)).add(salt);
        byte[] hash = sha384(form.toBytes());
        byte[] data = new byte[size - HASH_BYTES - 1];
        data[data.length - salt.length - 1] = 1;
        System.arraycopy(salt, 0, data, data.length - salt.length, salt.length);
        for (int block = 0; block * HASH_BYTES < data.length; block++) { // MGF1
            byte[] counter = {0, 0, 0, (byte) block};
            byte[] mask = sha384(new Octets().add(hash).add(counter).toBytes());
            for (int i = 0; i < HASH_BYTES && block * HASH_BYTES + i < data.length; i++) {
                data[block * HASH_BYTES + i] ^= mask[i];
            }
        }
        data[0] &= 0xFF >> (8 * size - bits);
        return new Octets().add(data).add(hash).addByte(0xBC).toBytes();
    }

    private static byte[] sha384(byte[] bytes) {
        return Octets.digest("SHA-384", bytes);
    }
}
