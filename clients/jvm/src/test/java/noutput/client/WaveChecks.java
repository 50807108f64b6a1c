package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.json;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Chains of waves: the shared vectors, and what a client does with a newer wave. */
final class WaveChecks {
    private WaveChecks() {}

    static void list() {
        add("chains are read as by every client", WaveChecks::chains);
        add("what is no chain is refused", WaveChecks::none);
        add("a person answers one wave", WaveChecks::once);
        add("a client follows the chain that it knows, and no other", WaveChecks::follow);
        add("a document of another chain than the known one is refused", WaveChecks::root);
    }

    private static List<Campaign> good() throws Exception {
        List<Campaign> found = new ArrayList<>();
        for (Map<String, Object> each : entries(read("chains").get("good"))) {
            found.add(Campaign.read((String) each.get("text")));
        }
        return found;
    }

    private static Map<String, Object> values() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("commute", 45);
        values.put("late", "no");
        return values;
    }

    private static void chains() throws Exception {
        for (Map<String, Object> each : entries(read("chains").get("good"))) {
            Campaign campaign = Campaign.read((String) each.get("text"));
            equal(campaign.getFingerprint(), each.get("fingerprint"), "the fingerprint");
            equal(campaign.getRoot(), each.get("root"), "the root");
            equal(campaign.getChain(), each.get("chain"), "the chain");
            equal(campaign.getEpsilon(), ((Number) each.get("epsilon")).doubleValue(), "epsilon");
            for (Map<String, Object> one : entries(each.get("encoded"))) {
                int place = ((Long) one.get("question")).intValue();
                double found = campaign.getAsked().get(place).encode(one.get("value"));
                double x = ((Number) one.get("x")).doubleValue();
                equal(Double.doubleToLongBits(found), Double.doubleToLongBits(x), one.toString());
            }
        }
    }

    private static void none() throws Exception {
        List<Map<String, Object>> bad = entries(read("chains").get("bad"));
        isTrue(bad.size() > 40, "enough documents");
        for (Map<String, Object> each : bad) {
            String message = refused(DocumentException.class, (String) each.get("why"), () ->
                    Campaign.read(json(each.get("campaign")))).getMessage();
            isTrue(!message.contains("fingerprint"), each.get("why") + ": " + message);
        }
    }

    private static void once() throws Exception {
        List<Campaign> waves = good();
        Ledger ledger = new Ledger(new MemoryStorage());
        Report report = ClientChecks.client(waves.get(1), ledger, ClientChecks.GENEROUS).report(values());
        equal(report.getCampaign(), waves.get(1).getFingerprint(), "the wave");
        for (Campaign each : waves.subList(0, 3)) {
            Client client = ClientChecks.client(each, ledger, ClientChecks.GENEROUS);
            equal(client.report(values()).toJson(), report.toJson(), "the same report");
        }
        equal(ledger.getPending(), Collections.singletonList(report), "pending");
        ledger.markSent(report);
        equal(ledger.getPending(), "[]", "pending");
    }

    private static void follow() throws Exception {
        List<Campaign> waves = good();
        Ledger ledger = new Ledger(new MemoryStorage());
        Client client = ClientChecks.client(waves.get(0), ledger, ClientChecks.GENEROUS);
        isTrue(client.follow(waves.get(1)), "the second is taken");
        equal(client.getCampaign(), waves.get(1), "the campaign");
        isTrue(!client.follow(waves.get(0)), "no way back");
        isTrue(!client.follow(waves.get(1)), "nothing newer");
        isTrue(!client.follow(waves.get(3)), "another chain");
        isTrue(client.follow(waves.get(2)), "the third is taken");
        equal(client.report(values()).getCampaign(), waves.get(2).getFingerprint(), "the wave");
    }

    private static void root() throws Exception {
        List<Campaign> waves = good();
        String text = (String) entries(read("chains").get("good")).get(1).get("text");
        Transport.Answer answer = new Transport.Answer(
                200, Collections.emptyMap(), text.getBytes(Octets.UTF_8));
        Delivery delivery = new Delivery(1000, 1, request -> answer);
        String url = "https://collect.example/campaigns/adaptive";
        Campaign found = delivery.fetchCampaign(url, waves.get(0).getRoot());
        equal(found.getFingerprint(), waves.get(1).getFingerprint(), "the second wave");
        refused(DocumentException.class, "another chain", () ->
                delivery.fetchCampaign(url, waves.get(3).getRoot()));
    }
}
