import assert from "node:assert/strict";
import test from "node:test";
import { memory, noutput, vectors } from "../testing/module.js";

const { Client, encode, fetchCampaign, readCampaign } = noutput;
const { good, bad } = vectors("chains");
const [first, second, third, survey] = await Promise.all(good.map(({ text }) => readCampaign(text)));
const now = () => Date.parse("2026-11-01T00:00:00Z");
const policy = { epsilon: 8, total: 8.5 };
const values = { commute: 45, late: "no" };
const client = (campaign, storage = memory()) => new Client(campaign, { storage, policy, now });

test("chains are read as by every client", async () => {
  for (const { text, fingerprint, root, chain, epsilon, encoded } of good) {
    const campaign = await readCampaign(text);
    assert.equal(campaign.fingerprint, fingerprint);
    assert.equal(campaign.root, root);
    assert.deepEqual(campaign.chain, chain);
    assert.ok(Math.abs(campaign.epsilon - epsilon) < 1e-12);
    for (const { question, value, x } of encoded) {
      assert.ok(Object.is(encode(campaign.asked[question], value), x), `${value}`);
    }
    assert.throws(() => (campaign.asked[0].upper = 1e9), TypeError);
    assert.throws(() => campaign.chain.push("0"), TypeError);
  }
});

test("what is no chain is refused", async () => {
  assert.ok(bad.length > 40);
  for (const { why, campaign } of bad) {
    const read = readCampaign(JSON.stringify(campaign));
    await assert.rejects(read, ({ code, message }) => code === "document" && !/fingerprint/.test(message), why);
  }
});

test("a person answers one wave", async () => {
  const storage = memory();
  const report = await client(first, storage).report(values);
  assert.equal(report.campaign, first.fingerprint);
  for (const campaign of [second, third, first]) {
    assert.deepEqual(await client(campaign, storage).report(values), report);
  }
});

test("a client follows the chain that it knows, and no other", async () => {
  const own = client(first);
  assert.equal(own.follow(second), true);
  assert.equal(own.campaign, second);
  assert.equal(own.follow(first), false);
  assert.equal(own.follow(survey), false);
  assert.equal(own.follow({ ...third }), false); // not from readCampaign
  assert.equal(own.follow(third), true);
  assert.equal((await own.report(values)).campaign, third.fingerprint);
});

test("a policy that the next wave does not keep stops the client from following", async () => {
  const tight = new Client(first, { storage: memory(), policy: { epsilon: 1 }, now });
  const weights = second.tables[0].weights;
  assert.equal(noutput.certify(weights, 1), -1); // within the policy: so it is followed
  assert.equal(tight.follow(second), true);
});

test("what is drawn belongs to the wave that was asked, whatever is followed meanwhile", async () => {
  const own = client(first);
  const waiting = own.reports(values);
  own.follow(second);
  const [report] = await waiting;
  assert.equal(report.campaign, first.fingerprint);
});

test("a document of another chain than the known one is refused", async () => {
  const fetch = async () => new Response(good[1].text);
  const found = await fetchCampaign("https://a.example/campaigns/adaptive", { fetch, root: first.fingerprint });
  assert.equal(found.fingerprint, second.fingerprint);
  const other = fetchCampaign("https://a.example/campaigns/adaptive", { fetch, root: survey.root });
  await assert.rejects(other, { code: "document", message: /bad root/ });
});
