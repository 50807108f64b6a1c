package noutput.client;

import java.io.File;

/** The Kotlin of docs/clients.md in Java, call by call: java noutput.client.TenLines URL ROOT. */
final class TenLines {
    private TenLines() {}

    public static void main(String[] arguments) {
        String url = arguments[0];
        String root = arguments[1];
        Campaign campaign = Campaign.fetch(url, root);
        Policy policy = new Policy(1.0, 4.0, 30.0);
        Ledger ledger = new Ledger(new File("noutput-ledger"));
        Client client = new Client(campaign, ledger, policy);
        Receipt receipt = client.submit(url, 42);
        System.out.println(receipt.getAccepted() + receipt.getRepeated());
    }
}
