package noutput.client;

import java.util.ArrayList;
import java.util.List;

/** A question with ordered answers: numbers such as stars, or texts such as age groups. */
public final class ScaleQuestion extends AnswersQuestion {
    private final double[] numbers; // none where answers are texts

    static ScaleQuestion read(Part part) {
        List<?> answers = part.list("answers", 2, MAX_ANSWERS);
        if (answers.get(0) instanceof String) {
            if (part.has("scores")) {
                part.increasing("scores", answers.size(), answers.size());
            }
            return new ScaleQuestion(part, readTexts(part), new double[0]);
        }
        if (part.has("scores")) {
            throw part.wrong("scores", "be given for answers that are texts only");
        }
        double[] numbers = part.increasing("answers", 2, MAX_ANSWERS);
        List<String> labels = new ArrayList<>();
        for (double each : numbers) {
            labels.add(Decimal.shortest(each));
        }
        return new ScaleQuestion(part, labels, numbers);
    }

    private ScaleQuestion(Part part, List<String> labels, double[] numbers) {
        super(part, "scale", labels);
        this.numbers = numbers;
    }

    @Override
    int find(Object value) {
        for (int place = 0; place < numbers.length; place++) {
            if (isSame(value, numbers[place])) {
                return place;
            }
        }
        return -1;
    }
}
