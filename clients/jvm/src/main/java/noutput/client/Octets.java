package noutput.client;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.Charset;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Bytes in the forms that documents and tokens have: little-endian numbers, hex, base64url. */
final class Octets {
    static final Charset UTF_8 = Charset.forName("UTF-8");
    private static final String DIGITS = "0123456789abcdef";
    private static final String LETTERS =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    private final ByteArrayOutputStream data = new ByteArrayOutputStream();

    Octets add(byte[] bytes) {
        data.write(bytes, 0, bytes.length);
        return this;
    }

    Octets add(String text) {
        return add(text.getBytes(UTF_8));
    }

    /** Adds the lowest byte of a number. */
    Octets addByte(int value) {
        data.write(value);
        return this;
    }

    /** Adds the lowest 32 bits of a number, little-endian. */
    Octets addWord(long value) {
        for (int shift = 0; shift < 32; shift += 8) {
            data.write((int) (value >>> shift));
        }
        return this;
    }

    /** Adds a float64, little-endian; a negative zero as zero. */
    Octets addDouble(double value) {
        long bits = Double.doubleToLongBits(value + 0.0);
        return addWord(bits).addWord(bits >>> 32);
    }

    /** Adds a text: its number of bytes, and its UTF-8. */
    Octets addText(String text) {
        byte[] bytes = text.getBytes(UTF_8);
        return addWord(bytes.length).add(bytes);
    }

    byte[] toBytes() {
        return data.toByteArray();
    }

    byte[] sha256() {
        return digest("SHA-256", toBytes());
    }

    static byte[] digest(String name, byte[] bytes) {
        try {
            return MessageDigest.getInstance(name).digest(bytes);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("the platform lacks " + name, error);
        }
    }

    static String hex(byte[] bytes) {
        StringBuilder found = new StringBuilder(2 * bytes.length);
        for (byte each : bytes) {
            found.append(DIGITS.charAt(each >> 4 & 15)).append(DIGITS.charAt(each & 15));
        }
        return found.toString();
    }

    /** The bytes of an even number of lower-case hexadecimal digits. */
    static byte[] unhex(String text) {
        byte[] found = new byte[text.length() / 2];
        for (int i = 0; i < found.length; i++) {
            int high = DIGITS.indexOf(text.charAt(2 * i));
            found[i] = (byte) (high << 4 | DIGITS.indexOf(text.charAt(2 * i + 1)));
        }
        return found;
    }

    /** base64url of a number of bytes that is a multiple of 3, which needs no padding. */
    static String base64(byte[] bytes) {
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < bytes.length; i += 3) {
            int word = (bytes[i] & 255) << 16 | (bytes[i + 1] & 255) << 8 | bytes[i + 2] & 255;
            for (int shift = 18; shift >= 0; shift -= 6) {
                found.append(LETTERS.charAt(word >> shift & 63));
            }
        }
        return found.toString();
    }

    /** Whether a text is so many characters of base64url. */
    static boolean isBase64(String text, int length) {
        boolean isGood = text.length() == length;
        for (int i = 0; isGood && i < length; i++) {
            isGood = LETTERS.indexOf(text.charAt(i)) >= 0;
        }
        return isGood;
    }

    /** The bytes of base64url whose number of characters is a multiple of 4. */
    static byte[] unbase64(String text) {
        Octets found = new Octets();
        for (int i = 0; i < text.length(); i += 4) {
            int word = 0;
            for (int j = i; j < i + 4; j++) {
                word = word << 6 | LETTERS.indexOf(text.charAt(j));
            }
            found.addByte(word >> 16).addByte(word >> 8).addByte(word);
        }
        return found.toBytes();
    }

    /** A number that is not negative as so many bytes, big-endian. */
    static byte[] fixed(BigInteger value, int size) {
        byte[] found = new byte[size];
        byte[] all = value.toByteArray(); // perhaps with a zero for the sign
        int count = Math.min(size, all.length);
        System.arraycopy(all, all.length - count, found, size - count, count);
        return found;
    }

    static byte[] slice(byte[] bytes, int start, int end) {
        byte[] found = new byte[end - start];
        System.arraycopy(bytes, start, found, 0, end - start);
        return found;
    }
}
