import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { memory, noutput, vectors } from "../testing/module.js";

const { Client, readCampaign } = noutput;
const DAY = 864e5;
const url = "https://collect.example/campaigns/panel";
const [panel, segments, thrice] = await Promise.all(
  vectors("strata").good.map(({ text }) => readCampaign(text)),
);
const values = { commute: 45, stars: 3, age: "60+", means: "car", late: "no", kilometers: 1 };
const counted = () => new Response('{"accepted":1,"repeated":0}');
const repeated = () => new Response('{"accepted":0,"repeated":1}');
const refused = (name) => () =>
  new Response(JSON.stringify({ type: `urn:noutput:problem:${name}`, detail: "because" }), { status: 403 });
const offline = () => {
  throw new TypeError("network");
};

/** A client with a clock that can be set, and a network that gives the n-th answer, then the last. */
function device(campaign, answers, storage = memory()) {
  const own = { now: Date.parse(campaign.opens), seen: [], storage };
  const policy = { epsilon: 20, total: 1e6 };
  own.client = new Client(campaign, { storage, policy, now: () => own.now });
  const fetch = async (_, { body }) => {
    own.seen.push(body);
    return answers[Math.min(own.seen.length, answers.length) - 1]();
  };
  own.options = { fetch, attempts: 1 };
  own.stored = () => Object.values(JSON.parse(storage.getItem("noutput-ledger")).reports);
  own.unsent = () => own.stored().filter(({ sent }) => !sent).length;
  /** Answer in the device's next round, where no report arrives. */
  own.fail = async () => {
    own.now = (await own.client.nextRound()).start.getTime() + 6e4;
    await assert.rejects(own.client.submit(url, values, own.options), { code: "delivery" });
  };
  return own;
}

/** A campaign with another grace time; its fingerprint is that of what it says. */
async function graced(seconds) {
  const found = JSON.parse(vectors("strata").good[0].text);
  found.schedule.grace = seconds;
  const { fingerprint, ...signed } = { ...found, tables: found.tables.map((table) => table.fingerprint) };
  const form = new Blob(["noutput-campaign 1\n", ...noutput.canonical(signed)]);
  const digest = createHash("sha256").update(Buffer.from(await form.arrayBuffer())).digest("hex");
  return readCampaign(JSON.stringify({ ...found, fingerprint: digest }));
}

test("a report that was not acknowledged is sent in the grace time", async () => {
  let own;
  do own = device(panel, [offline, counted]);
  while ((await own.client.nextRound()).number === 6); // the next day may be its own as well
  await own.fail();
  own.now += DAY;
  await assert.rejects(own.client.submit(url, values, own.options), { code: "due" });
  assert.equal(await own.client.resend(url, own.options), 1);
  assert.equal(own.seen.length, 2);
  assert.equal(own.seen[1], own.seen[0]);
  assert.equal(await own.client.resend(url, own.options), 0);
  assert.equal(own.seen.length, 2);
  assert.equal(own.stored().length, 1);
});

test("a report beyond its grace time is left", async () => {
  const campaign = await graced(3600);
  for (const [late, sent] of [
    [-1, 1],
    [0, 0],
  ]) {
    const own = device(campaign, [offline, counted]);
    await own.fail();
    const { round } = JSON.parse(own.seen[0]);
    own.now = Date.parse(campaign.opens) + (round + 1) * DAY + 36e5 + late;
    assert.equal(await own.client.resend(url, own.options), sent);
    assert.equal(own.unsent(), 1 - sent);
  }
});

test("every round is sent by itself, the oldest first", async () => {
  const own = device(await graced(30 * 86400), [offline, offline, offline, counted]);
  for (let i = 0; i < 3; i++) await own.fail();
  assert.equal(await own.client.resend(url, own.options), 3);
  assert.deepEqual(own.seen.slice(3), own.seen.slice(0, 3));
  const rounds = own.seen.slice(3).map((body) => JSON.parse(body).round);
  assert.deepEqual(rounds, [...new Set(rounds)].sort((a, b) => a - b));
});

test("what is not sent blocks no round that is due", async () => {
  const own = device(await graced(30 * 86400), [offline, counted]);
  await own.fail();
  own.now = (await own.client.nextRound()).start.getTime();
  assert.equal((await own.client.submit(url, values, own.options)).accepted, 1);
  assert.equal(own.unsent(), 1);
  assert.equal(await own.client.resend(url, own.options), 1);
  assert.equal(own.seen[2], own.seen[0]);
  assert.equal(own.unsent(), 0);
});

test("a failure keeps what was acknowledged", async () => {
  const own = device(await graced(30 * 86400), [offline, offline, repeated, offline, counted]);
  for (let i = 0; i < 2; i++) await own.fail();
  await assert.rejects(own.client.resend(url, own.options), { code: "delivery" });
  assert.equal(own.unsent(), 1);
  assert.equal(await own.client.resend(url, own.options), 1);
  assert.deepEqual(own.seen.slice(2), [own.seen[0], own.seen[1], own.seen[1]]);
});

test("the clock of the collector decides which round is over", async () => {
  const answers = [offline, offline, refused("round-over"), counted, refused("campaign-closed")];
  const own = device(await graced(30 * 86400), answers);
  for (let i = 0; i < 2; i++) await own.fail();
  assert.equal(await own.client.resend(url, own.options), 1);
  assert.equal(own.unsent(), 1);
  await assert.rejects(own.client.resend(url, own.options), { code: "delivery", status: 403 });
});

test("without a schedule reports are sent until the campaign closes; those of others stay", async () => {
  const storage = memory();
  const other = device(panel, [offline], storage);
  await other.fail();
  const own = device(segments, [offline, counted], storage);
  await assert.rejects(own.client.submit(url, values, own.options), { code: "delivery" });
  own.now = Date.parse(segments.closes);
  assert.equal(await own.client.resend(url, own.options), 0);
  own.now -= 1;
  assert.equal(await own.client.resend(url, own.options), 1);
  assert.equal(own.seen[1], own.seen[0]);
  assert.equal(own.unsent(), 1); // the other campaign's
});

test("all questions of a round are sent one by one", async () => {
  const own = device(thrice, [counted, offline, counted]);
  await own.fail();
  assert.equal(await own.client.resend(url, own.options), 6);
  assert.deepEqual(own.seen.slice(2, 4), own.seen.slice(0, 2));
  assert.equal(new Set(own.seen).size, 6);
});

test("nothing is drawn and nobody joins", async () => {
  const own = device(panel, [counted]);
  assert.equal(await own.client.resend(url, own.options), 0);
  assert.deepEqual([own.seen, own.storage.entries.size], [[], 0]);
});
