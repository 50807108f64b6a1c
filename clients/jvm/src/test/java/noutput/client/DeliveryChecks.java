package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.refused;

import java.io.IOException;
import java.net.CookieHandler;
import java.net.CookieManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** What is sent again and what is not, how long it waits, and what it refuses to do. */
final class DeliveryChecks {
    private static final String URL = "https://collect.example/campaigns/late";
    static final String COUNTED = "{\"accepted\":1,\"repeated\":0}";
    private static final Report REPORT = new Report(new String(new char[64]).replace('\0', '0'),
            "late", 1, new String(new char[32]).replace('\0', 'f'), "");

    private DeliveryChecks() {}

    static void list() {
        add("the same bytes are sent again until they are counted", DeliveryChecks::again);
        add("final refusals are not sent again", DeliveryChecks::last);
        add("waits are those of Retry-After, or grow", DeliveryChecks::waits);
        add("redirects are errors", DeliveryChecks::redirects);
        add("answers that acknowledge nothing are errors", DeliveryChecks::acknowledged);
        add("addresses that are none are refused", DeliveryChecks::addresses);
        add("no cookie is ever sent", DeliveryChecks::cookies);
        add("an interrupted thread does not go on", DeliveryChecks::interrupted);
        add("submit marks what was acknowledged", DeliveryChecks::submit);
    }

    /** Answers the n-th request with the n-th answer, and all later ones with the last. */
    static final class Fake implements Transport {
        final List<Request> seen = new ArrayList<>();
        final List<Long> waits = new ArrayList<>();
        private final List<Answer> answers;

        Fake(Answer... answers) {
            this.answers = Arrays.asList(answers);
        }

        @Override
        public Answer exchange(Request request) throws IOException {
            seen.add(request);
            Answer answer = answers.get(Math.min(seen.size(), answers.size()) - 1);
            if (answer == null) {
                throw new IOException("connection\u001b[31m reset");
            }
            return answer;
        }

        Delivery delivery() {
            return new Delivery(1000, 6, this, waits::add);
        }
    }

    static Transport.Answer answer(int status, String body, String... header) {
        return new Transport.Answer(status, header.length == 0 ? Collections.emptyMap()
                : Collections.singletonMap(header[0], header[1]), body.getBytes());
    }

    private static void again() {
        for (int status : new int[] {408, 425, 429, 500, 502, 503, 504}) {
            Fake fake = new Fake(answer(status, ""), null, answer(200, COUNTED));
            equal(fake.delivery().send(URL + "/", REPORT), "Receipt(accepted=1, repeated=0)", "" + status);
            equal(fake.seen.size(), 3, "attempts");
            for (Transport.Request each : fake.seen) {
                equal(new String(each.getBody()), REPORT.toJson(), "the body");
                equal(each, "POST " + URL + "/reports", "the request");
                equal(each.getHeaders(), "{User-Agent=noutput, Accept=application/json, Accept-Encoding"
                        + "=identity, Content-Type=application/vnd.noutput.report+json}", "the headers");
            }
        }
        Fake fake = new Fake((Transport.Answer) null);
        String message = refused(DeliveryException.class, "no answer", () ->
                fake.delivery().send(URL, REPORT)).getMessage();
        equal(message, "no answer from " + URL + "/reports: connection[31m reset", "the message");
        equal(fake.seen.size(), 6, "attempts");
    }

    private static void last() {
        for (int status : new int[] {201, 204, 400, 401, 403, 404, 409, 413, 415, 422, 501}) {
            Fake fake = new Fake(answer(status, "{\"type\":\"urn:x\",\"detail\":\"be\\u0007cause\"}"));
            DeliveryException error = refused(DeliveryException.class, "" + status, () ->
                    fake.delivery().send(URL, REPORT));
            equal(error.getMessage(), "the server refused with status " + status + ": because", "it");
            equal(error.getStatus() + error.getProblem(), status + "urn:x", "the problem");
            equal(fake.seen.size(), 1, "attempts");
        }
        Fake large = new Fake(answer(200, new String(new char[(1 << 16) + 1])));
        refused(DeliveryException.class, "too large", () -> large.delivery().send(URL, REPORT));
        equal(large.seen.size(), 1, "attempts");
    }

