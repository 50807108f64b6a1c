package noutput.client;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * Which documents this client reads: takes one document in base 64 per line from standard input, and
 * prints "read", "document" or "privacy" for each, for comparisons with clients in other languages.
 */
final class Verdicts {
    private Verdicts() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(verdict(Base64.getDecoder().decode(line)));
        }
    }

    private static String verdict(byte[] document) {
        try {
            Campaign.read(document);
            return "read";
        } catch (DocumentException error) {
            return "document";
        } catch (PrivacyException error) {
            return "privacy";
        }
    }
}
