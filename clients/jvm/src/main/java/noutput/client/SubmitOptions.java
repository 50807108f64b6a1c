package noutput.client;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What an app may add to the values of {@link Client#submit}: a token, labels, a delivery.
 *
 * <pre>{@code
 * client.submit(url, 42, new SubmitOptions().withToken(token).withLabels(labels));
 * }</pre>
 */
public final class SubmitOptions {
    final String token;
    final Map<String, String> labels;
    final Delivery delivery;

    /** No token, no labels, and the default delivery. */
    public SubmitOptions() {
        this("", Collections.<String, String>emptyMap(), new Delivery());
    }

    private SubmitOptions(String token, Map<String, String> labels, Delivery delivery) {
        this.token = token;
        this.labels = labels;
        this.delivery = delivery;
    }

    /**
     * @param token the person's token, where the campaign asks for one: from the operator, or what
     *     {@link Enrollment#enroll} returns; else an empty text
     */
    public SubmitOptions withToken(String token) {
        return new SubmitOptions(token, labels, delivery);
    }

    /**
     * @param labels public labels that the app knows, where the campaign has segments; those that the
     *     policy does not allow are left out, and {@link Receipt#getLeftOut} names them
     */
    public SubmitOptions withLabels(Map<String, String> labels) {
        return new SubmitOptions(token, new LinkedHashMap<>(labels), delivery);
    }

    /** @param delivery how patiently the collector is spoken to, and by which HTTP client */
    public SubmitOptions withDelivery(Delivery delivery) {
        return new SubmitOptions(token, labels, delivery);
    }
}
