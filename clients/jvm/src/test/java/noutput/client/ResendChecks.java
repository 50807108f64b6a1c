package noutput.client;

import static noutput.client.Checks.add;
import static noutput.client.Checks.entries;
import static noutput.client.Checks.equal;
import static noutput.client.Checks.isTrue;
import static noutput.client.Checks.read;
import static noutput.client.Checks.refused;
import static noutput.client.DeliveryChecks.COUNTED;
import static noutput.client.DeliveryChecks.answer;
import static noutput.client.StrataChecks.DAY;
import static noutput.client.StrataChecks.OPENS;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Reports that no collector acknowledged are sent later: the same ones, while they are counted. */
final class ResendChecks {
    private static final String URL = "https://collect.example/campaigns/panel";
    private static final Policy POLICY = new Policy(20, 1e6, 30);
    private static final Transport.Answer GOOD = answer(200, COUNTED);
    private static final Transport.Answer REPEATED = answer(200, "{\"accepted\":0,\"repeated\":1}");
    private static final Transport.Answer OVER =
            answer(403, "{\"type\":\"urn:noutput:problem:round-over\",\"detail\":\"over\"}");

    private ResendChecks() {}

    static void list() {
        add("a report that was not acknowledged is sent in the grace time", ResendChecks::late);
        add("a report beyond its grace time is left", ResendChecks::beyond);
        add("what is not sent blocks no round that is due", ResendChecks::due);
        add("every round is sent by itself, the oldest first", ResendChecks::rounds);
        add("a failure keeps what was acknowledged", ResendChecks::failure);
        add("the clock of the collector decides which round is over", ResendChecks::over);
        add("reports are sent again until the campaign closes", ResendChecks::once);
        add("nothing is drawn, and nobody joins", ResendChecks::nothing);
    }

    /** A device, and a network that gives the n-th answer to the n-th request; null is none. */
    private static final class Sending {
        final StrataChecks.Device device;
        final DeliveryChecks.Fake network;
        final Delivery delivery;

        Sending(Campaign campaign, Storage storage, Transport.Answer... answers) {
            device = new StrataChecks.Device(campaign, POLICY, storage);
            network = new DeliveryChecks.Fake(answers);
            delivery = new Delivery(1000, 1, network, milliseconds -> { });
        }

        Receipt submit() {
            return device.client.submit(
                    URL, ClientChecks.survey(), new SubmitOptions().withDelivery(delivery));
        }

        int resend() {
            return device.client.resend(URL, delivery);
        }

        /** Answers in the device's next round, where no report arrives. */
        void fail() {
            device.now = device.client.nextRound().getStart() + 60_000;
            refused(DeliveryException.class, "offline", this::submit);
        }

        List<String> bodies(int first, int stop) {
            List<String> found = new ArrayList<>();
            for (Transport.Request each : network.seen.subList(first, stop)) {
                found.add(new String(each.getBody(), Octets.UTF_8));
            }
            return found;
        }

        int pending() {
            return device.ledger.getPending().size();
        }
    }

    private static Sending panel(Transport.Answer... answers) throws Exception {
        return new Sending(StrataChecks.campaign(0), new MemoryStorage(), answers);
    }

    /** Of hourly rounds in periods of one round, with a grace time of 7 s. */
    private static Sending hours(Transport.Answer... answers) throws Exception {
        for (Map<String, Object> each : entries(read("strata").get("good"))) {
            Campaign campaign = Campaign.read((String) each.get("text"));
            if (campaign.getId().equals("hours")) {
                return new Sending(campaign, new MemoryStorage(), answers);
            }
        }
        throw new AssertionError("no campaign of hours");
    }

    private static void late() throws Exception {
        Sending own = panel(null, GOOD);
        while (own.device.client.nextRound().getNumber() == 6) { // the next day may be its own, too
            own = panel(null, GOOD);
        }
        own.fail();
        List<Report> drawn = own.device.ledger.getPending();
        own.device.now += DAY;
        refused(NotDueException.class, "another round", own::submit);
        equal(own.resend(), 1, "sent");
        equal(own.bodies(0, 2), Collections.nCopies(2, drawn.get(0).toJson()), "the same bytes");
        equal(own.resend(), 0, "nothing is left");
        equal(own.network.seen.size(), 2, "requests");
        equal(own.device.ledger.spentSince(0), own.device.client.getCampaign().getEpsilon(), "cost");
    }

