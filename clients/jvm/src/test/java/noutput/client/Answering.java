package noutput.client;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Answers many campaigns with one ledger in several threads, to be killed while it does:
 * java noutput.client.Answering DOCUMENTS LEDGER TOTAL THREADS. The documents are one per line, in
 * base 64. Begins when a line comes in, prints every report as soon as it is remembered, and ends when
 * its input does: it cannot end before it is killed.
 */
final class Answering {
    private Answering() {}

    public static void main(String[] arguments) throws Exception {
        List<Campaign> campaigns = new ArrayList<>();
        for (String line : Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.US_ASCII)) {
            campaigns.add(Campaign.read(Base64.getDecoder().decode(line)));
        }
        Policy policy = new Policy(2, Double.parseDouble(arguments[2]), 30);
        File file = new File(arguments[1]);
        say("ready");
        if (System.in.read() < 0) {
            return;
        }
        for (int i = 0; i < Integer.parseInt(arguments[3]); i++) {
            boolean isReverse = i % 2 == 1; // threads that meet different campaigns at a time
            new Thread(() -> {
                for (int k = 0; k < campaigns.size(); k++) {
                    Campaign campaign = campaigns.get(isReverse ? campaigns.size() - 1 - k : k);
                    say(answer(campaign, file, policy));
                }
                say("done");
            }).start();
        }
        while (System.in.read() >= 0) {}
    }

    private static String answer(Campaign campaign, File file, Policy policy) {
        try {
            return ClientChecks.client(campaign, new Ledger(file), policy).report("yes").toJson();
        } catch (PolicyException error) {
            return "capped";
        } catch (RuntimeException error) {
            return "failed " + error;
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
