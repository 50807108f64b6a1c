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
  let cell = 0;
  // By halves, so that the time does not depend on x.
  for (let end = knots.length - 1, middle; (middle = (cell + end) >> 1) > cell; ) {
    if (knots[middle] > x) end = middle;
    else cell = middle;
  }
  const rise = SCALE / (knots[cell + 1] - knots[cell]);
  const row = upper < (x - knots[cell]) * rise ? cell + 1 : cell;
  return thresholds[row].findIndex((sum) => lower < sum);
}

/** Map a number to [-1, 1]; one outside the bounds is moved to the nearer bound. */
export function toUnit({ name, lower, upper }, value) {
  // The message never repeats the value, because it is private.
  need(isFinite(value), "value", `the value of ${name} must be a finite number`);
  const inside = clamp(value, lower, upper);
  return clamp((inside - lower) / ((upper - lower) / 2) - 1, -1, 1);
}

const { isFinite, isInteger } = Number;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const encode = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const random = (length) => crypto.getRandomValues(new Uint32Array(length));

const pack = (size, method, values) => {
  const view = new DataView(new ArrayBuffer(size * values.length));
  values.forEach((value, i) => view[method](i * size, value + 0, true)); // no negative zero
  return view;
};
const words = (...values) => pack(4, "setUint32", values);
const doubles = (...values) => pack(8, "setFloat64", values);
const texts = (...values) =>
  values.flatMap((value) => {
    const data = encode(value);
    return [words(data.length), data];
  });

async function sha256(...parts) {
  need(crypto.subtle, "document", "the page must come over https");
  return crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer());
}

const isObject = (value) => value?.constructor === Object;
const hasLength = ({ length }, low, high) => length >= low && length <= high;
const isList = (value, low, high) => Array.isArray(value) && hasLength(value, low, high);
const isIncreasing = (values, most) =>
  isList(values, 2, most) &&
  values.every((value, i) => isFinite(value) && !(i && value <= values[i - 1]));
const isText = (value, low, high) =>
  typeof value === "string" &&
  !/[\0-\x1f\x7f-\x9f\ud800-\udfff]/u.test(value) &&
  hasLength(encode(value), low, high);
const isPositive = (value) => isFinite(value) && value > 0;
const isMatch = (value, pattern) => typeof value === "string" && pattern.test(value);
const isInstant = (value) => {
  const time = isText(value, 20, 20) ? Date.parse(value) : NaN;
  return isFinite(time) && value > "0001" && new Date(time).toISOString() === value.replace("Z", ".000Z");
};
const freeze = (value) => {
  if (typeof value === "object" && value) Object.values(value).forEach(freeze);
  return Object.freeze(value);
};

async function readTable(found) {
  expect(found?.format === "noutput-table", "table");
  const { epsilon, outputs, knots, weights } = found;
  expect(found.version === 1 && found.scale === SCALE, "version");
  expect(isPositive(epsilon), "epsilon");
  expect(isIncreasing(outputs, 256), "outputs");
  expect(isIncreasing(knots, 4096), "knots");
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
  const digest = await sha256(
    "noutput-table 1\n",
    doubles(epsilon),
    words(size, knots.length),
    doubles(...outputs, ...knots),
    ...weights.map((row) => words(...row)),
  );
  const fingerprint = hex(digest);
  expect(found.fingerprint === fingerprint, "fingerprint");
  const thresholds = weights.map((row) => {
    let sum = 0;
    return row.map((weight) => (sum += weight));
  });
  return [{ epsilon, outputs, knots, weights, thresholds, fingerprint }, digest];
}

const isAttribute = (value) =>
  isMatch(value?.name, /^[a-z][a-z0-9_]{0,63}$/) &&
  isText(value.unit, 0, 64) &&
  isFinite(value.lower) &&
  isFinite(value.upper) &&
  isPositive((value.upper - value.lower) / 2);

const certified = new WeakSet(); // frozen, so what is drawn from is what was certified

