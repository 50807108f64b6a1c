package noutput.client;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;

/**
 * A question with 2 to 64 answers: a {@link ScaleQuestion}, {@link ChoiceQuestion} or
 * {@link YesNoQuestion}.
 *
 * <p>An answer is given by itself or by its label.
 */
public abstract class AnswersQuestion extends Question {
    static final int MAX_ANSWERS = 64;
    private final List<String> labels;

    AnswersQuestion(Part part, String kind, List<String> labels) {
        super(part, kind);
        this.labels = Collections.unmodifiableList(new ArrayList<>(labels));
    }

    /** The answers as people read them, in their order: what to write on buttons. */
    public final List<String> getLabels() {
        return labels;
    }

    /** The place of an answer that is not given by its label, or -1. */
    abstract int find(Object value);

    @Override
    final double encode(Object value) {
        int place = value instanceof String ? labels.indexOf(value) : find(value);
        if (place < 0) {
            throw wrongValue("one of " + labels);
        }
        return place;
    }

    @Override
    final boolean fits(Table table) {
        return !table.isForNumbers() && table.countRows() == labels.size();
    }

    @Override
    final String[] objectives() {
        return new String[] {"cdf", "shares", "mean", "balanced"};
    }

    /** Different texts of 1 to 200 bytes. */
    static List<String> readTexts(Part part) {
        List<String> found = new ArrayList<>();
        for (Object each : part.list("answers", 2, MAX_ANSWERS)) {
            found.add(Part.checkText("an answer", each, 1, 200));
        }
        if (new HashSet<>(found).size() < found.size()) {
            throw part.wrong("answers", "differ from each other");
        }
        return found;
    }

    /** Whether a number of any type is exactly this double. */
    static boolean isSame(Object value, double answer) {
        if (!NumberQuestion.isNumber(value)) {
            return false;
        }
        if (value instanceof Double || value instanceof Float) {
            return ((Number) value).doubleValue() == answer;
        }
        BigDecimal found = value instanceof BigDecimal
                ? (BigDecimal) value : new BigDecimal(value.toString());
        return found.compareTo(new BigDecimal(answer)) == 0;
    }
}
