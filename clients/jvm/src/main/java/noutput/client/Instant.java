package noutput.client;

import java.util.regex.Pattern;

/** Instants as documents write them; java.time is missing on older phones. */
final class Instant {
    private static final Pattern FORM =
            Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z");
    private static final int[] DAYS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    private static final int DAYS_BEFORE_1970 = 719162; // from the first day of the year 1

    private Instant() {}

    /** The seconds since 1970 of an instant such as 2026-03-01T00:00:00Z. */
    static long read(Part part, String key) {
        String rule = "be an instant such as 2026-03-01T00:00:00Z";
        String text = part.match(key, FORM, rule);
        int year = number(text, 0, 4);
        int month = number(text, 5, 7);
        int day = number(text, 8, 10);
        int hour = number(text, 11, 13);
        int minute = number(text, 14, 16);
        int second = number(text, 17, 19);
        boolean isTime = hour < 24 && minute < 60 && second < 60;
        if (year < 1 || month < 1 || month > 12 || day < 1 || day > days(year, month) || !isTime) {
            throw part.wrong(key, rule);
        }
        long before = year - 1;
        long date = 365 * before + before / 4 - before / 100 + before / 400 + day - 1;
        for (int each = 1; each < month; each++) {
            date += days(year, each);
        }
        return 86400 * (date - DAYS_BEFORE_1970) + 3600 * hour + 60 * minute + second;
    }

    private static int days(int year, int month) {
        boolean isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        return DAYS[month - 1] + (isLeap && month == 2 ? 1 : 0);
    }

    private static int number(String text, int start, int end) {
        return Integer.parseInt(text.substring(start, end));
    }
}
