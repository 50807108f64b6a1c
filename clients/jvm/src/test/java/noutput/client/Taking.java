package noutput.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * People who take part in campaigns of a real collector. Reads one JSON object per line: "url",
 * "values", "epsilon", and perhaps "ledger" (a path), "token", or "code" for the issuer, "people",
 * "timeout" and "attempts". Prints the receipts' sums, or the error.
 */
final class Taking {
    private Taking() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                System.out.println(take(Json.readObject(line)));
            } catch (NoutputException error) {
                System.out.println(error.getClass().getSimpleName() + ": " + error.getMessage());
            }
            System.out.flush();
        }
    }

    private static String take(Map<String, Object> task) {
        String url = (String) task.get("url");
        Delivery delivery = new Delivery(whole(task, "timeout", 10_000), whole(task, "attempts", 6));
        Campaign campaign = delivery.fetchCampaign(url);
        double epsilon = ((Number) task.get("epsilon")).doubleValue();
        int accepted = 0;
        int repeated = 0;
        for (int person = 0; person < whole(task, "people", 1); person++) {
            Ledger ledger = task.containsKey("ledger") ? new Ledger(new File((String) task.get("ledger")))
                    : new Ledger(new MemoryStorage());
            String token = task.containsKey("token") ? (String) task.get("token") : "";
            if (task.containsKey("code")) {
                token = Enrollment.enroll(campaign, ledger, (String) task.get("code"), delivery);
                Checks.equal(Enrollment.enroll(campaign, ledger, "", delivery), token, "the token");
            }
            Client client = new Client(campaign, ledger, new Policy(epsilon, epsilon, 30));
            Receipt receipt = client.submit(url, task.get("values"),
                    new SubmitOptions().withToken(token).withDelivery(delivery));
            accepted += receipt.getAccepted();
            repeated += receipt.getRepeated();
            Checks.equal(ledger.getPending(), "[]", "what is pending");
        }
        return "accepted " + accepted + ", repeated " + repeated;
    }

    private static int whole(Map<String, Object> task, String name, int otherwise) {
        return task.containsKey(name) ? ((Long) task.get(name)).intValue() : otherwise;
    }
}
