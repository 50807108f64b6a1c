import assert from "node:assert/strict";
import test from "node:test";
import { memory, noutput, vectors } from "../testing/module.js";

const { Client, readCampaign, roundsOf } = noutput;
const { good, cases } = vectors("strata");
const { rounds } = vectors("schedule");
const DAY = 864e5;
const [panel, segments, thrice] = await Promise.all(good.map(({ text }) => readCampaign(text)));
const values = { commute: 45, stars: 3, age: "60+", means: "car", late: "no", kilometers: 1 };
const labels = { version: "4.1", platform: "web" };
const policy = { epsilon: 2, total: 1e6, segments: ["platform"] };

/** A client with a clock that can be set. */
function device(campaign = panel, storage = memory(), more = {}) {
  const clock = { now: Date.parse(campaign.opens) };
  const client = new Client(campaign, { storage, policy: { ...policy, ...more }, now: () => clock.now });
  return { client, clock, storage };
}

/** Ask in every round of four weeks, and return the reports that were made. */
async function live({ client, clock }, first = 0, stop = 28) {
  const made = [];
  for (let number = first; number < stop; number++) {
    clock.now = Date.parse(panel.opens) + number * DAY + 1000;
    try {
      made.push(await client.report(values));
      assert.equal(made.at(-1).round, number);
    } catch (error) {
      assert.equal(error.code, "due");
    }
  }
  return made;
}

test("documents with segments and schedules are read as by every client", async () => {
  for (const { text, fingerprint, epsilon_per_period, rounds, combinations, notice } of good) {
    const campaign = await readCampaign(text);
    assert.equal(campaign.fingerprint, fingerprint);
    assert.ok(Math.abs(campaign.epsilonPerPeriod - epsilon_per_period) < 1e-12 * epsilon_per_period);
    assert.deepEqual([campaign.rounds, campaign.combinations], [rounds, combinations]);
    assert.equal(campaign.notice, notice);
  }
});

test("rounds agree with the vectors", async () => {
  assert.ok(rounds.length > 100);
  for (const { root, secret, period, joined, rounds: wanted, ...schedule } of rounds) {
    assert.deepEqual(await roundsOf(schedule, root, secret, period, joined), wanted);
  }
});

test("reports have the form of the vectors", async () => {
  const campaign = await readCampaign(cases[0].campaign);
  const { client, clock } = device(campaign, memory(), { segments: ["platform", "version"] });
  const round = await client.nextRound();
  clock.now = round.start.getTime();
  const report = await client.report(values, undefined, { version: "4.1", platform: "web" });
  const wanted = JSON.parse(Buffer.from(cases[0].bodies[0].body, "hex"));
  assert.deepEqual(Object.keys(report), Object.keys(wanted));
  assert.deepEqual(Object.entries(report.labels), [["platform", "web"], ["version", "4.1"]]);
  assert.equal(report.round, round.number);
});

test("a device answers once per period, with ids of their own", async () => {
  const own = device();
  const made = await live(own);
  assert.deepEqual(made.map(({ round }) => Math.floor(round / 7)), [0, 1, 2, 3]);
  assert.equal(new Set(made.map(({ id }) => id)).size, 4);
  assert.deepEqual(await live(own), made); // whatever the clock does
  const { version, reports, panels } = JSON.parse(own.storage.getItem("noutput-ledger"));
  assert.equal(version, 1);
  assert.equal(Object.values(reports).reduce((sum, { epsilon }) => sum + epsilon, 0), 4 * panel.epsilonPerPeriod);
  assert.equal(panels[panel.root].joined, 0);
  assert.match(panels[panel.root].secret, /^[0-9a-f]{64}$/);
});

test("the rounds are those of the secret, which is stored before it is used", async () => {
  const own = device();
  own.clock.now += 2 * DAY;
  const next = await own.client.nextRound();
  const { secret, joined } = JSON.parse(own.storage.getItem("noutput-ledger")).panels[panel.root];
  assert.equal(joined, 2);
  const [first] = await roundsOf(panel.schedule, panel.root, secret, 0, 2);
  assert.equal(next.number, first);
  assert.equal(next.end - next.start, DAY);
  const again = device(panel, own.storage);
  again.clock.now = own.clock.now + 3 * DAY;
  await again.client.nextRound();
  assert.equal(JSON.parse(own.storage.getItem("noutput-ledger")).panels[panel.root].secret, secret);
});

