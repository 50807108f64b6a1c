package noutput.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Campaign document, version 1: numbers only, all drawn from one table. */
final class Version1 {
    private static final String[] KEYS = {
        "format", "version", "id", "title", "question", "goal", "public", "opens", "closes",
        "attributes", "table", "fingerprint"
    };
    private static final String[] ATTRIBUTE_KEYS = {"name", "unit", "lower", "upper"};

    private Version1() {}

    static Campaign read(Part part) {
        part.checkKeys(KEYS);
        Campaign.Found found = new Campaign.Found();
        found.version = 1;
        found.text = part.text("question", 1, 1000);
        found.questions = new ArrayList<>();
        int place = 0;
        for (Object each : part.list("attributes", 1, Campaign.MAX_QUESTIONS)) {
            Part attribute = Part.of("attributes[" + place++ + "]", each);
            attribute.checkKeys(ATTRIBUTE_KEYS);
            found.questions.add(new NumberQuestion(attribute));
        }
        part.oneOf("goal", found.questions.get(0).objectives());
        Table table = Table.read("table", part.get("table"));
        if (!table.isForNumbers()) {
            throw part.wrong("table", "be one for numbers, of version 1");
        }
        found.tables = Collections.nCopies(found.questions.size(), table);
        found.asked = found.questions;
        found.chain = Collections.singletonList(print(part, found.questions, table));
        return new Campaign(part, found);
    }

    private static String print(Part part, List<Question> questions, Table table) {
        Octets form = new Octets().add("noutput-campaign 1\n");
        for (String key : new String[] {"id", "title", "question", "goal", "opens", "closes"}) {
            form.addText(String.valueOf(part.get(key)));
        }
        form.addByte(part.truth("public") ? 1 : 0).addWord(questions.size());
        for (Question each : questions) {
            NumberQuestion number = (NumberQuestion) each;
            form.addText(number.getName()).addText(number.getUnit());
            form.addDouble(number.getLower()).addDouble(number.getUpper());
        }
        return Octets.hex(form.add(Octets.unhex(table.fingerprint)).sha256());
    }
}
