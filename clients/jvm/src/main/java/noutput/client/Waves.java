package noutput.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The chain of waves of a campaign document: what its newest wave asks, and who precedes it.
 *
 * <p>A later wave has other bounds and tables with the same epsilon. The document without its last
 * wave is that of the wave before, so the whole chain is verified from the newest document alone.
 */
final class Waves {
    private static final int MAX_WAVES = 8;
    private static final long MAX_PEOPLE = 1_000_000_000_000L;
    private static final long MAX_COUNT = 1_000_000_000_000_000L;
    private static final String[] FIRST_KEYS = {"tables", "objectives"};
    private static final String[] LATER_KEYS =
            {"tables", "objectives", "bounds", "inputs", "reasons", "predecessor"};

    private final Part part;
    private final List<Question> questions;
    private final List<Table> tables; // all of the document
    private final List<List<Table>> used = new ArrayList<>(); // one list per wave
    private final List<Integer> counts = new ArrayList<>(); // of tables that are used by then
    private List<Question> asked;
    private List<String> chain;

    private Waves(Part part, List<Question> questions, List<Table> tables) {
        this.part = part;
        this.questions = questions;
        this.tables = tables;
    }

    /** Reads the waves of a document, whose other parts are known. */
    static Waves read(
            Part part, Map<String, Object> document, List<Question> questions, List<Table> tables) {
        Waves found = new Waves(part, questions, tables);
        List<?> waves = list(part);
        for (int index = 0; index < waves.size(); index++) {
            found.readWave(index, Part.of("waves[" + index + "]", waves.get(index)));
        }
        if (waves.size() > 1 && !Part.of("waves[0]", waves.get(0)).has("next")) {
            throw part.wrong("waves", "have one entry where the campaign is not adaptive");
        }
        if (found.counts.get(waves.size() - 1) < tables.size()) {
            throw part.wrong("tables", "be used by a question each");
        }
        found.chain = found.verify(document, waves);
        return found;
    }

    /** The entries of a document's list of waves. */
    static List<?> list(Part part) {
        List<?> waves = part.list("waves", 1, Integer.MAX_VALUE);
        if (waves.size() > MAX_WAVES) {
            throw part.wrong("waves", "have at most " + MAX_WAVES + " entries" + Part.NEWER);
        }
        return waves;
    }

    /** The table of every question in the newest wave. */
    List<Table> getTables() {
        return used.get(used.size() - 1);
    }

    /** The questions as the newest wave asks them: numbers have its bounds. */
    List<Question> getAsked() {
        return asked;
    }

    /** The fingerprints of all waves, from the first to the newest. */
    List<String> getChain() {
        return chain;
    }

    private void readWave(int index, Part wave) {
        if (index == 0) {
            wave.checkKeys(FIRST_KEYS, "next");
        } else {
            wave.checkKeys(LATER_KEYS);
        }
        int count = questions.size();
        List<?> objectives = wave.list("objectives", count, count);
        for (int i = 0; i < count; i++) {
            String name = "objectives[" + i + "]";
            Part.oneOf(name, objectives.get(i), questions.get(i).objectives());
        }
        asked = index > 0 ? readBounds(wave) : questions;
        used.add(readTables(wave));
        if (index > 0) {
            readInputs(wave);
            readReasons(wave);
        } else if (wave.has("next")) {
            readNext(Part.of("waves[0].next", wave.get("next")));
        }
    }

    private List<Table> readTables(Part wave) {
        List<?> indices = wave.list("tables", questions.size(), questions.size());
        List<Table> found = new ArrayList<>();
        int count = counts.isEmpty() ? 0 : counts.get(counts.size() - 1);
        for (int i = 0; i < indices.size(); i++) {
            String name = "tables[" + i + "] of a wave";
            // One spelling only: tables are in the order of the first question that has them.
            int last = Math.min(count, tables.size() - 1);
            int index = (int) Part.whole(name, indices.get(i), 0, last);
            count = Math.max(count, index + 1);
            Table table = tables.get(index);
            asked.get(i).checkTable("tables[" + index + "]", table);
            if (!used.isEmpty() && used.get(0).get(i).epsilon != table.epsilon) {
                throw Part.wrong(name, "have the epsilon of the first wave", table.epsilon);
            }
            found.add(table);
        }
        counts.add(count);
        return found;
    }