    private static void waits() {
        Fake fake = new Fake(
                answer(429, "", "retry-after", "7"), answer(503, "", "Retry-After", "999"),
                answer(503, "", "Retry-After", "Tue, 17 Nov 2026 00:00:00 GMT"), answer(503, ""), null);
        refused(DeliveryException.class, "no answer", () -> fake.delivery().send(URL, REPORT));
        equal(fake.waits.subList(0, 2), "[7000, 60000]", "what was told");
        isTrue(fake.waits.get(2) <= 2000 && fake.waits.get(3) <= 4000 && fake.waits.get(4) <= 8000, "grow");
        equal(fake.waits.size(), 5, "waits");
        long most = 0;
        for (int i = 0; i < 50; i++) {
            Fake other = new Fake((Transport.Answer) null);
            refused(DeliveryException.class, "no answer", () -> other.delivery().send(URL, REPORT));
            most = Math.max(most, other.waits.get(0));
        }
        isTrue(most > 250 && most <= 500, "the first wait is random: " + most);
    }

    private static void redirects() {
        Fake fake = new Fake(answer(307, "", "Location", "https://elsewhere.example"));
        String message = refused(DeliveryException.class, "a redirect", () ->
                fake.delivery().fetchCampaign(URL)).getMessage();
        equal(message, "the server redirects to 'https://elsewhere.example': use that address", "it");
        equal(fake.seen.size(), 1, "attempts");
        equal(fake.seen.get(0), "GET " + URL, "the request");
    }

    private static void acknowledged() {
        String[] bodies = {"", "[]", "{}", "{\"accepted\":1}", "{\"accepted\":2,\"repeated\":0}",
            "{\"accepted\":0,\"repeated\":0}", "{\"accepted\":true,\"repeated\":0}",
            "{\"accepted\":1.0,\"repeated\":0}"};
        for (String body : bodies) {
            Fake fake = new Fake(answer(200, body));
            refused(DeliveryException.class, body, () -> fake.delivery().send(URL, REPORT));
        }
        refused(DocumentException.class, "a page", () ->
                new Fake(answer(200, "<html>")).delivery().fetchCampaign(URL));
    }

    private static void addresses() {
        String[] bad = {"", "x", "ftp://a/b", "https://", "https:///x", "https://a b/", "https://a@b/c",
            "https://a/b?c", "https://a/b#c", "https://a:0/", "https://a:99999/", "https://\u00fc.example/",
            "https://a/b\n"};
        for (String url : bad) {
            Fake fake = new Fake(answer(200, COUNTED));
            refused(IllegalArgumentException.class, url, () -> fake.delivery().send(url, REPORT));
            equal(fake.seen.size(), 0, "attempts");
        }
    }

    private static void cookies() {
        CookieHandler.setDefault(new CookieManager());
        try {
            String message = refused(DeliveryException.class, "cookies", () ->
                    new Delivery(1000, 1).send("http://127.0.0.1:1/campaigns/late", REPORT)).getMessage();
            isTrue(message.contains("CookieHandler"), message);
        } finally {
            CookieHandler.setDefault(null);
        }
    }

    private static void interrupted() {
        Fake fake = new Fake((Transport.Answer) null);
        Thread.currentThread().interrupt();
        try {
            refused(DeliveryException.class, "interrupted", () -> fake.delivery().send(URL, REPORT));
            equal(fake.seen.size(), 1, "attempts");
        } finally {
            isTrue(Thread.interrupted(), "the flag stays");
        }
    }

    private static void submit() throws Exception {
        Ledger ledger = new Ledger(new MemoryStorage());
        Client client = ClientChecks.client(ClientChecks.campaign(1), ledger, ClientChecks.GENEROUS);
        Fake broken = new Fake(answer(200, COUNTED), answer(200, COUNTED), answer(404, ""));
        refused(DeliveryException.class, "the third", () ->
                client.submit(URL, ClientChecks.survey(),
                        new SubmitOptions().withDelivery(broken.delivery())));
        equal(ledger.getPending().size(), 4, "pending");
        Fake good = new Fake(answer(200, "{\"accepted\":0,\"repeated\":1}"), answer(200, COUNTED));
        Receipt receipt = client.submit(URL, ClientChecks.survey(),
                        new SubmitOptions().withDelivery(good.delivery()));
        equal(receipt, "Receipt(accepted=5, repeated=1)", "the receipt");
        equal(ledger.getPending(), "[]", "pending");
    }
}
