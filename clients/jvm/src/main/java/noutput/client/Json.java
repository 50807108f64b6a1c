package noutput.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Strict JSON reader: UTF-8, no repeated keys, finite numbers, bounded size and depth.
 *
 * <p>A whole number without point and exponent that fits is a Long, any other number a Double: so
 * whoever wants a whole number sees how it was written. Objects are maps in the order of the text.
 */
final class Json {
    static final int MAX_LENGTH = 1 << 24;
    private static final int MAX_DEPTH = 64;

    private final String text;
    private int place;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Reads an object from bytes of UTF-8. */
    static Map<String, Object> readObject(byte[] data) {
        if (data.length > MAX_LENGTH) {
            throw new DocumentException("the document has more than " + MAX_LENGTH + " bytes");
        }
        return readObject(decode(data));
    }

    /** Reads an object from text. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> readObject(String text) {
        if (text.length() > MAX_LENGTH) {
            throw new DocumentException("the document has more than " + MAX_LENGTH + " characters");
        }
        Object found = new Json(text).document();
        if (!(found instanceof Map)) {
            throw new DocumentException("the document is not a JSON object");
        }
        return (Map<String, Object>) found;
    }

    private static String decode(byte[] data) {
        try {
            return Octets.UTF_8.newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(data))
                    .toString();
        } catch (CharacterCodingException error) {
            throw new DocumentException("the document is not UTF-8");
        }
    }

    private Object document() {
        Object found = value();
        space();
        if (place < text.length()) {
            throw wrong();
        }
        return found;
    }

    private Object value() {
        space();
        char first = place < text.length() ? text.charAt(place) : 0;
        switch (first) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        if (begins('}')) {
            return found;
        }
        do {
            space();
            String key = string();
            space();
            expect(':');
            Object entry = value();
            if (found.containsKey(key)) {
                throw new DocumentException("the document has a key twice");
            }
            found.put(key, entry);
        } while (goesOn('}'));
        return found;
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        if (begins(']')) {
            return found;
        }
        do {
            found.add(value());
        } while (goesOn(']'));
        return found;
    }

    /** Passes the opening bracket, and says whether the closing one follows. */
    private boolean begins(char end) {
        place++;
        if (++depth > MAX_DEPTH) {
            throw new DocumentException("the document has more than " + MAX_DEPTH + " levels");
        }
        space();
        boolean isEmpty = place < text.length() && text.charAt(place) == end;
        if (isEmpty) {
            place++;
            depth--;
        }
        return isEmpty;
    }

    private boolean goesOn(char end) {
        space();
        if (place < text.length() && text.charAt(place) == ',') {
            place++;
            return true;
        }
        expect(end);
        depth--;
        return false;
    }

    private String string() {
        expect('"');
        StringBuilder found = new StringBuilder();
        while (true) {
            char next = next();
            if (next == '"') {
                return found.toString();
            }
            if (next < ' ') {
                throw wrong();
            }
            found.append(next == '\\' ? escaped() : next);
        }
    }

    private char escaped() {
        char letter = next();
        int known = "\"\\/bfnrt".indexOf(letter);
        if (known >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(known);
        }
        if (letter != 'u') {
            throw wrong();
        }
        int code = 0;
        for (int i = 0; i < 4; i++) {
            char digit = next();
            int found = digit < 128 ? Character.digit(digit, 16) : -1;
            if (found < 0) {
                throw wrong();
            }
            code = 16 * code + found;
        }
        return (char) code;
    }

    private Object number() {
        int start = place;
        skip('-');
        if (!skip('0')) {
            digits();
        }
        boolean isWhole = true;
        if (skip('.')) {
            isWhole = false;
            digits();
        }
        if (skip('e') || skip('E')) {
            isWhole = false;
            if (!skip('-')) {
                skip('+');
            }
            digits();
        }
        String found = text.substring(start, place);
        if (isWhole && found.length() <= 18) {
            return Long.valueOf(found);
        }
        double number = Double.parseDouble(found);
        if (Double.isInfinite(number)) {
            throw new DocumentException("the document has a number that is not finite");
        }
        return number;
    }

    private void digits() {
        int start = place;
        while (place < text.length() && text.charAt(place) >= '0' && text.charAt(place) <= '9') {
            place++;
        }
        if (place == start) {
            throw wrong();
        }
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, place)) {
            throw wrong();
        }
        place += word.length();
        return meaning;
    }

    private void space() {
        while (place < text.length() && " \t\n\r".indexOf(text.charAt(place)) >= 0) {
            place++;
        }
    }

    private boolean skip(char wanted) {
        boolean isThere = place < text.length() && text.charAt(place) == wanted;
        if (isThere) {
            place++;
        }
        return isThere;
    }

    private void expect(char wanted) {
        if (!skip(wanted)) {
            throw wrong();
        }
    }

    private char next() {
        if (place >= text.length()) {
            throw wrong();
        }
        return text.charAt(place++);
    }

    private DocumentException wrong() {
        return new DocumentException("the document is not JSON at character " + place);
    }
}
