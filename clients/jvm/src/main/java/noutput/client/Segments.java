package noutput.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Public labels that reports of a campaign may carry: names with a closed list of labels each.
 *
 * <p>Labels are <b>not protected</b>: whoever sees a report sees them. A client tells those that
 * the person's {@link Policy} names, and no others.
 */
public final class Segments {
    private static final int MAX_NAMES = 8;
    private static final int MAX_COMBINATIONS = 1000;
    private static final int LABEL_BYTES = 64;
    private static final long LEAST = 100;
    private static final long MOST = 1_000_000_000_000L;
    private static final Pattern MARKS = Pattern.compile("[\"\\\\\\[\\]{}]");

    static final Segments NONE = new Segments(Collections.<String, List<String>>emptyMap(), LEAST);

    private final Map<String, List<String>> names;
    private final long minimum;

    private Segments(Map<String, List<String>> names, long minimum) {
        this.names = Collections.unmodifiableMap(names);
        this.minimum = minimum;
    }

    /** Reads what a campaign's document says: an empty object where reports have no labels. */
    static Segments read(Object value) {
        Part part = Part.of("segments", value);
        if (((Map<?, ?>) value).isEmpty()) {
            return NONE;
        }
        part.checkKeys(new String[] {"names", "minimum"});
        Map<String, List<String>> names = new LinkedHashMap<>();
        int combinations = 1;
        for (Object each : part.list("names", 1, MAX_NAMES)) {
            Part entry = Part.of("segments.names[" + names.size() + "]", each);
            entry.checkKeys(new String[] {"name", "labels"});
            String name = entry.match("name", Campaign.NAME, "be a name");
            List<String> labels = readLabels(entry);
            if (names.put(name, labels) != null) {
                throw part.wrong("names", "have different names");
            }
            combinations *= labels.size() + 1;
            if (combinations > MAX_COMBINATIONS) {
                throw part.wrong("names", "have at most " + MAX_COMBINATIONS + " combinations");
            }
        }
        return new Segments(names, part.whole("minimum", LEAST, MOST));
    }

    private static List<String> readLabels(Part entry) {
        List<String> found = new ArrayList<>();
        for (Object each : entry.list("labels", 2, MAX_COMBINATIONS)) {
            String label = Part.checkText("labels", each, 1, LABEL_BYTES);
            if (MARKS.matcher(label).find() || found.contains(label)) {
                throw Part.wrong("labels",
                        "differ, and have no quotes, backslashes, brackets and braces", label);
            }
            found.add(label);
        }
        return Collections.unmodifiableList(found);
    }

    /** The labels of every name, in their order; empty where reports have no labels. */
    public Map<String, List<String>> getNames() {
        return names;
    }

    /** How many reports a combination of labels has before it is shown. */
    public long getMinimum() {
        return minimum;
    }

    /** The labels that may leave, in the campaign's order, after all of them are checked. */
    Map<String, String> told(Map<?, ?> labels, Collection<String> allowed) {
        for (Map.Entry<?, ?> each : labels.entrySet()) {
            List<String> known = names.get(String.valueOf(each.getKey()));
            if (known == null) {
                throw new ValueException("the labels must have names of " + names.keySet());
            }
            if (!known.contains(String.valueOf(each.getValue()))) {
                throw new ValueException("the label of " + each.getKey() + " must be one of " + known);
            }
        }
        Map<String, String> found = new LinkedHashMap<>();
        for (String name : names.keySet()) {
            if (labels.containsKey(name) && allowed.contains(name)) {
                found.put(name, String.valueOf(labels.get(name)));
            }
        }
        return Collections.unmodifiableMap(found);
    }

    /** What people are told before a label leaves their device; empty where none does. */
    String notice() {
        if (names.isEmpty()) {
            return "";
        }
        String all = names.keySet().toString();
        return "Reports may carry public labels: " + all.substring(1, all.length() - 1)
                + ". Labels are not protected: the collector sees them. Only those that you allow "
                + "leave this device.";
    }

    @Override
    public String toString() {
        return names.toString();
    }
}
