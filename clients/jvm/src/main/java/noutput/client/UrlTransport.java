package noutput.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.CookieHandler;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests by HttpURLConnection, each with one deadline for all of it.
 *
 * <p>Its own timeouts are those of a single wait: a server that sends one byte per wait is never
 * given up. So the request runs in a thread of its own, which is left alone when its time is over.
 */
final class UrlTransport implements Transport {
    private volatile HttpURLConnection current;

    @Override
    public Answer exchange(Request request) throws IOException {
        if (CookieHandler.getDefault() != null) {
            throw new DeliveryException("the app has a CookieHandler, which would send cookies with"
                    + " the report: pass a Transport of your own to Delivery");
        }
        UrlTransport attempt = new UrlTransport();
        FutureTask<Answer> task = new FutureTask<>(() -> attempt.run(request));
        Thread thread = new Thread(task, "noutput delivery");
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(request.getTimeout(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof IOException) {
                throw (IOException) error.getCause();
            }
            throw new DeliveryException("the platform cannot send: " + error.getCause());
        } catch (TimeoutException error) {
            throw new IOException("the time for an answer is over");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        } finally {
            HttpURLConnection open = attempt.current;
            if (open != null) {
                open.disconnect();
            }
        }
    }

    private Answer run(Request request) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(request.getUrl()).openConnection();
        current = connection;
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setConnectTimeout(request.getTimeout());
        connection.setReadTimeout(request.getTimeout());
        for (Map.Entry<String, String> each : request.getHeaders().entrySet()) {
            connection.setRequestProperty(each.getKey(), each.getValue());
        }
        byte[] body = request.getBody();
        if (body.length > 0) {
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length); // sent once, by this attempt
            try (OutputStream stream = connection.getOutputStream()) {
                stream.write(body);
            }
        }
        int status = connection.getResponseCode();
        if (status < 100) {
            throw new IOException("the answer is not HTTP");
        }
        return new Answer(status, headers(connection), read(connection, status, request.getMostBytes()));
    }

    private static Map<String, String> headers(HttpURLConnection connection) {
        Map<String, String> found = new LinkedHashMap<>();
        for (Map.Entry<String, List<String>> each : connection.getHeaderFields().entrySet()) {
            if (each.getKey() != null && !each.getValue().isEmpty()) {
                found.put(each.getKey(), each.getValue().get(0));
            }
        }
        return found;
    }

    private static byte[] read(HttpURLConnection connection, int status, int most) throws IOException {
        InputStream stream = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        if (stream == null) {
            return new byte[0];
        }
        try (InputStream source = stream) {
            byte[] piece = new byte[1 << 13];
            int size = source.read(piece);
            while (size >= 0) {
                found.write(piece, 0, Math.min(size, most + 1 - found.size()));
                if (found.size() > most) {
                    return found.toByteArray();
                }
                size = source.read(piece);
            }
        }
        String announced = connection.getHeaderField("Content-Length");
        boolean isPlain = connection.getContentEncoding() == null;
        if (isPlain && announced != null && !announced.trim().equals("" + found.size())) {
            throw new IOException("the answer ended early");
        }
        return found.toByteArray();
    }
}
