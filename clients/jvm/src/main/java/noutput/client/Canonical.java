package noutput.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Canonical form of a JSON value: the bytes that fingerprints are taken of (docs/wire.md). */
final class Canonical {
    private Canonical() {}

    static byte[] of(Object value) {
        Octets found = new Octets();
        write(value, found);
        return found.toBytes();
    }

    private static void write(Object value, Octets to) {
        if (value == null) {
            to.addByte('n');
        } else if (value instanceof Boolean) {
            to.addByte((Boolean) value ? 't' : 'f');
        } else if (value instanceof Number) {
            to.addByte('d').addDouble(((Number) value).doubleValue());
        } else if (value instanceof String) {
            to.addByte('s').addText((String) value);
        } else if (value instanceof List) {
            List<?> entries = (List<?>) value;
            to.addByte('l').addWord(entries.size());
            for (Object each : entries) {
                write(each, to);
            }
        } else {
            Map<?, ?> entries = (Map<?, ?>) value;
            List<String> keys = new ArrayList<>();
            for (Object each : entries.keySet()) {
                keys.add((String) each);
            }
            Collections.sort(keys, Canonical::compare);
            to.addByte('o').addWord(keys.size());
            for (String key : keys) {
                to.addByte('s').addText(key);
                write(entries.get(key), to);
            }
        }
    }

    /** The order of UTF-8, which is not that of Java's strings beyond 16 bits. */
    private static int compare(String one, String other) {
        byte[] a = one.getBytes(Octets.UTF_8);
        byte[] b = other.getBytes(Octets.UTF_8);
        for (int i = 0; i < a.length && i < b.length; i++) {
            if (a[i] != b[i]) {
                return (a[i] & 255) - (b[i] & 255);
            }
        }
        return a.length - b.length;
    }
}
