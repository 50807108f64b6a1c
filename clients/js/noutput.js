/**
 * Answers noutput campaigns so that nobody learns the number: certifies the campaign's table in
 * whole numbers, draws with the platform's secure randomness, remembers, sends.
 *
 * One file without dependencies, for browsers and Node 18 or later. docs/wire.md describes what
 * it speaks; tests/vectors holds what it shares with the Python client.
 */

const SCALE = 2 ** 32;
const MAX_CAMPAIGN = 2 ** 24;
const MAX_ANSWER = 2 ** 16;
const KEY = "noutput-ledger";
const AGAIN = [408, 425, 429, 500, 502, 503, 504];

const nodeCrypto = "node:crypto"; // a variable, so that bundlers for browsers leave it alone
const crypto = globalThis.crypto ?? (await import(nodeCrypto)).webcrypto;

/** `code` is "document", "privacy", "policy", "closed", "value" or "delivery". */
export class NoutputError extends Error {
  constructor(code, message, details) {
    super(message);
    this.name = "NoutputError";
    this.code = code;
    Object.assign(this, details);
  }
}

const need = (holds, code, message) => {
  if (!holds) throw new NoutputError(code, message);
};
const expect = (holds, part) => need(holds, "document", `the campaign has a bad ${part}`);

/** A BigInt that is not above 2^64 e^epsilon, from the exact fraction that epsilon stands for. */
export function exponentialFloor(epsilon) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.min(epsilon, 32));
  const bits = view.getBigUint64(0);
  const exponent = bits >> 52n;
  const mantissa = (bits & ((1n << 52n) - 1n)) | (exponent ? 1n << 52n : 0n);
  const shift = 1075n - (exponent || 1n);
  let term = 1n << 128n;
  let total = term;
  for (let n = 1n; term; n++) {
    term = (term * mantissa) / (n << shift);
    total += term;
  }
  return total >> 64n;
}

/** The first output whose weights differ by more than e^epsilon, or -1 where none does. */
export function certify(weights, epsilon) {
  const floor = exponentialFloor(epsilon);
  return weights[0].findIndex((_, i) => {
    const column = weights.map((row) => row[i]);
    return BigInt(Math.max(...column)) << 64n > floor * BigInt(Math.min(...column));
  });
}

/** The output for one number of [-1, 1] and two halves of a random 64-bit word. */
export function draw(table, x, upper, lower) {
  const { knots, thresholds } = table;
  let cell = knots.length - 2;
  while (cell && knots[cell] > x) cell--;
  const rise = SCALE / (knots[cell + 1] - knots[cell]);
  const row = upper < (x - knots[cell]) * rise ? cell + 1 : cell;
  return thresholds[row].findIndex((sum) => lower < sum);
}

/** Map a number to [-1, 1]; one outside the bounds is moved to the nearer bound. */
export function toUnit({ name, lower, upper }, value) {
  // The message never repeats the value, because it is private.
  need(isFinite(value), "value", `the value of ${name} must be a finite number`);
  const inside = Math.min(Math.max(value, lower), upper);
  return Math.min(Math.max((inside - lower) / ((upper - lower) / 2) - 1, -1), 1);
}

const { isFinite, isInteger } = Number;
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const random = (length) => crypto.getRandomValues(new Uint32Array(length));

const pack = (size, method, values) => {
  const view = new DataView(new ArrayBuffer(size * values.length));
  values.forEach((value, i) => view[method](i * size, value, true));
  return view;
};
const words = (...values) => pack(4, "setUint32", values);
const doubles = (...values) => pack(8, "setFloat64", values);
const texts = (...values) =>
  values.flatMap((value) => {
    const data = new TextEncoder().encode(value);
    return [words(data.length), data];
  });

async function fingerprint(...parts) {
  need(crypto.subtle, "document", "the page must come over https");
  const data = await new Blob(parts).arrayBuffer();
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", data)));
}

const isObject = (value) => value?.constructor === Object;
const isList = (value, low, high) =>
  Array.isArray(value) && value.length >= low && value.length <= high;
const hasKeys = (value, keys) => isObject(value) && Object.keys(value).sort().join() === keys;
const isIncreasing = (values, most) =>
  isList(values, 2, most) &&
  values.every((value, i) => isFinite(value) && !(i && value <= values[i - 1]));
const isText = (value, low, high) => {
  if (typeof value !== "string" || /[\0-\x1f\x7f-\x9f\ud800-\udfff]/u.test(value)) return false;
  const { length } = new TextEncoder().encode(value);
  return length >= low && length <= high;
};
const isMatch = (value, pattern) => typeof value === "string" && pattern.test(value);
const isInstant = (value) => {
  const time = isText(value, 20, 20) ? Date.parse(value) : NaN;
  return isFinite(time) && new Date(time).toISOString() === value.replace("Z", ".000Z");
};
const freeze = (value) => {
  if (typeof value === "object" && value) Object.values(value).forEach(freeze);
  return Object.freeze(value);
};

