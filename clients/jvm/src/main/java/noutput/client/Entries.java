package noutput.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a ledger holds, and its form in bytes: a line with a checksum of all that follows, and JSON.
 *
 * <p>Reports are there, never values. What was drawn for an enrollment is there until reports are.
 */
final class Entries {
    private static final String HEAD = "noutput-ledger ";
    private static final int VERSION = 1;
    private static final Pattern OTHER =
            Pattern.compile(HEAD + "(?!" + VERSION + " )([0-9]{1,9}) ");
    private static final Pattern KEY = Pattern.compile("[0-9a-f]{64}(:[0-9]{1,4})?");
    private static final Pattern OWN = Pattern.compile("[0-9a-f]{64}");
    private static final int PRINT_LETTERS = 64;
    private static final Pattern SECRET = Pattern.compile("([0-9a-f]{2}){1,1024}");

    /** The reports on one campaign, and what they cost. */
    static final class Answer {
        final String id; // of the campaign
        final double epsilon;
        final long answered; // milliseconds since 1970
        final List<Report> reports;
        final boolean[] sent;

        Answer(String id, double epsilon, long answered, List<Report> reports, boolean[] sent) {
            this.id = id;
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
        Matcher other = OTHER.matcher(head);
        if (other.lookingAt()) {
            throw new LedgerException(
                    "the ledger must have version " + VERSION + "; found " + other.group(1));
        }
        byte[] rest = Octets.slice(stored, Math.min(start, stored.length), stored.length);
        if (!head.equals(head(rest))) {
            throw new LedgerException("the ledger is damaged, or no ledger of noutput");
        }
        try {
            Part part = Part.of("", Json.readObject(rest));
            part.checkKeys(new String[] {"answers", "enrollments", "panels"});
            for (Object each : part.list("answers", 0, Integer.MAX_VALUE)) {
                found.readAnswer(Part.of("answer", each));
            }
            for (Object each : part.list("enrollments", 0, Integer.MAX_VALUE)) {
                found.readEnrolled(Part.of("enrollment", each));
            }
            for (Object each : part.list("panels", 0, Integer.MAX_VALUE)) {
                found.readPanel(Part.of("panel", each));
            }
        } catch (DocumentException error) {
            throw new LedgerException("the ledger has entries that it cannot have");
        }
        return found;
    }

    private static String head(byte[] rest) {
        return HEAD + VERSION + " " + Octets.hex(Octets.digest("SHA-256", rest)) + "\n";
    }

    private void readAnswer(Part part) {
        part.checkKeys(new String[] {"campaign", "id", "epsilon", "answered", "reports"});
        String campaign = part.match("campaign", KEY, "be a fingerprint, and perhaps a round");
        List<Report> reports = new ArrayList<>();
        List<?> entries = part.list("reports", 1, Campaign.MAX_QUESTIONS);
        boolean[] sent = new boolean[entries.size()];
        for (Object each : entries) {
            Part entry = Part.of("report", each);
            entry.checkKeys(new String[] {"campaign", "question", "output", "id", "token", "sent"},
                    "labels", "round");
            sent[reports.size()] = entry.truth("sent");
            reports.add(new Report(
                    entry.match("campaign", Report.PRINT, "be a fingerprint"),
                    entry.match("question", Campaign.NAME, "be a name"),
                    (int) entry.whole("output", 0, 255),
                    entry.match("id", Report.ID, "be an id"),
                    entry.match("token", Tokens.FORM, "be a token"),
                    readLabels(entry),
                    entry.has("round") ? (int) entry.whole("round", 0, Schedule.MAX_ROUNDS - 1) : -1));
        }
        long answered = part.whole("answered", Long.MIN_VALUE, Long.MAX_VALUE);
        String id = part.match("id", Campaign.ID, "be a campaign's id");
        answers.put(campaign, new Answer(id, part.positive("epsilon"), answered, reports, sent));
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
        String text = "{\"answers\":[" + join(rows) + "],\"enrollments\":[" + join(more)
                + "],\"panels\":[" + join(last) + "]}\n";
        byte[] rest = text.getBytes(Octets.UTF_8);
        return new Octets().add(head(rest)).add(rest).toBytes();
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
        return "\n{\"campaign\":\"" + campaign + "\",\"id\":\"" + answer.id + "\",\"epsilon\":"
                + answer.epsilon + ",\"answered\":" + answer.answered
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
