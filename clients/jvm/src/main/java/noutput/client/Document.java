package noutput.client;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Campaign document: questions of all kinds, each with its table. */
final class Document {
    private static final String[] KEYS = {
        "format", "version", "id", "title", "text", "public", "opens", "closes", "ask", "questions",
        "waves", "tables", "segments", "schedule", "admission", "fingerprint"
    };
    private static final String[] LISTED = {"kind", "name", "answers"};
    private static final String[] COMMON = {"label", "text", "epsilon"};

    private Document() {}

    static Campaign read(Map<String, Object> document) {
        Part part = Part.of("", document);
        part.checkFormat("noutput-campaign");
        part.checkKeys(KEYS);
        List<?> entries = part.list("questions", 1, Campaign.MAX_QUESTIONS);
        List<Question> questions = new ArrayList<>();
        for (int i = 0; i < entries.size(); i++) {
            questions.add(readQuestion(Part.of("questions[" + i + "]", entries.get(i))));
        }
        Waves waves = Waves.read(part, document, questions, readTables(part));
        checkLosses(entries, waves.getTables());
        return new Campaign(part, questions, waves);
    }

    private static Question readQuestion(Part part) {
        String kind = part.oneOf("kind", "number", "scale", "choice", "yes/no");
        switch (kind) {
            case "number":
                part.checkKeys(new String[] {"kind", "name", "lower", "upper", "unit"},
                        "label", "text", "epsilon", "edges");
                return new NumberQuestion(part);
            case "scale":
                part.checkKeys(LISTED, "label", "text", "epsilon", "scores");
                break;
            case "choice":
                part.checkKeys(LISTED, COMMON);
                break;
            default:
                part.checkKeys(new String[] {"kind", "name"}, COMMON);
        }
        return new AnswersQuestion(part, kind);
    }

    /** A question's own epsilon is that of its table. */
    private static void checkLosses(List<?> questions, List<Table> tables) {
        for (int i = 0; i < tables.size(); i++) {
            Part own = Part.of("questions[" + i + "]", questions.get(i));
            double epsilon = tables.get(i).epsilon;
            if (own.has("epsilon") && own.positive("epsilon") != epsilon) {
                throw own.wrong("epsilon", "be that of its table, " + epsilon);
            }
        }
    }

    private static List<Table> readTables(Part part) {
        List<Table> found = new ArrayList<>();
        Set<String> prints = new HashSet<>();
        int most = Campaign.MAX_QUESTIONS * Waves.list(part).size();
        for (Object each : part.list("tables", 1, most)) {
            Table table = Table.read("tables[" + found.size() + "]", each);
            found.add(table);
            if (!prints.add(table.fingerprint)) {
                throw part.wrong("tables", "differ from each other");
            }
        }
        return found;
    }
}