async function readTable(found) {
  const keys = "epsilon,fingerprint,format,knots,outputs,scale,version,weights";
  expect(hasKeys(found, keys) && found.format === "noutput-table", "table");
  const { epsilon, knots, weights } = found;
  expect(found.version === 1 && found.scale === SCALE, "version");
  expect(isFinite(epsilon) && epsilon > 0, "epsilon");
  expect(isIncreasing(found.outputs, 256), "outputs");
  expect(isIncreasing(knots, 4096), "knots");
  const outputs = found.outputs.map((value) => value + 0); // no negative zero
  const size = outputs.length;
  const isRow = (row) =>
    isList(row, size, size) &&
    row.every((weight) => isInteger(weight) && weight >= 1 && weight < SCALE) &&
    row.reduce((a, b) => a + b) === SCALE;
  expect(isList(weights, knots.length, knots.length) && weights.every(isRow), "weights");
  const output = certify(weights, epsilon);
  need(output < 0, "privacy", `output ${output} is not as private as the table claims`);
  const isMean = (row, k) => {
    const sum = row.reduce((total, weight, i) => total + weight * outputs[i], 0);
    return Math.abs(sum / SCALE - knots[k]) <= 1e-9;
  };
  expect(knots[0] === -1 && knots.at(-1) === 1 && weights.every(isMean), "knots");
  const print = await fingerprint(
    "noutput-table 1\n",
    doubles(epsilon),
    words(size, knots.length),
    doubles(...outputs, ...knots),
    ...weights.map((row) => words(...row)),
  );
  expect(found.fingerprint === print, "fingerprint");
  const thresholds = weights.map((row) => {
    let sum = 0;
    return row.map((weight) => (sum += weight));
  });
  return { epsilon, outputs, knots, weights, thresholds, fingerprint: print };
}

const isAttribute = (value) =>
  hasKeys(value, "lower,name,unit,upper") &&
  isMatch(value.name, /^[a-z][a-z0-9_]{0,63}$/) &&
  isText(value.unit, 0, 64) &&
  isFinite(value.lower) &&
  isFinite(value.upper) &&
  value.lower < value.upper &&
  isFinite(value.upper - value.lower);

const certified = new WeakSet(); // frozen, so what is drawn from is what was certified

/** Read a campaign from JSON text, certify its table, and return it frozen. */
export async function readCampaign(text) {
  const found = parse(text);
  const keys =
    "attributes,closes,fingerprint,format,goal,id,opens,public,question,table,title,version";
  expect(hasKeys(found, keys) && found.format === "noutput-campaign", "format");
  const { id, title, question, goal, opens, closes, attributes } = found;
  expect(found.version === 1, "version");
  expect(isMatch(id, /^[a-z0-9][a-z0-9-]{0,63}$/), "id");
  expect(isText(title, 1, 200), "title");
  expect(isText(question, 1, 1000), "question");
  expect(["mean", "distribution"].includes(goal), "goal");
  expect(typeof found.public === "boolean", "public");
  expect(isInstant(opens) && isInstant(closes) && opens < closes, "opening time");
  expect(isList(attributes, 1, 64) && attributes.every(isAttribute), "attribute");
  const names = new Set(attributes.map(({ name }) => name));
  expect(names.size === attributes.length, "name");
  const table = await readTable(found.table);
  const print = await fingerprint(
    "noutput-campaign 1\n",
    ...texts(id, title, question, goal, opens, closes),
    Uint8Array.of(found.public),
    words(attributes.length),
    ...attributes.flatMap(({ name, unit, lower, upper }) => [
      ...texts(name, unit),
      doubles(lower + 0, upper + 0),
    ]),
    Uint8Array.from(table.fingerprint.match(/../g), (pair) => parseInt(pair, 16)),
  );
  expect(found.fingerprint === print, "fingerprint");
  const campaign = freeze({ ...found, table, epsilon: table.epsilon });
  certified.add(campaign);
  return campaign;
}

/** A person's side of a campaign; throws where the table may lose more than the policy allows. */
export class Client {
  #campaign;
  #policy;
  #storage;
  #now;

  constructor(campaign, { policy, storage = globalThis.localStorage, now = Date.now } = {}) {
    this.#campaign = campaign;
    this.#policy = { epsilon: 1, total: 4, days: 30, ...policy };
    this.#storage = storage;
    this.#now = now;
    const { epsilon, total, days } = this.#policy;
    const good = [epsilon, total, days].every((limit) => isFinite(limit) && limit > 0);
    need(good && storage, "policy", "positive epsilon, total, days and a storage are needed");
    expect(certified.has(campaign), "origin: use readCampaign");
    const output = certify(campaign.table.weights, epsilon);
    need(output < 0, "privacy", `output ${output} may lose more than the policy's ${epsilon}`);
  }

