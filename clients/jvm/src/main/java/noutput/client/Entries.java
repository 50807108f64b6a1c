package noutput.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a ledger holds, and its form in bytes: a line with a checksum of all that follows, and JSON.
 *
 * <p>Reports are there, never values. What was drawn for an enrollment is there until reports are.
 */
final class Entries {
    private static final String HEAD = "noutput-ledger ";
    private static final int VERSION = 2; // 1 is written and read where nothing has labels or rounds
    private static final Pattern KEY = Pattern.compile("[0-9a-f]{64}(:[0-9]{1,4})?");
    private static final Pattern OWN = Pattern.compile("[0-9a-f]{64}");
    private static final int PRINT_LETTERS = 64;
    private static final Pattern SECRET = Pattern.compile("([0-9a-f]{2}){1,1024}");

    /** The reports on one campaign, and what they cost. */
    static final class Answer {
        final double epsilon;
        final long answered; // milliseconds since 1970
        final List<Report> reports;
        final boolean[] sent;

        Answer(double epsilon, long answered, List<Report> reports, boolean[] sent) {
            this.epsilon = epsilon;
            this.answered = answered;
            this.reports = reports;
            this.sent = sent;
        }
    }

    /** What an issuer is asked with, and what it has signed, or an empty text. */
    static final class Enrolled {
        final String secret;
        final String token;

        Enrolled(String secret, String token) {
            this.secret = secret;
            this.token = token;
        }
    }

    /** The secret that a device draws its rounds from, and the round in which it joined. */
    static final class Panel {
        final String secret;
        final int joined;

        Panel(String secret, int joined) {
            this.secret = secret;
            this.joined = joined;
        }
    }

    final Map<String, Panel> panels = new LinkedHashMap<>();
    final Map<String, Answer> answers = new LinkedHashMap<>(); // by campaign, oldest first
    final Map<String, Enrolled> enrollments = new LinkedHashMap<>();

    /** Reads what was stored; null is an empty ledger. */
    static Entries read(byte[] stored) {
        Entries found = new Entries();
        if (stored == null) {
            return found;
        }
        int start = (HEAD + VERSION + " ").length() + PRINT_LETTERS + 1;
        String head = new String(stored, 0, Math.min(start, stored.length), Octets.UTF_8);
        int version = head.startsWith(HEAD + 1 + " ") ? 1 : VERSION;
        if (head.startsWith(HEAD) && !head.startsWith(HEAD + version + " ")) {
            throw new LedgerException("the ledger is damaged, or needs a newer version of noutput");
        }
        byte[] rest = Octets.slice(stored, Math.min(start, stored.length), stored.length);
        if (!head.equals(head(version, rest))) {
            throw new LedgerException("the ledger is damaged, or no ledger of noutput");
        }
        try {
            Part part = Part.of("", Json.readObject(rest));
            String[] first = {"answers", "enrollments"};
            part.checkKeys(version == 1 ? first : new String[] {first[0], first[1], "panels"});
            for (Object each : part.list("answers", 0, Integer.MAX_VALUE)) {
                found.readAnswer(Part.of("answer", each));
            }
            for (Object each : part.list("enrollments", 0, Integer.MAX_VALUE)) {
                found.readEnrolled(Part.of("enrollment", each));
            }
            if (version > 1) {
                for (Object each : part.list("panels", 0, Integer.MAX_VALUE)) {
                    found.readPanel(Part.of("panel", each));
                }
            }
        } catch (DocumentException error) {
            throw new LedgerException("the ledger has entries that it cannot have");
        }
        return found;
    }

    private static String head(int version, byte[] rest) {
        return HEAD + version + " " + Octets.hex(Octets.digest("SHA-256", rest)) + "\n";
    }

    private void readAnswer(Part part) {
        part.checkKeys(new String[] {"campaign", "version", "epsilon", "answered", "reports"});
        String campaign = part.match("campaign", KEY, "be a fingerprint, and perhaps a round");
        int version = (int) part.whole("version", 1, 2);
        List<Report> reports = new ArrayList<>();
        List<?> entries = part.list("reports", 1, Campaign.MAX_QUESTIONS);
        boolean[] sent = new boolean[entries.size()];
        for (Object each : entries) {
            Part entry = Part.of("report", each);
            entry.checkKeys(new String[] {"campaign", "question", "output", "id", "token", "sent"},
                    "labels", "round");
            sent[reports.size()] = entry.truth("sent");
            reports.add(new Report(
                    version,
                    entry.match("campaign", Report.PRINT, "be a fingerprint"),
                    entry.match("question", Campaign.NAME, "be a name"),
                    (int) entry.whole("output", 0, 255),
                    entry.match("id", Report.ID, "be an id"),
                    entry.match("token", Tokens.FORM, "be a token"),
                    readLabels(entry),
                    entry.has("round") ? (int) entry.whole("round", 0, Schedule.MAX_ROUNDS - 1) : -1));
        }
        long answered = part.whole("answered", Long.MIN_VALUE, Long.MAX_VALUE);
        answers.put(campaign, new Answer(part.positive("epsilon"), answered, reports, sent));
    }