test("late joiners draw uniformly among the rounds that are left", async () => {
  const counts = new Map();
  for (let i = 0; i < 900; i++) {
    const secret = i.toString(16).padStart(64, "0"); // rounds are a hash of it
    const [number] = await roundsOf(panel.schedule, panel.root, secret, 0, 4);
    counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  assert.deepEqual([...counts.keys()].sort(), [4, 5, 6]);
  const statistic = [...counts.values()].reduce((sum, count) => sum + (count - 300) ** 2 / 300, 0);
  assert.ok(statistic < 27.6); // chi-square, 2 degrees of freedom: one in a million
});

test("a device that is not due says when it is", async () => {
  const { client, clock } = device();
  let next = await client.nextRound();
  if (next.number === 0) {
    assert.equal(await client.due(), true);
    await client.report(values);
    assert.equal(await client.due(), false);
    next = await client.nextRound();
    clock.now = next.start.getTime() - 1;
  }
  assert.equal(await client.due(), false);
  await assert.rejects(client.report(values), { code: "due", round: next.number, message: /begins at 2026-03-/ });
  clock.now = next.start.getTime();
  assert.equal(await client.due(), true);
  clock.now = Date.parse(panel.closes);
  assert.equal(await client.due(), false);
  assert.equal(await client.nextRound(), undefined);
  await assert.rejects(client.report(values), { code: "closed" });
});

test("several answers per period share its epsilon", async () => {
  assert.throws(() => device(thrice), { code: "privacy" });
  assert.throws(() => device(thrice, memory(), { epsilon: 19.4 }), { code: "privacy", message: /19.5/ });
  const { client, storage } = device(thrice, memory(), { epsilon: 19.5 });
  await client.nextRound();
  const { secret } = JSON.parse(storage.getItem("noutput-ledger")).panels[thrice.root];
  const [number] = await roundsOf(thrice.schedule, thrice.root, secret, 0);
  const own = device(thrice, storage, { epsilon: 19.5 });
  own.clock.now += number * DAY;
  assert.equal((await own.client.reports(values)).length, 6);
  const { reports } = JSON.parse(storage.getItem("noutput-ledger"));
  assert.equal(reports[`${thrice.root}:${number}`].epsilon, 6.5);
});

test("only labels that the policy allows leave", async () => {
  for (const [allowed, told] of [
    [[], undefined],
    [["platform"], { platform: "web" }],
    [["version", "platform"], labels],
  ]) {
    const { client, storage } = device(segments, memory(), { segments: allowed });
    assert.deepEqual(client.shownLabels(labels), told ?? {});
    const report = await client.report(values, undefined, labels);
    assert.deepEqual(report.labels, told);
    assert.equal("labels" in report, told !== undefined);
    assert.equal(storage.getItem("noutput-ledger").includes("web"), told !== undefined);
  }
});

test("labels are checked before they are dropped", async () => {
  const { client } = device(segments, memory(), { segments: [] });
  for (const bad of [{ platform: "beos" }, { country: "de" }, { constructor: "a" }, { platform: 1 }]) {
    await assert.rejects(client.report(values, undefined, bad), { code: "value" });
  }
  assert.throws(() => device(segments, memory(), { segments: "platform" }), { code: "policy" });
});

test("people are told what is not protected", () => {
  assert.match(panel.notice, /labels: platform, version. Labels are not protected/);
  assert.match(panel.notice, /in 1 of 7 days, drawn in advance/);
  assert.doesNotMatch(segments.notice, /drawn/);
});

test("a damaged secret is refused, not drawn again", async () => {
  for (const damaged of [{ secret: "ab", joined: 0 }, { secret: "0".repeat(64) }, null, []]) {
    const text = JSON.stringify({ version: 1, reports: {}, panels: { [panel.root]: damaged } });
    const storage = memory(new Map([["noutput-ledger", text]]));
    await assert.rejects(device(panel, storage).client.nextRound(), { code: "policy" });
    assert.equal(storage.getItem("noutput-ledger"), text);
  }
});

test("labels that are left out are named, and told on the console once", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const { client, storage } = device(segments);
  const fetch = async () => new Response('{"accepted":1,"repeated":0}');
  const url = "https://collect.example/campaigns/a";
  const submit = (from) => from.submit(url, values, { labels, fetch });
  assert.deepEqual((await submit(client)).leftOut, ["version"]);
  const wider = device(segments, storage, { segments: ["platform", "version"] }).client;
  assert.deepEqual((await submit(wider)).leftOut, ["version"]); // as it was made
  const fresh = device(segments, memory(), { segments: ["platform", "version"] }).client;
  assert.deepEqual((await submit(fresh)).leftOut, []);
  await submit(device(segments).client);
  assert.ok(warn.mock.callCount() <= 1); // once per process, also where another test was first
});

test("no answer is due that the budget refuses", async () => {
  const { client, clock, storage } = device(segments, memory(), { total: 2.5 });
  const rounds = device(panel, storage, { total: 2.5 });
  rounds.clock.now = clock.now = +(await rounds.client.nextRound()).start;
  assert.deepEqual([await client.due(), await rounds.client.due()], [true, true]);
  await client.report(values);
  assert.equal(await rounds.client.due(), false);
  await assert.rejects(rounds.client.report(values), { code: "policy" });
});