  /** The person's report: a new one, or the one that was stored before. */
  async report(values) {
    const units = this.#units(values);
    return this.#locked((entries) => {
      const stored = entries[this.#campaign.fingerprint];
      return stored ? stored.report : this.#remember(entries, units);
    });
  }

  /** Report, send, and note that it was sent; safe to repeat. */
  async submit(url, values, options) {
    const report = await this.report(values);
    const receipt = await send(url, report, options);
    // It is counted, also where the ledger was cleared meanwhile, or is too full for the note.
    await this.#locked((entries) => {
      entries[report.campaign].sent = true;
      this.#save(entries);
    }).catch(() => {});
    return { report, ...receipt };
  }

  #units(values) {
    const { attributes } = this.#campaign;
    const names = attributes.map(({ name }) => name);
    const named = isObject(values) || names[1] ? values : { [names[0]]: values };
    need(hasKeys(named, names.sort().join()), "value", `the values of ${names} are needed`);
    return attributes.map((attribute) => toUnit(attribute, named[attribute.name]));
  }

  #remember(entries, units) {
    const { fingerprint: campaign, attributes, table, epsilon, opens, closes } = this.#campaign;
    const now = this.#now();
    const open = now >= Date.parse(opens) && now < Date.parse(closes);
    need(open, "closed", `the campaign is open from ${opens} to ${closes}`);
    const { total, days } = this.#policy;
    const cost = Math.min(epsilon, this.#policy.epsilon);
    const spent = Object.values(entries)
      .filter((entry) => entry.answered > now - days * 864e5)
      .reduce((sum, entry) => sum + entry.epsilon, 0);
    need(
      spent + cost <= total * (1 + 2 ** -40), // 0.1 + 0.2 is within 0.3
      "policy",
      `the policy allows ${total} in ${days} days; ${spent} is spent, this costs ${cost}`,
    );
    const place = below(units.length);
    const output = draw(table, units[place], ...random(2));
    const id = hex(crypto.getRandomValues(new Uint8Array(16)));
    const report = { version: 1, campaign, attribute: attributes[place].name, output, id };
    entries[campaign] = { report, epsilon: cost, answered: now, sent: false };
    this.#save(entries);
    return report;
  }

  #save(reports) {
    this.#storage.setItem(KEY, JSON.stringify({ version: 1, reports }));
  }

  /** Between reading and saving nothing else of this page runs; other pages wait for the lock. */
  async #locked(work) {
    const locks = globalThis.navigator?.locks;
    const run = () => {
      const found = parse(this.#storage.getItem(KEY) ?? '{"version":1,"reports":{}}');
      need(found.version === 1, "policy", "the ledger must be of version 1");
      return work(found.reports);
    };
    return locks ? locks.request(KEY, run) : run();
  }
}

/** A whole number below a limit, each equally likely. */
function below(limit) {
  for (;;) {
    const [word] = random(1);
    if (word < SCALE - (SCALE % limit)) return word % limit;
  }
}

const trim = (url) => String(url).replace(/\/+$/, "");

/** Fetch a campaign from its address, and certify it. */
export async function fetchCampaign(url, options) {
  return readCampaign(await exchange(trim(url), undefined, MAX_CAMPAIGN, options));
}

/** Send a report to the campaign at an address; attempts share the report's id. */
export async function send(url, report, options) {
  const answer = await exchange(`${trim(url)}/reports`, JSON.stringify(report), MAX_ANSWER, options);
  const { accepted, repeated } = parse(answer);
  const counted = [0, 1].includes(repeated) && accepted === 1 - repeated;
  need(counted, "delivery", "the server acknowledges nothing");
  return { accepted, repeated };
}

const parse = (text) => {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
};

async function read(response, most) {
  const reader = response.body?.getReader();
  const pieces = [];
  let size = 0;
  for (let step; reader && !(step = await reader.read()).done; pieces.push(step.value)) {
    size += step.value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      need(false, "delivery", `the server sent more than ${most} bytes`);
    }
  }
  return new Blob(pieces).text();
}

async function attempt(url, body, most, fetch, timeout) {
  const response = await fetch(url, {
    method: body ? "POST" : "GET",
    headers: body ? { "Content-Type": "application/vnd.noutput.report+json" } : {},
    body,
    credentials: "omit",
    redirect: "manual",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(timeout),
  });
  const { status } = response;
  if (status === 200) return read(response, most);
  const moved = response.type === "opaqueredirect" || (status >= 300 && status < 400);
  const { type: problem, detail } = moved ? {} : parse(await read(response, MAX_ANSWER));
  const after = response.headers.get("Retry-After");
  const wait = /^\d{1,9}$/.test(after) ? Math.min(after * 1000, 6e4) : undefined;
  const message = moved
    ? "the server redirects"
    : `the server refused with status ${status}: ${String(detail).slice(0, 500)}`;
  throw new NoutputError("delivery", message, { status, problem, wait });
}

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

async function exchange(url, body, most, options = {}) {
  const { fetch = globalThis.fetch, attempts = 6, timeout = 1e4, sleep = pause } = options;
  for (let tried = 1; ; tried++) {
    try {
      return await attempt(url, body, most, fetch, timeout);
    } catch (error) {
      const own = error instanceof NoutputError;
      if (own && !AGAIN.includes(error.status)) throw error;
      const failure = own ? error : new NoutputError("delivery", `no answer: ${error.message}`);
      if (tried >= attempts) throw failure;
      const longest = Math.min(250 * 2 ** tried, 3e4);
      await sleep(failure.wait ?? (random(1)[0] / SCALE) * longest);
    }
  }
}
