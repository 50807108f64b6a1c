package noutput.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs all checks of this folder: java noutput.client.Checks VECTORS FOLDER; prints one line each. */
final class Checks {
    static Path vectors;
    static Path folder;
    private static final Map<String, Check> ALL = new LinkedHashMap<>();

    interface Check {
        void run() throws Exception;
    }

    private Checks() {}

    public static void main(String[] arguments) {
        vectors = Paths.get(arguments[0]);
        folder = Paths.get(arguments[1]);
        TableChecks.list();
        VectorChecks.list();
        TokenChecks.list();
        ClientChecks.list();
        WaveChecks.list();
        StrataChecks.list();
        LedgerChecks.list();
        DeliveryChecks.list();
        ResendChecks.list();
        for (Map.Entry<String, Check> each : ALL.entrySet()) {
            try {
                each.getValue().run();
                System.out.println("ok " + each.getKey());
            } catch (Exception | AssertionError error) {
                System.out.println("FAILED " + each.getKey());
                error.printStackTrace();
            }
        }
    }

    static void add(String name, Check check) {
        ALL.put(name, check);
    }

    static Map<String, Object> read(String name) throws IOException {
        return Json.readObject(Files.readAllBytes(vectors.resolve(name + ".json")));
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> entries(Object value) {
        return (List<Map<String, Object>>) value;
    }

    static void equal(Object found, Object wanted, String what) {
        if (!String.valueOf(found).equals(String.valueOf(wanted))) {
            throw new AssertionError(what + ": found " + found + ", wanted " + wanted);
        }
    }

    static void isTrue(boolean holds, String what) {
        equal(holds, true, what);
    }

    /** The error that a step throws, of exactly this class. */
    static <E extends Exception> E refused(Class<E> kind, String what, Check step) {
        try {
            step.run();
        } catch (Exception error) {
            equal(error.getClass(), kind, what + " (" + error.getMessage() + ")");
            return kind.cast(error);
        }
        throw new AssertionError(what + " is not refused");
    }

    /** JSON text of what Json read. */
    static String json(Object value) {
        if (value instanceof Map) {
            StringBuilder found = new StringBuilder();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                String entry = json(each.getKey()) + ":" + json(each.getValue());
                found.append(found.length() == 0 ? "" : ",").append(entry);
            }
            return "{" + found + "}";
        }
        if (value instanceof List) {
            StringBuilder found = new StringBuilder();
            for (Object each : (List<?>) value) {
                found.append(found.length() == 0 ? "" : ",").append(json(each));
            }
            return "[" + found + "]";
        }
        if (value instanceof String) {
            StringBuilder found = new StringBuilder();
            for (char letter : ((String) value).toCharArray()) {
                found.append(String.format("\\u%04x", (int) letter));
            }
            return "\"" + found + "\"";
        }
        return String.valueOf(value);
    }
}
