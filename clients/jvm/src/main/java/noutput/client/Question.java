package noutput.client;

/**
 * What is asked: a {@link NumberQuestion}, or an {@link AnswersQuestion} with 2 to 64 answers.
 *
 * <pre>{@code
 * for (Question question : campaign.getQuestions()) {
 *     show(question.getTitle(), question.getText());
 * }
 * }</pre>
 */
public abstract class Question {
    private final String kind;
    private final String name;
    private final String label;
    private final String text;

    Question(Part part, String kind) {
        this.kind = kind;
        name = part.match("name", Campaign.NAME, "be a letter a-z and at most 63 of a-z, 0-9 and _");
        label = part.has("label") ? part.text("label", 1, 200) : "";
        text = part.has("text") ? part.text("text", 1, 1000) : "";
    }

    /** The same question, for one that differs in what only its kind has. */
    Question(Question other) {
        kind = other.kind;
        name = other.name;
        label = other.label;
        text = other.text;
    }

    /** "number", "scale", "choice" or "yes/no". */
    public final String getKind() {
        return kind;
    }

    /** What programs call it. */
    public final String getName() {
        return name;
    }

    /** The question as people read it; may be empty. */
    public final String getText() {
        return text;
    }

    /** What to call the question in a heading: its label, or its name. */
    public final String getTitle() {
        return label.isEmpty() ? name.replace('_', ' ') : label;
    }

    /**
     * What the question's table draws from: a number within the bounds, or the index of an answer.
     *
     * @throws ValueException if the value is no answer; the message never repeats it
     */
    abstract double encode(Object value);

    /** Refuses a table that is not for this question. */
    abstract void checkTable(String tableName, Table table);

    abstract String[] objectives();

    final ValueException wrongValue(String rule) {
        return new ValueException("the value of " + name + " must be " + rule);
    }

    @Override
    public final String toString() {
        return kind + " " + name;
    }
}
