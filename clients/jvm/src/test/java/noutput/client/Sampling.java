package noutput.client;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Counts of outputs as a device draws them, with the platform's randomness, for statistical tests.
 * Reads {"campaign": text, "values": object, "people": number} per line from standard input, and
 * prints a list of counts per question.
 */
final class Sampling {
    private Sampling() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> task = Json.readObject(line);
            Campaign campaign = Campaign.read((String) task.get("campaign"));
            int[][] counts = count(campaign, task.get("values"), (Long) task.get("people"));
            System.out.println(Arrays.deepToString(counts));
        }
    }

    private static int[][] count(Campaign campaign, Object values, long people) {
        int[][] counts = new int[campaign.getQuestions().size()][];
        Map<String, int[]> byName = new HashMap<>();
        for (int place = 0; place < counts.length; place++) {
            counts[place] = new int[campaign.getTable(place).countOutputs()];
            byName.put(campaign.getQuestions().get(place).getName(), counts[place]);
        }
        for (long person = 0; person < people; person++) {
            Ledger ledger = new Ledger(new MemoryStorage());
            Client client = ClientChecks.client(campaign, ledger, ClientChecks.GENEROUS);
            for (Report report : client.reports(values)) {
                byName.get(report.getQuestion())[report.getOutput()]++;
            }
        }
        return counts;
    }

    /** Chi-square of counts against probabilities. */
    static double distance(int[] counts, double[] expected) {
        double total = Arrays.stream(counts).sum();
        double sum = 0;
        for (int i = 0; i < counts.length; i++) {
            double mean = total * expected[i];
            sum += (counts[i] - mean) * (counts[i] - mean) / mean;
        }
        return sum;
    }
}
