package noutput.client;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** One object of a document, read with suspicion: every value is checked when it is taken. */
final class Part {
    static final String NEWER = ": the document needs a newer version of noutput";
    static final double LARGEST = 1e100; // of numbers whose squares, and sums of them, are finite
    private static final int MOST_SHOWN = 60;
    private static final long VERSION = 1; // of documents and tables
    /**
     * Control, invisible and direction-changing characters, and halves of surrogate pairs, as
     * docs/wire.md lists them; joiners are for scripts that spell with them.
     */
    private static final Pattern HIDDEN = Pattern.compile(
            "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
            + "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\x{d800}-\\x{dfff}"
            + "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\x{13430}-\\x{1343f}"
            + "\\x{1bca0}-\\x{1bca3}\\x{1d173}-\\x{1d17a}\\x{e0000}-\\x{e0fff}]"
            + "|(?:^|[^\\u0600-\\u0dff])[\\u200c\\u200d]");

    private final String path;
    private final Map<?, ?> content;

    private Part(String path, Map<?, ?> content) {
        this.path = path;
        this.content = content;
    }

    static Part of(String path, Object value) {
        if (!(value instanceof Map)) {
            throw wrong(path, "be a JSON object", value);
        }
        return new Part(path, (Map<?, ?>) value);
    }

    static DocumentException wrong(String name, String rule, Object found) {
        return new DocumentException(name + " must " + rule + "; found " + shown(found));
    }

    DocumentException wrong(String key, String rule) {
        return wrong(name(key), rule, get(key));
    }

    String name(String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    Object get(String key) {
        return content.get(key);
    }

    boolean has(String key) {
        return content.containsKey(key);
    }

    /** Refuses another format, and another version of it. */
    void checkFormat(String name) {
        oneOf("format", name);
        if (!Long.valueOf(VERSION).equals(get("version"))) {
            throw wrong("version", "be " + VERSION + NEWER);
        }
    }

    /** Refuses unknown keys, and missing ones; an optional key is absent, or has a value. */
    void checkKeys(String[] needed, String... optional) {
        Set<String> known = new HashSet<>(Arrays.asList(needed));
        known.addAll(Arrays.asList(optional));
        for (Object key : content.keySet()) {
            if (!known.contains(key)) {
                String name = name((String) key);
                throw wrong("key " + shown(name), "be absent" + NEWER, content.get(key));
            }
        }
        for (String key : needed) {
            if (!content.containsKey(key)) {
                throw new DocumentException(name(key) + " must be given");
            }
        }
    }

    /** A text of `low` to `high` bytes of UTF-8, every character of which can be seen. */
    String text(String key, int low, int high) {
        return checkText(name(key), get(key), low, high);
    }

    static String checkText(String name, Object value, int low, int high) {
        boolean isSeen = value instanceof String && !HIDDEN.matcher((String) value).find();
        int size = isSeen ? ((String) value).getBytes(Octets.UTF_8).length : -1;
        if (size < low || size > high) {
            String rule = "be text of " + low + " to " + high + " bytes without control characters,"
                    + " invisible ones, and those that change direction";
            throw wrong(name, rule, value);
        }
        return (String) value;
    }

    String match(String key, Pattern pattern, String rule) {
        Object found = get(key);
        if (!(found instanceof String) || !pattern.matcher((String) found).matches()) {
            throw wrong(key, rule);
        }
        return (String) found;
    }

    String oneOf(String key, String... known) {
        return oneOf(name(key), get(key), known);
    }

    static String oneOf(String name, Object value, String... known) {
        if (!(value instanceof String) || !Arrays.asList(known).contains(value)) {
            throw wrong(name, "be one of " + Arrays.toString(known) + ", else" + NEWER, value);
        }
        return (String) value;
    }

    boolean truth(String key) {
        if (!(get(key) instanceof Boolean)) {
            throw wrong(key, "be true or false");
        }
        return (Boolean) get(key);
    }

    /** A number, whatever its spelling, without a negative zero. */
    double number(String key) {
        return number(name(key), get(key));
    }

    static double number(String name, Object value) {
        if (!(value instanceof Number)) {
            throw wrong(name, "be a number", value);
        }
        return ((Number) value).doubleValue() + 0.0;
    }

    double positive(String key) {
        double found = number(key);
        if (!(found > 0.0)) {
            throw wrong(key, "be above 0");
        }
        return found;
    }

    /** A whole number, written without point and exponent. */
    long whole(String key, long low, long high) {
        return whole(name(key), get(key), low, high);
    }

    static long whole(String name, Object value, long low, long high) {
        if (!(value instanceof Long) || (Long) value < low || (Long) value > high) {
            throw wrong(name, "be a whole number from " + low + " to " + high, value);
        }
        return (Long) value;
    }

    List<?> list(String key, int low, int high) {
        return list(name(key), get(key), low, high);
    }

    static List<?> list(String name, Object value, int low, int high) {
        int size = value instanceof List ? ((List<?>) value).size() : -1;
        if (size < low || size > high) {
            throw wrong(name, "be a list of " + low + " to " + high + " entries", value);
        }
        return (List<?>) value;
    }

    /** Numbers that increase and whose squares are finite. */
    double[] increasing(String key, int low, int high) {
        double[] found = numbers(name(key), get(key), low, high);
        for (int i = 0; i < found.length; i++) {
            if (Math.abs(found[i]) > LARGEST || i > 0 && !(found[i] > found[i - 1])) {
                throw wrong(name(key) + "[" + i + "]",
                        "increase, and lie between -1e100 and 1e100", found[i]);
            }
        }
        return found;
    }

    static double[] numbers(String name, Object value, int low, int high) {
        List<?> entries = list(name, value, low, high);
        double[] found = new double[entries.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = number(name + "[" + i + "]", entries.get(i));
        }
        return found;
    }

    /** A value of a document in a few printable characters. */
    private static String shown(Object value) {
        if (value instanceof List) {
            return "a list of " + ((List<?>) value).size();
        }
        if (value instanceof Map) {
            return "an object of " + ((Map<?, ?>) value).size();
        }
        return printable(String.valueOf(value), MOST_SHOWN);
    }

    /** What a stranger wrote, without anything that a terminal would obey. */
    static String printable(String text, int most) {
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < text.length() && i < most; i++) {
            char letter = text.charAt(i);
            if (letter >= ' ' && letter < 0x7F || letter >= 0xA0 && !Character.isSurrogate(letter)
                    && Character.getType(letter) != Character.FORMAT
                    && Character.getType(letter) != Character.LINE_SEPARATOR
                    && Character.getType(letter) != Character.PARAGRAPH_SEPARATOR) {
                found.append(letter);
            }
        }
        return found.toString();
    }
}
