package noutput.client;

import java.util.Collections;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * All that ever leaves a device: a question, an output that was drawn, and an id.
 *
 * <p>The id is the same in every attempt to send the report, so that it is counted once.
 */
public final class Report {
    static final Pattern PRINT = Pattern.compile("[0-9a-f]{64}");
    static final Pattern ID = Pattern.compile("[0-9a-f]{32}");

    private static final int VERSION = 1;

    private final String campaign;
    private final String question;
    private final int output;
    private final String id;
    private final String token;
    private final Map<String, String> labels;
    private final int round; // or -1

    Report(String campaign, String question, int output, String id, String token) {
        this(campaign, question, output, id, token,
                Collections.<String, String>emptyMap(), -1);
    }

    Report(String campaign, String question, int output, String id, String token,
            Map<String, String> labels, int round) {
        this.campaign = campaign;
        this.question = question;
        this.output = output;
        this.id = id;
        this.token = token;
        this.labels = labels;
        this.round = round;
    }

    /** The fingerprint of the campaign that was answered. */
    public String getCampaign() {
        return campaign;
    }

    /** The name of the question that it is about. */
    public String getQuestion() {
        return question;
    }

    /** The index of the output that the question's table drew. */
    public int getOutput() {
        return output;
    }

    /** 128 random bits, or a hash of the token, as 32 hexadecimal digits. */
    public String getId() {
        return id;
    }

    /** What admits the report to a campaign that is not open; empty otherwise. */
    public String getToken() {
        return token;
    }

    /** The public labels that it tells; they are not protected. */
    public Map<String, String> getLabels() {
        return labels;
    }

    /** The round that it was made in, or -1 where the campaign has no schedule. */
    public int getRound() {
        return round;
    }

    /** What a report with labels and a round has more; no label has a character to escape. */
    String stratum() {
        StringBuilder told = new StringBuilder();
        for (Map.Entry<String, String> each : labels.entrySet()) {
            told.append(told.length() == 0 ? "" : ",").append('"').append(each.getKey())
                    .append("\":\"").append(each.getValue()).append('"');
        }
        return (labels.isEmpty() ? "" : ",\"labels\":{" + told + "}")
                + (round < 0 ? "" : ",\"round\":" + round);
    }

    /** The report as it travels: application/vnd.noutput.report+json. */
    public String toJson() {
        return "{\"version\":" + VERSION + ",\"campaign\":\"" + campaign + "\",\"question\":\""
                + question + "\",\"output\":" + output + ",\"id\":\"" + id + "\""
                + (token.isEmpty() ? "" : ",\"token\":\"" + token + "\"") + stratum() + "}";
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Report && toJson().equals(((Report) other).toJson());
    }

    @Override
    public int hashCode() {
        return id.hashCode();
    }

    /** The campaign and the question, without the output, the id and the token. */
    @Override
    public String toString() {
        return "Report on " + question + " of " + campaign;
    }
}
