package noutput.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What is asked, how privately, and when: one immutable document, certified when it is read.
 *
 * <pre>{@code
 * Campaign campaign = Campaign.read(bytes);  // throws where a table is less private than it claims
 * campaign.getEpsilon();                     // the privacy loss of what one person sends
 * }</pre>
 *
 * <p>What this version does not know, such as another kind of question, is refused with a
 * {@link DocumentException} that says so. An adaptive campaign is a
 * chain of waves, each with tables and bounds of its own; this is the newest one, and all of the
 * chain is verified.
 */
public final class Campaign {
    static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]{0,63}");
    static final int MAX_QUESTIONS = 64;
    static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9-]{0,63}");

    private final String id;
    private final String title;
    private final String text;
    private final boolean isPublic;
    private final String opens;
    private final String closes;
    private final long opensAt;
    private final long closesAt;
    private final boolean asksAll;
    private final List<Question> questions;
    private final List<Table> tables; // one per question
    private final Admission admission;
    private final List<Question> asked; // as the newest wave asks them
    private final List<String> chain; // the fingerprints of all waves
    private final Segments segments;
    private final Schedule schedule; // or null

    /** Reads what is neither a question nor a wave; those were read before. */
    Campaign(Part part, List<Question> questions, Waves waves) {
        id = part.match("id", ID, "be a letter a-z or a digit and at most 63 of a-z, 0-9 and -");
        title = part.text("title", 1, 200);
        text = part.text("text", 1, 1000);
        isPublic = part.truth("public");
        opensAt = Instant.read(part, "opens");
        closesAt = Instant.read(part, "closes");
        opens = (String) part.get("opens");
        closes = (String) part.get("closes");
        if (opensAt >= closesAt) {
            throw part.wrong("closes", "be later than opens (" + opens + ")");
        }
        asksAll = part.oneOf("ask", "one", "all").equals("all");
        this.questions = Collections.unmodifiableList(questions);
        tables = Collections.unmodifiableList(waves.getTables());
        asked = Collections.unmodifiableList(waves.getAsked());
        chain = Collections.unmodifiableList(waves.getChain());
        admission = Admission.read(part.get("admission"));
        segments = Segments.read(part.get("segments"));
        schedule = Schedule.read(part, admission);
        Set<String> names = new HashSet<>();
        for (Question question : questions) {
            if (!names.add(question.getName())) {
                throw part.wrong("questions", "have different names");
            }
        }
        if (!getFingerprint().equals(part.get("fingerprint"))) {
            throw part.wrong("fingerprint", "be " + getFingerprint());
        }
    }

    /**
     * Reads a campaign from JSON in UTF-8, and certifies its tables in whole numbers.
     *
     * @throws DocumentException if it is no campaign, or needs a newer version of noutput
     * @throws PrivacyException if a table is not as private as it claims
     */
    public static Campaign read(byte[] document) {
        return Document.read(Json.readObject(document));
    }

    /** Fetches a campaign from its address, and certifies it; see {@link Delivery}. */
    public static Campaign fetch(String url) {
        return new Delivery().fetchCampaign(url);
    }

    /** Fetches the campaign with a known root, and refuses any other; see {@link Delivery}. */
    public static Campaign fetch(String url, String root) {
        return new Delivery().fetchCampaign(url, root);
    }

    /** Reads a campaign from JSON; see {@link #read(byte[])}. */
    public static Campaign read(String document) {
        return Document.read(Json.readObject(document));
    }

    /** Its name in addresses. */
    public String getId() {
        return id;
    }

    /** A few words for a heading. */
    public String getTitle() {
        return title;
    }

    /** What the campaign asks, as people read it. */
    public String getText() {
        return text;
    }

    /** Whether anyone may read the estimates. */
    public boolean isPublic() {
        return isPublic;
    }

    /** When reports are counted from, such as "2026-03-01T00:00:00Z". */
    public String getOpens() {
        return opens;
    }

    /** When reports are counted until, this instant not included. */
    public String getCloses() {
        return closes;
    }

    /** Whether a person reports on all questions, or on one that is drawn at random. */
    public boolean getAsksAll() {
        return asksAll;
    }

    /** What is asked, in its order; the list cannot be changed. */
    public List<Question> getQuestions() {
        return questions;
    }

    /** Whose reports are counted. */
    public Admission getAdmission() {
        return admission;
    }

    /** Public labels that reports may carry; they are not protected. */
    public Segments getSegments() {
        return segments;
    }

    /** The rounds in which a device answers; null where a person answers once. */
    public Schedule getSchedule() {
        return schedule;
    }

    /** What to tell people before they answer, about labels and rounds; may be empty. */
    public String getNotice() {
        return (segments.notice() + " " + (schedule == null ? "" : schedule.notice())).trim();
    }

    /** In how many rounds of a period a person answers; 1 without a schedule. */
    int getAnswers() {
        return schedule == null ? 1 : schedule.getAnswers();
    }

    /** The privacy loss of what one person sends in one period of the schedule. */
    public double getEpsilonPerPeriod() {
        return getEpsilon() * getAnswers();
    }

    /** How many rounds the schedule has; 1 without one. */
    public int getRounds() {
        return schedule == null ? 1 : (int) ((closesAt - opensAt) / schedule.getSeconds());
    }

    /** The number of the round of an instant, below 0 before the campaign opens. */
    int roundAt(long milliseconds) {
        long passed = milliseconds - 1000 * opensAt;
        return passed < 0 ? -1 : (int) (passed / (1000 * schedule.getSeconds()));
    }

    Round getRound(int number) {
        long length = 1000 * schedule.getSeconds();
        long start = 1000 * opensAt + number * length;
        return new Round(number, start, start + length);
    }

    /** Until when reports of a round (all, without a schedule) are counted, in milliseconds. */
    long countedUntil(int round) {
        return schedule == null ? 1000 * closesAt
                : getRound(round).getEnd() + 1000 * schedule.getGrace();
    }

    /** SHA-256 of the canonical form, as 64 hexadecimal digits: that of the newest wave. */
    public String getFingerprint() {
        return chain.get(chain.size() - 1);
    }

    /** The fingerprints of all waves of an adaptive campaign, from the first to the newest. */
    public List<String> getChain() {
        return chain;
    }

    /** The fingerprint of the first wave: a person answers one wave of all that share it. */
    public String getRoot() {
        return chain.get(0);
    }

    /** The questions as the newest wave asks them: values beyond its bounds are moved to them. */
    List<Question> getAsked() {
        return asked;
    }

    /**
     * The privacy loss of what one person sends, proven by the tables: the largest of all
     * questions, or their sum where all are asked.
     */
    public double getEpsilon() {
        List<Double> losses = new ArrayList<>();
        for (Table table : tables) {
            losses.add(table.epsilon);
        }
        return asksAll ? Policy.sum(losses) : Collections.max(losses);
    }

    /** Whether reports are counted at this instant, in milliseconds since 1970. */
    public boolean isOpenAt(long milliseconds) {
        return milliseconds >= 1000 * opensAt && milliseconds < 1000 * closesAt;
    }

    Table getTable(int place) {
        return tables.get(place);
    }

    List<Table> getTables() {
        return tables;
    }

    @Override
    public String toString() {
        return "Campaign " + id + " (" + getFingerprint() + ")";
    }
}
