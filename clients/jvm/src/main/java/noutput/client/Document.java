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
    private static final String[] COMMON = {"label", "text", "epsilon"};

    private Document() {}

    static Campaign read(Map<String, Object> document) {
        Part part = Part.of("", document);
        part.checkFormat("noutput-campaign");
        part.checkKeys(KEYS);
        Campaign.Found found = new Campaign.Found();
        found.text = part.text("text", 1, 1000);
        found.asksAll = part.oneOf("ask", "one", "all").equals("all");
        found.admission = Admission.read(part.get("admission"));
        found.segments = Segments.read(part.get("segments"));
        found.schedule = Schedule.read(part, found.admission);
        found.questions = new ArrayList<>();
        List<?> questions = part.list("questions", 1, Campaign.MAX_QUESTIONS);
        for (int i = 0; i < questions.size(); i++) {
            found.questions.add(readQuestion(Part.of("questions[" + i + "]", questions.get(i))));
        }
        Waves waves = Waves.read(part, document, found.questions, readTables(part));
        found.tables = waves.getTables();
        found.asked = waves.getAsked();
        found.chain = waves.getChain();
        checkLosses(questions, found.tables);
        return new Campaign(part, found);
    }

    private static Question readQuestion(Part part) {
        switch (part.oneOf("kind", "number", "scale", "choice", "yes/no")) {
            case "number":
                part.checkKeys(new String[] {"kind", "name", "lower", "upper", "unit"}, COMMON);
                return new NumberQuestion(part);
            case "scale":
                part.checkKeys(new String[] {"kind", "name", "answers"},
                        "label", "text", "epsilon", "scores");
                return ScaleQuestion.read(part);
            case "choice":
                part.checkKeys(new String[] {"kind", "name", "answers"}, COMMON);
                return new ChoiceQuestion(part);
            default:
                part.checkKeys(new String[] {"kind", "name"}, COMMON);
                return new YesNoQuestion(part);
        }
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
