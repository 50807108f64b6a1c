package noutput.client;

/** A question with answers that have no order, such as train, car and other. */
public final class ChoiceQuestion extends AnswersQuestion {
    ChoiceQuestion(Part part) {
        super(part, "choice", readTexts(part));
    }

    @Override
    int find(Object value) {
        return -1; // its answers are texts, and their own labels
    }
}