/** Read a campaign from JSON (text, or its bytes), certify its table, and return it frozen. */
export async function readCampaign(data) {
  const found = parse(data, isPlain);
  expect(found.format === "noutput-campaign", "format");
  const { id, title, question, goal, opens, closes, attributes } = found;
  expect(found.version === 1, "version");
  expect(isMatch(id, /^[a-z0-9][a-z0-9-]{0,63}$/), "id");
  expect(isText(title, 1, 200), "title");
  expect(isText(question, 1, 1000), "question");
  expect(["balanced", "mean", "distribution"].includes(goal), "goal");
  expect(typeof found.public === "boolean", "public");
  expect(isInstant(opens) && isInstant(closes) && opens < closes, "opening time");
  expect(isList(attributes, 1, 64) && attributes.every(isAttribute), "attribute");
  const names = new Set(attributes.map(({ name }) => name));
  expect(names.size === attributes.length, "name");
  const [table, digest] = await readTable(found.table);
  const print = await sha256(
    "noutput-campaign 1\n",
    ...texts(id, title, question, goal, opens, closes),
    Uint8Array.of(found.public),
    words(attributes.length),
    ...attributes.flatMap(({ name, unit, lower, upper }) => [
      ...texts(name, unit),
      doubles(lower, upper),
    ]),
    digest,
  );
  expect(found.fingerprint === hex(print), "fingerprint");
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
    const good = [epsilon, total, days].every(isPositive);
    need(good && storage, "policy", "positive epsilon, total, days and a storage are needed");
    expect(certified.has(campaign), "origin: use readCampaign");
    const output = certify(campaign.table.weights, epsilon);
    const message = `the campaign asks for epsilon ${campaign.epsilon}, and the policy allows ${epsilon}`;
    need(output < 0, "privacy", message);
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
    const good = isObject(named) && `${Object.keys(named).sort()}` === `${names.sort()}`;
    need(good, "value", `the values of ${names} are needed`);
    return attributes.map((attribute) => toUnit(attribute, named[attribute.name]));
  }

  #remember(entries, units) {
    const { fingerprint: campaign, attributes, table, epsilon, opens, closes } = this.#campaign;
    const now = this.#now();
    const open = now >= Date.parse(opens) && now < Date.parse(closes);
    need(open, "closed", `the campaign is open from ${opens} to ${closes}`);
    const { total, days } = this.#policy;
    const cost = Math.min(epsilon, this.#policy.epsilon);
    const since = now - days * 864e5;
    const add = (sum, entry) => sum + (entry.answered > since ? entry.epsilon : 0);
    const spent = Object.values(entries).reduce(add, 0);
    need(
      spent + cost <= total * (1 + 2 ** -40), // 0.1 + 0.2 is within 0.3
      "policy",
      `the policy allows ${total} in ${days} days; ${spent} is spent, this costs ${cost}`,
    );
    const place = below(units.length);
    const output = draw(table, units[place], ...random(2));
    const id = hex(random(4).buffer);
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

/** Parse JSON (text, or bytes of UTF-8); what is none counts as an empty object. */
const parse = (data, check = () => true) => {
  try {
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const text = typeof data === "string" ? data : strict.decode(data);
    const found = JSON.parse(text);
    return check(found, text) ? found ?? {} : {};
  } catch {
    return {};
  }
};

/**
 * What JSON.parse does not tell. A whole number may have neither point nor exponent: in the text,
 * keys are followed by their numbers, lists included. No key may be there twice, nor an unknown
 * one: the text has as many as are read, 12 of a campaign, 8 of its table, 4 of each attribute.
 */
const isPlain = ({ attributes }, text) => {
  const strings = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:[-+.\deE[\],\s]*)?/g;
  const members = [...text.matchAll(strings)].filter(([, , digits]) => digits);
  // Of the known keys only version, scale and weights begin with one of these letters.
  const isWhole = ([, key, digits]) => !/[.e]/i.test(digits) || !/^[vsw]/.test(JSON.parse(key));
  return members.length === 20 + 4 * attributes.length && members.every(isWhole);
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
  return new Blob(pieces).arrayBuffer();
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
  const moved = /^(0|3..)$/.test(status); // browsers show a page 0 for a redirect
  const { type: problem, detail } = moved ? {} : parse(await read(response, MAX_ANSWER));
  const after = response.headers.get("Retry-After");
  const wait = /^\d{1,9}$/.test(after) ? Math.min(after * 1000, 6e4) : undefined;
  const message = moved
    ? "the server redirects"
    : `the server refused with status ${status}: ${`${detail}`.slice(0, 500)}`;
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
