package noutput.client;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Requests to a collector, with retries; not for the main thread of an app.
 *
 * <pre>{@code
 * Delivery delivery = new Delivery(5000, 2);  // 5 s per attempt, at most 2 attempts
 * Campaign campaign = delivery.fetchCampaign("https://collect.example/campaigns/commute");
 * }</pre>
 *
 * <p>The same bytes are sent again where no answer came, and where the status is 408, 425, 429,
 * 500, 502, 503 or 504. Before that it waits for what Retry-After says, at most 60 s, or else for a
 * random time that grows. Any other answer is final. A redirect is an error.
 */
public final class Delivery {
    private static final Pattern ADDRESS =
            Pattern.compile("(?i)(?=[!-~]+\\z)https?://[^/?#@]+(/[^?#]*)?");
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");
    private static final List<Integer> AGAIN = Arrays.asList(408, 425, 429, 500, 502, 503, 504);
    private static final String REPORT_TYPE = "application/vnd.noutput.report+json";
    private static final int MAX_ANSWER = 1 << 16;
    private static final int LONGEST_RETRY_AFTER = 60;
    private static final double FIRST_WAIT = 500.0;
    private static final double LONGEST_WAIT = 30_000.0;

    private final Transport transport;
    private final int timeout;
    private final int attempts;
    private final Sleep sleep;

    /** Waits between attempts. */
    interface Sleep {
        void sleep(long milliseconds) throws InterruptedException;
    }

    /** 10 s per attempt, at most 6 attempts. */
    public Delivery() {
        this(10_000, 6);
    }

    /**
     * @param timeout milliseconds for one attempt, from connecting to the last byte of the answer
     * @param attempts how often the same bytes are sent before giving up
     */
    public Delivery(int timeout, int attempts) {
        this(timeout, attempts, new UrlTransport());
    }

    /** As above, with an HTTP client of the app's own. */
    public Delivery(int timeout, int attempts, Transport transport) {
        this(timeout, attempts, transport, Thread::sleep);
    }

    Delivery(int timeout, int attempts, Transport transport, Sleep sleep) {
        if (timeout < 1 || attempts < 1) {
            throw new IllegalArgumentException("timeout and attempts must be 1 or more");
        }
        this.timeout = timeout;
        this.attempts = attempts;
        this.transport = transport;
        this.sleep = sleep;
    }

    /**
     * Fetches a campaign from its address, and certifies it.
     *
     * @throws DeliveryException if the server cannot be reached, refuses or redirects
     * @throws DocumentException if what it sends is not a campaign
     * @throws PrivacyException if a table is less private than it claims
     */
    public Campaign fetchCampaign(String url) {
        Map<String, String> none = new LinkedHashMap<>();
        return Campaign.read(exchange(check(url), none, new byte[0], Json.MAX_LENGTH));
    }

    /**
     * Fetches a campaign whose first wave is known: any other chain of waves is refused.
     *
     * @param root what {@link Campaign#getRoot} returned before
     * @throws DocumentException also if the campaign has another root
     */
    public Campaign fetchCampaign(String url, String root) {
        Campaign found = fetchCampaign(url);
        if (!found.getRoot().equals(root)) {
            throw Part.wrong("root", "be " + root, found.getRoot());
        }
        return found;
    }

    /**
     * Sends one report to the campaign at an address; attempts share the report's id.
     *
     * @throws DeliveryException if no attempt was acknowledged; to send again is always safe
     */
    public Receipt send(String url, Report report) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", REPORT_TYPE);
        byte[] body = report.toJson().getBytes(Octets.UTF_8);
        byte[] answer = exchange(check(url) + "/reports", headers, body, MAX_ANSWER);
        Map<String, Object> found = readObject(answer);
        Object accepted = found.get("accepted");
        Object repeated = found.get("repeated");
        for (int one = 0; one <= 1; one++) {
            if (Long.valueOf(one).equals(accepted) && Long.valueOf(1 - one).equals(repeated)) {
                return new Receipt(one, 1 - one);
            }
        }
        throw new DeliveryException("the server did not acknowledge the report");
    }

    static Map<String, Object> readObject(byte[] answer) {
        try {
            return Json.readObject(answer);
        } catch (DocumentException error) {
            throw new DeliveryException("the server's answer is not a JSON object");
        }
    }

    private static String check(String url) {
        String rule = "url must be the http or https address of a campaign, such as"
                + " https://collect.example/campaigns/commute, without query or user name";
        if (!ADDRESS.matcher(url).matches()) {
            throw new IllegalArgumentException(rule);
        }
        try {
            URL found = new URL(url);
            int port = found.getPort();
            if (!found.getHost().isEmpty() && (port == -1 || port > 0 && port < 1 << 16)) {
                return url.replaceAll("/+$", "");
            }
        } catch (MalformedURLException error) {
            // as below
        }
        throw new IllegalArgumentException(rule);
    }

    /** Makes attempts until one is answered for good; an empty body makes a GET. */
    byte[] exchange(String url, Map<String, String> more, byte[] body, int most) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("User-Agent", "noutput"); // Android's own names the phone
        headers.put("Accept", "application/json");
        headers.put("Accept-Encoding", "identity");
        headers.putAll(more);
        Transport.Request request = new Transport.Request(url, headers, body, timeout, most);
        for (int tried = 1; ; tried++) {
            DeliveryException failure;
            long wait = backOff(tried);
            try {
                Transport.Answer answer = transport.exchange(request);
                if (answer.getBody().length > most) {
                    throw new DeliveryException("the server sent more than " + most + " bytes");
                }
                if (answer.getStatus() == 200) {
                    return answer.getBody();
                }
                failure = refusal(answer);
                wait = retryAfter(answer, wait);
            } catch (IOException error) {
                String why = Part.printable(String.valueOf(error.getMessage()), 200);
                failure = new DeliveryException("no answer from " + url + ": " + why);
            }
            boolean isFinal = failure.getStatus() != 0 && !AGAIN.contains(failure.getStatus());
            if (isFinal || tried >= attempts || Thread.currentThread().isInterrupted()) {
                throw failure;
            }
            pause(wait, failure);
        }
    }

    private static long backOff(int tried) {
        double longest = Math.min(FIRST_WAIT * Math.pow(2.0, tried - 1), LONGEST_WAIT);
        return (long) (new SecureRandom().nextDouble() * longest);
    }

    private static long retryAfter(Transport.Answer answer, long otherwise) {
        String found = answer.header("Retry-After");
        boolean isGiven = SECONDS.matcher(found).matches();
        return isGiven ? 1000L * Math.min(Integer.parseInt(found), LONGEST_RETRY_AFTER) : otherwise;
    }

    private void pause(long wait, DeliveryException failure) {
        try {
            sleep.sleep(wait);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw failure;
        }
    }

    private static DeliveryException refusal(Transport.Answer answer) {
        int status = answer.getStatus();
        if (status >= 300 && status < 400) {
            String moved = Part.printable(answer.header("Location"), 200);
            return new DeliveryException(
                    "the server redirects to '" + moved + "': use that address", status, "");
        }
        Object detail = "";
        Object problem = "";
        try {
            Map<String, Object> found = Json.readObject(answer.getBody());
            detail = found.containsKey("detail") ? found.get("detail") : found.get("title");
            problem = found.get("type");
        } catch (DocumentException error) {
            // an answer that is no problem document has a status nevertheless
        }
        String words = detail instanceof String ? Part.printable((String) detail, 500) : "";
        return new DeliveryException("the server refused with status " + status + ": " + words,
                status, problem instanceof String ? (String) problem : "");
    }
}
