import assert from "node:assert/strict";
import { test } from "node:test";

import { admit, blind, enroll, finalize } from "../enroll.js";
import { memory, noutput, vectors } from "../testing/module.js";

const { Client, readCampaign } = noutput;
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const number = (text) => BigInt(`0x${text}`);
const now = () => Date.parse("2026-11-01T00:00:00Z");
const campaigns = vectors("tokens").cases;

test("the vectors of RFC 9474", async () => {
  const found = vectors("blind_rsa");
  const [modulus, message, salt] = [number(found.p) * number(found.q), bytes(found.msg), bytes(found.salt)];
  const factor = number(vectors("tokens").factor);
  assert.equal(await blind(message, modulus, salt, factor), number(found.blinded_msg));
  const signature = await finalize(message, number(found.blind_sig), modulus, salt, factor);
  assert.deepEqual(signature, bytes(found.sig));
  assert.equal(await finalize(message, number(found.blind_sig) + 1n, modulus, salt, factor), undefined);
});

test("the vectors of RFC 9578", async () => {
  const { public_key: key, cases } = vectors("privacy_pass");
  const modulus = number(key.slice(162, -10));
  for (const each of cases) {
    const [salt, factor] = [bytes(each.salt), number(each.blind)];
    const message = bytes(each.token.slice(0, 196));
    const blinded = await blind(message, modulus, salt, factor);
    assert.equal(blinded, number(each.token_request.slice(6)));
    const signature = await finalize(message, number(each.token_response), modulus, salt, factor);
    assert.equal(Buffer.from(signature).toString("hex"), each.token.slice(196));
  }
});

test("reports carry tokens and the ids that spend them", async () => {
  for (const { campaign, token, ids, values } of campaigns) {
    const own = await readCampaign(campaign);
    const storage = memory();
    const client = new Client(own, { storage, now, policy: { epsilon: 8, total: 8 } });
    await assert.rejects(client.reports(values), { code: "value", message: "a token is needed" });
    const reports = await client.reports(values, await admit(own, token));
    assert.deepEqual(reports.map(({ id }) => id), ids.slice(0, reports.length));
    assert.ok(reports.every((report) => report.token === token));
    const again = new Client(own, { storage, now, policy: { epsilon: 8, total: 8 } });
    assert.deepEqual(await again.reports(values), reports);
  }
});

test("tokens of other campaigns are refused", async () => {
  const own = await Promise.all(campaigns.map(({ campaign }) => readCampaign(campaign)));
  for (const [i, campaign] of own.entries()) {
    for (const [k, { token }] of campaigns.entries()) {
      if (i !== k) await assert.rejects(admit(campaign, token), { code: "value" });
    }
    for (const bad of [undefined, "", 3, "!".repeat(24), "A".repeat(472)]) {
      await assert.rejects(admit(campaign, bad), { code: "value" });
    }
  }
});

/** A body that fails the test where more of it is read than so many bytes and a few pieces. */
function endless(most) {
  let sent = 0;
  const pull = (controller) => {
    assert.ok((sent += 256) <= most + 4096);
    controller.enqueue(new Uint8Array(256));
  };
  return new ReadableStream({ pull });
}
const broken = () => new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) });

test("a key with small factors learns nothing", async () => {
  // a factor that message and modulus share is one of what the issuer sees, whatever hides it
  let small = 1n;
  for (let i = 3n; i < 500n; i += 2n) if (small % i) small *= i;
  const modulus = small * (((1n << 2047n) / small) | 1n) + 2n * small;
  assert.equal(modulus.toString(2).length, 2048);
  const attempts = Array.from({ length: 100 }, (_, i) => blind(bytes("00"), modulus, new Uint8Array(48).fill(i), 1n));
  const failed = (await Promise.allSettled(attempts)).filter(({ reason }) => reason?.code === "document");
  assert.ok(failed.length > 50);
});

const json = (content) => new Response(JSON.stringify(content));

test("an issuer that does not play by the rules is found out", async () => {
  const { campaign } = campaigns[1];
  const own = await readCampaign(campaign);
  const { issuer, key } = own.admission;
  const directory = (change) => ({ "issuer-request-uri": "/sign", "token-keys": [{ "token-key": key }], ...change });
  const cases = [
    [() => json({}), /does not offer/],
    [() => json(directory({ "token-keys": [{ "token-key": "other" }] })), /does not offer/],
    [() => json(directory({ "issuer-request-uri": "https://elsewhere.example/" })), /another host/],
    [() => new Response("no", { status: 401 }), /status 401/],
    [(url) => (url === `${issuer}/sign` ? new Response(new Uint8Array(256)) : json(directory())), /not signed/],
    [(url) => (url === `${issuer}/sign` ? new Response(new Uint8Array(9)) : json(directory())), /not signed/],
    [() => Promise.reject(new Error("offline")), /no answer from the issuer: offline/],
    [() => new Response("null"), /does not offer/],
    [() => json(directory({ "token-keys": [null, 3] })), /does not offer/],
    [() => json(directory({ "issuer-request-uri": "http://[" })), /another host/],
    [() => new Response(endless(2 ** 21)), /sent too much/],
    [(url) => (url === `${issuer}/sign` ? new Response(endless(600)) : json(directory())), /sent too much/],
    [(url) => (url === `${issuer}/sign` ? new Response(broken()) : json(directory())), /no answer from the issuer: cut/],
    [() => new Response(broken()), /no answer from the issuer: cut/],
  ];
  for (const [fetch, message] of cases) {
    await assert.rejects(enroll(own, { storage: memory(), fetch }), { code: "delivery", message });
  }
  await assert.rejects(enroll(await readCampaign(campaigns[0].campaign), {}), { code: "value" });
});

test("an enrollment that was interrupted asks for the same again", async () => {
  const own = await readCampaign(campaigns[1].campaign);
  const { key } = own.admission;
  const storage = memory();
  const bodies = [];
  const fetch = (url, { body }) => {
    if (!body) return json({ "issuer-request-uri": "/sign", "token-keys": [{ "token-key": key }] });
    bodies.push(Buffer.from(body).toString("hex"));
    throw new Error("offline");
  };
  for (let i = 0; i < 2; i++) await assert.rejects(enroll(own, { storage, fetch, credential: "code" }));
  assert.equal(bodies[0].length, 518);
  assert.equal(bodies[1], bodies[0]);
});
