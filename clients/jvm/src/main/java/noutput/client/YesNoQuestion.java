package noutput.client;

import java.util.Arrays;

/** A question with the answers no and yes: false and true, 0 and 1, or the texts themselves. */
public final class YesNoQuestion extends AnswersQuestion {
    YesNoQuestion(Part part) {
        super(part, "yes/no", Arrays.asList("no", "yes"));
    }

    @Override
    int find(Object value) {
        if (value instanceof Boolean) {
            return (Boolean) value ? 1 : 0;
        }
        return isSame(value, 0.0) ? 0 : isSame(value, 1.0) ? 1 : -1;
    }
}
