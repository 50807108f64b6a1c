package noutput.client;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;

/**
 * A question with 2 to 64 answers: a scale, whose answers have an order, such as stars or age
 * groups; a choice, whose answers have none; or yes/no.
 *
 * <p>An answer is given by itself or by its label; those of yes/no also as true and false, 1 and 0.
 */
public final class AnswersQuestion extends Question {
    static final int MAX_ANSWERS = 64;
    private final List<String> labels;
    private final double[] numbers; // the answers themselves; none where they are texts

    AnswersQuestion(Part part, String kind) {
        super(part, kind);
        List<String> found = new ArrayList<>();
        if (kind.equals("yes/no")) {
            numbers = new double[] {0.0, 1.0};
            found.addAll(Arrays.asList("no", "yes"));
        } else if (kind.equals("choice")
                || part.list("answers", 2, MAX_ANSWERS).get(0) instanceof String) {
            numbers = new double[0];
            found.addAll(readTexts(part));
            if (part.has("scores")) {
                part.increasing("scores", found.size(), found.size());
            }
        } else {
            numbers = part.increasing("answers", 2, MAX_ANSWERS);
            for (double number : numbers) {
                found.add(Decimal.shortest(number));
            }
            if (part.has("scores")) {
                throw part.wrong("scores", "be given for answers that are texts only");
            }
        }
        labels = Collections.unmodifiableList(found);
    }

    /** The answers as people read them, in their order: what to write on buttons. */
    public List<String> getLabels() {
        return labels;
    }

    @Override
    double encode(Object value) {
        int index = labels.size() - 1;
        while (index >= 0 && !isAnswer(value, index)) {
            index--;
        }
        if (index < 0) {
            throw wrongValue("one of " + labels);
        }
        return index;
    }

    private boolean isAnswer(Object value, int index) {
        if (value instanceof Boolean) {
            return getKind().equals("yes/no") && (Boolean) value == (index == 1);
        }
        return labels.get(index).equals(value)
                || index < numbers.length && isSame(value, numbers[index]);
    }

    @Override
    void checkTable(String tableName, Table table) {
        if (!table.isForAnswers(labels.size())) {
            String rule = "have one axis of " + labels.size() + " rows, the answers of " + getName();
            throw Part.wrong(tableName, rule, table);
        }
    }

    @Override
    String[] objectives() {
        return new String[] {"cdf", "shares", "mean", "balanced"};
    }

    /** Different texts of 1 to 200 bytes. */
    private static List<String> readTexts(Part part) {
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
    private static boolean isSame(Object value, double answer) {
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