    private static void beyond() throws Exception {
        for (int sent = 0; sent < 2; sent++) {
            Sending own = panel(null, GOOD);
            own.fail();
            int round = own.device.ledger.getPending().get(0).getRound();
            own.device.now = OPENS + (round + 2) * DAY - sent; // the grace time is a day
            equal(own.resend(), sent, "sent");
            equal(own.pending(), 1 - sent, "pending");
        }
    }

    private static void due() throws Exception {
        Sending own = hours(null, GOOD);
        own.fail();
        own.device.now = OPENS + 3_600_000;
        equal(own.submit(), "Receipt(accepted=1, repeated=0)", "the next hour");
        equal(own.pending(), 1, "pending");
        equal(own.resend(), 1, "sent");
        equal(own.bodies(2, 3), own.bodies(0, 1), "the same bytes");
        equal(own.pending(), 0, "pending");
    }

    /** A device that failed in the last round of a period, and in the first of the next. */
    private static Sending twice(Transport.Answer... answers) throws Exception {
        for (int i = 0; i < 10_000; i++) {
            Sending own = panel(answers);
            own.device.now = OPENS + 6 * DAY; // it joins in the last round of a period
            own.fail();
            if (own.device.client.nextRound().getNumber() == 7) {
                own.fail();
                return own;
            }
        }
        throw new AssertionError("no device answers on two days that follow");
    }

    private static void rounds() throws Exception {
        Sending own = twice(null, null, GOOD);
        equal(own.resend(), 2, "sent");
        equal(own.bodies(2, 4), own.bodies(0, 2), "the same bytes, each by itself");
        isTrue(own.bodies(2, 3).get(0).contains("\"round\":6"), "the oldest first");
        equal(new TreeSet<>(own.bodies(2, 4)).size(), 2, "two reports");
        equal(own.network.seen.size(), 4, "requests");
    }

    private static void failure() throws Exception {
        Sending own = twice(null, null, REPEATED, null, GOOD);
        refused(DeliveryException.class, "the second", own::resend);
        equal(own.pending(), 1, "pending");
        equal(own.resend(), 1, "sent");
        List<String> drawn = own.bodies(0, 2);
        equal(own.bodies(2, 5), Arrays.asList(drawn.get(0), drawn.get(1), drawn.get(1)), "bytes");
    }

    private static void over() throws Exception {
        Sending own = twice(null, null, OVER, GOOD, answer(403, "{}"));
        equal(own.resend(), 1, "sent");
        equal(own.device.ledger.getPending().get(0).getRound(), 6, "the one that is over");
        DeliveryException error = refused(DeliveryException.class, "another refusal", own::resend);
        equal(error.getStatus(), 403, "the status");
    }

    private static void once() throws Exception {
        Storage storage = new MemoryStorage();
        Sending other = new Sending(StrataChecks.campaign(0), storage, (Transport.Answer) null);
        other.fail();
        Sending own = new Sending(StrataChecks.campaign(1), storage, null, GOOD);
        refused(DeliveryException.class, "offline", own::submit);
        Campaign campaign = own.device.client.getCampaign();
        own.device.now = campaign.countedUntil(-1);
        isTrue(!campaign.isOpenAt(own.device.now), "closed");
        equal(own.resend(), 0, "closed");
        own.device.now -= 1;
        equal(own.resend(), 1, "sent");
        equal(own.bodies(0, 1), own.bodies(1, 2), "the same bytes");
        equal(own.pending(), 1, "the other campaign's");
    }

    private static void nothing() throws Exception {
        Sending own = panel(GOOD);
        equal(own.resend(), 0, "sent");
        equal(own.network.seen.size(), 0, "requests");
        equal(own.device.ledger.join(own.device.client.getCampaign().getRoot(), 9, () -> "none").joined,
                9, "nobody had joined");
    }
}