    private static Map<String, String> readLabels(Part entry) {
        Map<String, String> found = new LinkedHashMap<>();
        if (entry.has("labels")) {
            Part.of("labels", entry.get("labels"));
            for (Map.Entry<?, ?> each : ((Map<?, ?>) entry.get("labels")).entrySet()) {
                String label = Part.checkText("label", each.getValue(), 1, 64);
                found.put((String) each.getKey(), label);
            }
        }
        return found;
    }

    private void readPanel(Part part) {
        part.checkKeys(new String[] {"campaign", "secret", "joined"});
        String secret = part.match("secret", OWN, "be 32 bytes in hexadecimal digits");
        int joined = (int) part.whole("joined", 0, Schedule.MAX_ROUNDS - 1);
        panels.put(part.match("campaign", Report.PRINT, "be a fingerprint"),
                new Panel(secret, joined));
    }

    private void readEnrolled(Part part) {
        part.checkKeys(new String[] {"campaign", "secret", "token"});
        String secret = part.match("secret", SECRET, "be hexadecimal digits");
        String token = part.match("token", Tokens.FORM, "be a token");
        enrollments.put(part.match("campaign", Report.PRINT, "be a fingerprint"),
                new Enrolled(secret, token));
    }

    /** The bytes to store. No text in them has a character that JSON would escape. */
    byte[] write() {
        List<String> rows = new ArrayList<>();
        for (Map.Entry<String, Answer> each : answers.entrySet()) {
            rows.add(write(each.getKey(), each.getValue()));
        }
        List<String> more = new ArrayList<>();
        for (Map.Entry<String, Enrolled> each : enrollments.entrySet()) {
            more.add("{\"campaign\":\"" + each.getKey() + "\",\"secret\":\"" + each.getValue().secret
                    + "\",\"token\":\"" + each.getValue().token + "\"}");
        }
        List<String> last = new ArrayList<>();
        for (Map.Entry<String, Panel> each : panels.entrySet()) {
            last.add("{\"campaign\":\"" + each.getKey() + "\",\"secret\":\""
                    + each.getValue().secret + "\",\"joined\":" + each.getValue().joined + "}");
        }
        int version = isFirst() ? 1 : VERSION;
        String text = "{\"answers\":[" + join(rows) + "],\"enrollments\":[" + join(more) + "]"
                + (version == 1 ? "" : ",\"panels\":[" + join(last) + "]") + "}\n";
        byte[] rest = text.getBytes(Octets.UTF_8);
        return new Octets().add(head(version, rest)).add(rest).toBytes();
    }

    /** Whether clients that know neither labels nor rounds can read it. */
    private boolean isFirst() {
        for (Answer answer : answers.values()) {
            for (Report report : answer.reports) {
                if (!report.stratum().isEmpty()) {
                    return false;
                }
            }
        }
        return panels.isEmpty();
    }

    private static String write(String campaign, Answer answer) {
        List<String> rows = new ArrayList<>();
        for (int i = 0; i < answer.reports.size(); i++) {
            Report report = answer.reports.get(i);
            rows.add("{\"campaign\":\"" + report.getCampaign() + "\",\"question\":\""
                    + report.getQuestion() + "\",\"output\":" + report.getOutput() + ",\"id\":\""
                    + report.getId() + "\",\"token\":\"" + report.getToken() + "\",\"sent\":"
                    + answer.sent[i] + report.stratum() + "}");
        }
        return "\n{\"campaign\":\"" + campaign + "\",\"version\":" + answer.reports.get(0).getVersion()
                + ",\"epsilon\":" + answer.epsilon + ",\"answered\":" + answer.answered
                + ",\"reports\":[" + join(rows) + "]}";
    }

    private static String join(List<String> parts) {
        StringBuilder found = new StringBuilder();
        for (String each : parts) {
            found.append(found.length() == 0 ? "" : ",").append(each);
        }
        return found.toString();
    }
}
