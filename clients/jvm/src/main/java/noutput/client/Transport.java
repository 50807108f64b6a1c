package noutput.client;

import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One HTTP request and its answer; {@link Delivery} decides what is tried again.
 *
 * <p>The default uses HttpURLConnection. An app that has an HTTP client of its own implements this
 * with it: no redirects, no cookies, no other headers than those of the request, one attempt.
 */
public interface Transport {
    /**
     * Sends a request, and reads the answer.
     *
     * @throws IOException if no answer came within the request's time, or not all of it
     */
    Answer exchange(Request request) throws IOException;

    /** What is sent. */
    final class Request {
        private final String url;
        private final Map<String, String> headers;
        private final byte[] body;
        private final int timeout;
        private final int mostBytes;

        Request(String url, Map<String, String> headers, byte[] body, int timeout, int mostBytes) {
            this.url = url;
            this.headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
            this.body = body;
            this.timeout = timeout;
            this.mostBytes = mostBytes;
        }

        /** "GET", or "POST" where there is a body. */
        public String getMethod() {
            return body.length == 0 ? "GET" : "POST";
        }

        /** The address. */
        public String getUrl() {
            return url;
        }

        /** The headers. */
        public Map<String, String> getHeaders() {
            return headers;
        }

        /** The body; empty for GET. */
        public byte[] getBody() {
            return body.clone();
        }

        /** Milliseconds for all of it, from connecting to the last byte of the answer. */
        public int getTimeout() {
            return timeout;
        }

        /** What is read of the answer's body at most; one byte more says that there is more. */
        public int getMostBytes() {
            return mostBytes;
        }

        @Override
        public String toString() {
            return getMethod() + " " + url;
        }
    }

    /** What a server answered. */
    final class Answer {
        private final int status;
        private final Map<String, String> headers;
        private final byte[] body;

        /** The headers' names may be in any case. */
        public Answer(int status, Map<String, String> headers, byte[] body) {
            this.status = status;
            this.headers = new LinkedHashMap<>(headers);
            this.body = body.clone();
        }

        int getStatus() {
            return status;
        }

        byte[] getBody() {
            return body;
        }

        /** The value of a header, or an empty text. */
        String header(String name) {
            for (Map.Entry<String, String> each : headers.entrySet()) {
                if (name.equalsIgnoreCase(each.getKey())) {
                    return String.valueOf(each.getValue());
                }
            }
            return "";
        }
    }
}
