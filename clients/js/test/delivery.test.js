import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { memory, noutput, shortNap, textOf } from "../testing/module.js";

const { Client, fetchCampaign, readCampaign, send } = noutput;
const text = textOf("commute");
const campaign = await readCampaign(text);
const now = () => Date.parse("2026-11-01T00:00:00Z");
const newClient = (storage) => new Client(campaign, { storage, now });

/** Run work against a server that answers the n-th request with the n-th of `answers`. */
async function served(answers, work) {
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push({ method: request.method, url: request.url, headers: request.headers, body });
      if (answer === "drop") return request.socket.destroy();
      if (answer === "hang") return undefined;
      response.writeHead(answer.status ?? 200, answer.headers ?? {});
      return response.end(answer.body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work(`http://127.0.0.1:${server.address().port}/campaigns/commute`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const counted = { body: '{"accepted":1,"repeated":0}' };
const problem = (status, name, headers) => ({
  status,
  headers: { "Content-Type": "application/problem+json", ...headers },
  body: JSON.stringify({ type: `urn:noutput:problem:${name}`, status, detail: "because" }),
});

test("a campaign is fetched and certified", async () => {
  await served([{ body: text }], async (url, seen) => {
    assert.equal((await fetchCampaign(new URL(`${url}/`))).fingerprint, campaign.fingerprint);
    assert.deepEqual([seen[0].method, seen[0].url], ["GET", "/campaigns/commute"]);
    assert.equal(seen[0].headers.cookie, undefined);
  });
});

test("every attempt sends the same bytes", async () => {
  const answers = ["drop", problem(503, "unavailable"), problem(429, "too-many-requests"), counted];
  await served(answers, async (url, seen) => {
    const result = await newClient(memory()).submit(`${url}/`, 42, shortNap);
    assert.equal(result.accepted, 1);
    assert.equal(seen.length, 4);
    assert.equal(new Set(seen.map((request) => request.body)).size, 1);
    assert.deepEqual([JSON.parse(seen[0].body)], result.reports);
    assert.equal(seen[0].url, "/campaigns/commute/reports");
    assert.equal(seen[0].headers["content-type"], "application/vnd.noutput.report+json");
  });
});

test("a report that could not be sent is sent later, the same", async () => {
  const storage = memory();
  await served(["drop"], async (url, seen) => {
    const attempt = newClient(storage).submit(url, 42, { ...shortNap, attempts: 3 });
    await assert.rejects(attempt, { code: "delivery" });
    assert.equal(seen.length, 3);
    const kept = JSON.parse(storage.getItem("noutput-ledger")).reports[campaign.fingerprint];
    assert.equal(kept.sent, false);
    await served([counted], async (other, later) => {
      await newClient(storage).submit(other, 99, shortNap);
      assert.equal(later[0].body, seen[0].body);
    });
    const sent = JSON.parse(storage.getItem("noutput-ledger")).reports[campaign.fingerprint];
    assert.equal(sent.sent, true);
  });
});

test("a storage that was cleared meanwhile does not fail what was sent", async () => {
  const storage = memory();
  await served([counted], async (url) => {
    const fetch = (...request) => {
      storage.entries.clear();
      return globalThis.fetch(...request);
    };
    assert.equal((await newClient(storage).submit(url, 42, { ...shortNap, fetch })).accepted, 1);
    assert.equal(storage.entries.size, 0);
  });
});

test("what may pass is sent again, with the same bytes", async () => {
  const report = await newClient(memory()).report(42);
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    await served([problem(status, "later"), counted], async (url, seen) => {
      assert.equal((await send(url, report, shortNap)).accepted, 1);
      assert.deepEqual(seen.map(({ body }) => body), Array(2).fill(JSON.stringify(report)));
    });
  }
});

test("nothing that is sent identifies the person, and redirects are left alone", async () => {
  const report = await newClient(memory()).report(42);
  const asked = [];
  const fetch = async (url, options) => {
    asked.push(options);
    return new Response(options.method === "GET" ? text : counted.body);
  };
  await fetchCampaign("https://collect.example/campaigns/commute", { fetch });
  await send("https://collect.example/campaigns/commute", report, { fetch });
  for (const { credentials, redirect, referrerPolicy, signal } of asked) {
    assert.deepEqual([credentials, redirect, referrerPolicy], ["omit", "manual", "no-referrer"]);
    assert.ok(signal instanceof AbortSignal);
  }
  assert.deepEqual(asked.map(({ headers }) => Object.keys(headers)), [[], ["Content-Type"]]);
});

test("an answer that never ends is given up as a whole", async () => {
  const report = await newClient(memory()).report(42);
  const fetch = async (url, { signal }) => {
    const body = new ReadableStream({
      start: (stream) => signal.addEventListener("abort", () => stream.error(signal.reason)),
      pull: async (stream) => {
        await new Promise((resolve) => setImmediate(resolve));
        if (!signal.aborted) stream.enqueue(new Uint8Array(0)); // a drip at every read
      },
    });
    return new Response(body, { status: 404 });
  };
  const options = { fetch, attempts: 1, timeout: 20 };
  const given = send("https://collect.example/campaigns/commute", report, options);
  await assert.rejects(given, { code: "delivery", message: /no answer/ });
});

test("a campaign has at most 16 mebibytes, in UTF-8 without a mark", async () => {
  const serve = (body) => ({ fetch: async () => new Response(body) });
  const url = "https://collect.example/campaigns/commute";
  assert.equal((await fetchCampaign(url, serve(text.padEnd(2 ** 24)))).id, campaign.id);
  const large = fetchCampaign(url, serve(text.padEnd(2 ** 24 + 1)));
  await assert.rejects(large, { code: "delivery", message: /more than 16777216/ });
  await assert.rejects(fetchCampaign(url, serve(`\ufeff${text}`)), { code: "document" });
  await assert.rejects(fetchCampaign(url, serve(Buffer.from(text, "utf16le"))), { code: "document" });
});

test("Retry-After is honored up to a minute", async () => {
  const waits = [];
  const sleep = async (time) => void waits.push(time);
  const answers = ["7", "100000", "soon"].map((after) =>
    problem(429, "too-many-requests", { "Retry-After": after }));
  await served([...answers, counted], async (url) => {
    await newClient(memory()).submit(url, 42, { sleep });
  });
  assert.deepEqual(waits.slice(0, 2), [7000, 60000]);
  assert.ok(waits[2] >= 0 && waits[2] <= 2000);
});

test("refusals and redirects are final and say why", async () => {
  const report = await newClient(memory()).report(42);
  await served([problem(409, "wrong-fingerprint")], async (url, seen) => {
    await assert.rejects(send(url, report, shortNap), {
      code: "delivery", status: 409, problem: "urn:noutput:problem:wrong-fingerprint",
      message: /because/,
    });
    assert.equal(seen.length, 1);
  });
  await served([{ status: 307, headers: { Location: "http://127.0.0.1:9/" } }], async (url, seen) => {
    await assert.rejects(send(url, report, shortNap), { code: "delivery", message: /redirects/ });
    assert.equal(seen.length, 1);
  });
});

test("endless, silent and foolish servers are given up", async () => {
  const report = await newClient(memory()).report(42);
  await served([{ body: " ".repeat(70000) }], async (url) => {
    await assert.rejects(send(url, report), { code: "delivery", message: /more than 65536/ });
  });
  await served(["hang"], async (url, seen) => {
    const options = { ...shortNap, attempts: 2, timeout: 50 };
    await assert.rejects(send(url, report, options), { code: "delivery", message: /no answer/ });
    assert.equal(seen.length, 2);
  });
  for (const body of ["", "[]", "null", "{}", '{"accepted":0,"repeated":0}',
    '{"accepted":2,"repeated":-1}', '{"accepted":-1,"repeated":2}',
    '{"accepted":0.5,"repeated":0.5}', '{"accepted":true,"repeated":false}']) {
    await served([{ body }], async (url) => {
      await assert.rejects(send(url, report), { code: "delivery", message: /acknowledge/ });
    });
  }
});