    /** When the second wave begins; devices only check it. */
    private void readNext(Part next) {
        next.checkKeys(new String[] {"rule", "reports", "expected", "until"});
        next.oneOf("rule", "range 1");
        next.whole("reports", 1, MAX_PEOPLE);
        next.whole("expected", 1, MAX_PEOPLE);
        if (next.get("until") != null) {
            long until = Instant.read(next, "until");
            if (until <= Instant.read(part, "opens") || until > Instant.read(part, "closes")) {
                throw next.wrong("until", "be later than opens and not later than closes");
            }
        }
        for (Question question : questions) {
            if (question instanceof NumberQuestion) {
                return;
            }
        }
        throw part.wrong("waves", "have no next wave: no question is a number");
    }

    private List<Question> readBounds(Part wave) {
        List<?> bounds = wave.list("bounds", questions.size(), questions.size());
        List<Question> found = new ArrayList<>();
        for (int i = 0; i < bounds.size(); i++) {
            Question question = questions.get(i);
            String name = "bounds[" + i + "] of a wave";
            if (question instanceof NumberQuestion) {
                List<?> pair = Part.list(name, bounds.get(i), 2, 2);
                double lower = Part.number(name, pair.get(0));
                double upper = Part.number(name, pair.get(1));
                found.add(((NumberQuestion) question).narrowed(name, lower, upper));
            } else if (bounds.get(i) != null) {
                throw Part.wrong(name, "be null: the question is no number", bounds.get(i));
            } else {
                found.add(question);
            }
        }
        return found;
    }

    /** The published counts of every earlier wave, per question. */
    private void readInputs(Part wave) {
        List<?> inputs = wave.list("inputs", questions.size(), questions.size());
        int earlier = used.size() - 1;
        for (int i = 0; i < inputs.size(); i++) {
            String name = "inputs[" + i + "] of a wave";
            List<?> parts = Part.list(name, inputs.get(i), earlier, earlier);
            for (int k = 0; k < earlier; k++) {
                int size = used.get(k).get(i).countOutputs();
                for (Object count : Part.list(name, parts.get(k), size, size)) {
                    Part.whole(name, count, 0, MAX_COUNT);
                }
            }
        }
    }

    private void readReasons(Part wave) {
        for (Object each : wave.list("reasons", questions.size(), questions.size())) {
            Part.checkText("reasons of a wave", each, 0, 1000);
        }
    }

    /** The fingerprint of every wave: of the document up to it, with the tables used by then. */
    private List<String> verify(Map<String, Object> document, List<?> waves) {
        Map<String, Object> signed = new LinkedHashMap<>(document);
        signed.remove("fingerprint");
        List<String> prints = new ArrayList<>();
        for (Table table : tables) {
            prints.add(table.fingerprint);
        }
        List<String> found = new ArrayList<>();
        for (int index = 0; index < waves.size(); index++) {
            Part wave = Part.of("waves[" + index + "]", waves.get(index));
            if (index > 0 && !found.get(index - 1).equals(wave.get("predecessor"))) {
                throw wave.wrong("predecessor", "be " + found.get(index - 1));
            }
            signed.put("waves", waves.subList(0, index + 1));
            signed.put("tables", prints.subList(0, counts.get(index)));
            Octets form = new Octets().add("noutput-campaign 1\n").add(Canonical.of(signed));
            found.add(Octets.hex(form.sha256()));
        }
        return found;
    }
}
