/**
 * Answers noutput campaigns so that nobody learns the answer: certifies the campaign's tables in
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

const { isFinite, isInteger } = Number;
const { isArray } = Array;
const { keys } = Object;
const { abs, max, min } = Math;
const nodeCrypto = "node:crypto"; // a variable, so that bundlers for browsers leave it alone
const crypto = globalThis.crypto ?? (await import(nodeCrypto)).webcrypto;

/** `code` is "document", "privacy", "policy", "closed", "value" or "delivery". */
export class NoutputError extends Error {
  constructor(code, message, details) {
    super(message);
    Object.assign(this, { name: "NoutputError", code, ...details });
  }
}

const need = (holds, code, message) => {
  if (!holds) throw new NoutputError(code, message);
};
const expect = (holds, part) =>
  need(holds, "document", `the campaign has a bad ${part}, or needs a newer version of noutput`);

/** A BigInt that is not above 2^64 e^epsilon, from the exact fraction that epsilon stands for. */
export function exponentialFloor(epsilon) {
  let numerator = min(epsilon, 32);
  let shift = 0n;
  for (; numerator % 1; numerator *= 2) shift++;
  let term = 1n << 128n;
  let total = term;
  for (let n = 1n; term; n++) {
    term = (term * BigInt(numerator)) / (n << shift);
    total += term;
  }
  return total >> 64n;
}

/** The largest and the smallest weight of every output. */
const extremes = (weights) =>
  weights[0].map((_, i) => {
    const column = weights.map((row) => row[i]);
    return [BigInt(max(...column)), BigInt(min(...column))];
  });

/** The first output whose weights differ by more than e^epsilon, or -1 where none does. */
export function certify(weights, epsilon) {
  const floor = exponentialFloor(epsilon);
  return extremes(weights).findIndex(([high, low]) => high << 64n > floor * low);
}

/** Whether reports from all tables together lose at most epsilon: their largest ratios multiply. */
function certifyAll(tables, epsilon) {
  const [high, low] = tables
    .map(({ weights }) => extremes(weights).reduce((a, b) => (a[0] * b[1] < b[0] * a[1] ? b : a)))
    .reduce((a, b) => [a[0] * b[0], a[1] * b[1]]);
  return high << 4096n <= exponentialFloor(epsilon / 64) ** 64n * low; // for sums above 32, too
}

/** The output for an input (a number of [-1, 1], or an answer's place) and a 64-bit word's halves. */
export function draw({ knots, thresholds }, input, upper, lower) {
  const row = knots ? drawRow(knots, input, upper) : input;
  return thresholds[row].findIndex((sum) => lower < sum);
}

function drawRow(knots, x, word) {
  let cell = 0;
  // By halves, so that the time does not depend on x.
  for (let end = knots.length - 1, middle; (middle = (cell + end) >> 1) > cell; ) {
    if (knots[middle] > x) end = middle;
    else cell = middle;
  }
  const rise = SCALE / (knots[cell + 1] - knots[cell]);
  return word < (x - knots[cell]) * rise ? cell + 1 : cell;
}

/** The answers of a question as people read them; none for a number. */
export function labels({ kind, answers = [] }) {
  return kind === "yes/no" ? ["no", "yes"] : answers.map(labelOf);
}

/**
 * What a table draws from. A number is moved to the nearer bound where it is outside, and mapped to
 * [-1, 1]; an answer, given by itself or by its label, becomes its place, from 0.
 */
export function encode(question, value) {
  const { kind, name, lower, upper, answers } = question;
  // The message never repeats the value, because it is private.
  const needValue = (holds, rule) => need(holds, "value", `the value of ${name} must be ${rule}`);
  if (kind === "number") {
    needValue(isFinite(value), "a finite number");
    const inside = clamp(value, lower, upper);
    return clamp((inside - lower) / ((upper - lower) / 2) - 1, -1, 1);
  }
  const all = labels(question);
  const lists = answers ? [answers, all] : [[false, true], [0, 1], all];
  const place = max(...lists.map((list) => list.indexOf(value)));
  needValue(place >= 0, `one of ${all.join(", ")}`);
  return place;
}

/** A text as it is, and a number as Python writes it, without ".0". */
const labelOf = (answer) => {
  const size = abs(answer);
  const isLong = isFinite(answer) && (size >= 1e16 || (size > 0 && size < 1e-4));
  return isLong ? answer.toExponential().replace(/e.(?=.$)/, "$&0") : `${answer}`;
};

const clamp = (value, low, high) => min(max(value, low), high);
const utf8 = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
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
    const data = utf8(value);
    return [words(data.length), data];
  });

/** The canonical form of parsed JSON, which fingerprints are taken of, as parts of a Blob. */
export function canonical(value) {
  if (typeof value === "number") return ["d", doubles(value)];
  if (typeof value === "string") return ["s", ...texts(value)];
  if (isArray(value)) return ["l", words(value.length), ...value.flatMap(canonical)];
  if (!isObject(value)) return [`${value}`[0]]; // null, true, false
  const names = keys(value).map((key) => [hex(utf8(key)), key]).sort();
  const entries = names.flatMap(([, name]) => [name, value[name]].flatMap(canonical));
  return ["o", words(names.length), ...entries];
}

async function sha256(...parts) {
  need(crypto.subtle, "document", "https is needed");
  return hex(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

const isObject = (value) => typeof value === "object" && value && !isArray(value);
const has = (low, high) => ({ length }) => length >= low && length <= high;
const isPositive = (value) => isFinite(value) && value > 0;
const isInstant = (value) =>
  isText(20, 20)(value) && value > "0001" && new Date(value).toJSON() === value.replace("Z", ".000Z");

// Rules: functions that make a check of one value.
const oneOf = (...values) => (value) => values.includes(value);
const perhaps = (rule) => (value, found) => value === undefined || rule(value, found);
const isList = (low, high) => (value) => isArray(value) && has(low, high)(value);
const isMatch = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isText = (low, high) => (value) =>
  isMatch(/^[^\0-\x1f\x7f-\x9f\ud800-\udfff]*$/u)(value) && has(low, high)(utf8(value));
const isIncreasing = (most) => (values) =>
  isList(2, most)(values) &&
  values.every((value, i) => abs(value) <= 1e100 && isFinite(value) && !(i && value <= values[i - 1]));
const isUnique = (values) => new Set(values).size === values.length;
const isTexts = (values) => isList(2, 64)(values) && values.every(isText(1, 200)) && isUnique(values);
const isScale = (values) => isIncreasing(64)(values) || isTexts(values);
const isScores = (scores, { answers }) =>
  isIncreasing(64)(scores) && isTexts(answers) && scores.length === answers.length;
const isCount = (value, { kind }) => // of an open admission without one, the text is enough
  value === undefined ? kind !== "open" : isInteger(value) && value > 0 && value <= 1e12;
const isChecked = () => true; // elsewhere
const isGoal = oneOf("balanced", "mean", "distribution");
const isObjective = oneOf("cdf", "shares", "mean", "balanced");

// What objects of a document have, per key: a check of the value and the object, or the only value.
const CAMPAIGN = {
  format: isChecked,
  id: isMatch(/^[a-z0-9][a-z0-9-]{0,63}$/),
  title: isText(1, 200),
  public: oneOf(true, false),
  opens: isInstant,
  closes: (closes, { opens }) => isInstant(closes) && opens < closes,
  fingerprint: isChecked,
};
const CAMPAIGNS = [
  { ...CAMPAIGN, version: 1, question: isText(1, 1000), goal: isGoal, attributes: isList(1, 64), table: isChecked },
  {
    ...CAMPAIGN,
    version: 2,
    text: isText(1, 1000),
    ask: oneOf("one", "all"),
    questions: isList(1, 64),
    waves: isList(1, 1),
    tables: isList(1, 64),
    segments: (value) => isObject(value) && !keys(value).length,
    schedule: null,
    admission: (value) => value === "open" || check(value, "admission", ADMISSIONS, "kind"),
  },
];
const OPEN = { kind: "open", reports_per_hour: isCount };
const TOKEN = { ...OPEN, kind: "token" };
const ADMISSIONS = [
  OPEN,
  TOKEN,
  { ...TOKEN, kind: "anonymous", issuer: isMatch(/^https?:..[\w.:-]+$/), key: isMatch(/^[\w-]{456}$/) },
];
const TABLE = { format: "noutput-table", epsilon: isPositive, scale: SCALE, fingerprint: isChecked };
const TABLES = [
  { ...TABLE, version: 1, outputs: isIncreasing(256), knots: isIncreasing(4096), weights: isList(2, 4096) },
  { ...TABLE, version: 2, weights: isList(2, 64) },
];
const ATTRIBUTE = {
  name: isMatch(/^[a-z][a-z0-9_]{0,63}$/),
  unit: isText(0, 64),
  lower: isFinite,
  upper: (upper, { lower }) => isFinite(upper) && isPositive((upper - lower) / 2),
};
const QUESTION = {
  name: ATTRIBUTE.name,
  label: perhaps(isText(1, 200)),
  text: perhaps(isText(1, 1000)),
  epsilon: perhaps(isPositive),
};
const KINDS = [
  { ...QUESTION, ...ATTRIBUTE, kind: "number" },
  { ...QUESTION, kind: "scale", answers: isScale, scores: perhaps(isScores) },
  { ...QUESTION, kind: "choice", answers: isTexts },
  { ...QUESTION, kind: "yes/no" },
];

/**
 * Check an object by those rules that have its own version or kind, where `key` names one. It has
 * no key without a rule, and for every rule the value that it wants, or one that it returns true for.
 */
const check = (found, part, choices, key) => {
  expect(isObject(found), part);
  const rules = choices.find((each) => each[key] === found[key]) ?? choices[0];
  for (const name of keys({ ...found, ...rules })) {
    const [rule, value] = [rules[name], found[name]];
    const isRule = keys(rules).includes(name); // not one of those that every object inherits
    const holds = isRule && (rule?.call ? rule(value, found) : rule === value);
    expect(holds, `${name.slice(0, 64)} of the ${part}`);
  }
  return true;
};

const freeze = (value) => {
  if (isArray(value) || isObject(value)) Object.values(value).forEach(freeze);
  return Object.freeze(value);
};

async function readTable(found) {
  check(found, "table", TABLES, "version");
  const { version, epsilon, outputs = [], knots = [], weights } = found;
  const isNumeric = version === 1; // else with one row per answer
  const size = (isNumeric ? outputs : weights[0])?.length;
  const isRow = (row) =>
    isList(2, 256)(row) &&
    row.length === size &&
    row.every((weight) => isInteger(weight) && weight >= 1) &&
    row.reduce((a, b) => a + b) === SCALE;
  expect(weights.every(isRow), "weights");
  const output = certify(weights, epsilon);
  need(output < 0, "privacy", `output ${output} is not as private as the table claims`);
  const isMean = (row, k) => {
    const sum = row.reduce((total, weight, i) => total + weight * outputs[i], 0);
    return abs(sum / SCALE - knots[k]) <= 1e-9;
  };
  const isWhole = knots[0] === -1 && knots.at(-1) === 1 && knots.length === weights.length;
  expect(!isNumeric || (isWhole && weights.every(isMean)), "knots");
  const print = await sha256(
    `noutput-table ${version}\n`,
    doubles(epsilon),
    words(size, weights.length),
    doubles(...outputs, ...knots),
    ...weights.map((row) => words(...row)),
  );
  expect(found.fingerprint === print, "fingerprint");
  const thresholds = weights.map((row) => {
    let sum = 0;
    return row.map((weight) => (sum += weight));
  });
  return { ...found, thresholds };
}

/** What a document of version 1 is in terms of version 2: numbers, and one table for all. */
function asSecond({ attributes, goal, table }) {
  attributes.forEach((each) => check(each, "attribute", [ATTRIBUTE]));
  const questions = attributes.map((each) => ({ kind: "number", ...each }));
  const wave = { tables: attributes.map(() => 0), objectives: attributes.map(() => goal) };
  return { ask: "one", questions, waves: [wave], tables: [table] };
}

function canonicalFirst({ id, title, question, goal, opens, closes, public: isPublic, attributes, table }) {
  return [
    ...texts(id, title, question, goal, opens, closes),
    Uint8Array.of(isPublic),
    words(attributes.length),
    ...attributes.flatMap(({ name, unit, lower, upper }) => [...texts(name, unit), doubles(lower, upper)]),
    Uint8Array.from(table.fingerprint.match(/../g), (byte) => `0x${byte}`),
  ];
}

/** The table of every question, from the only wave. */
function assign(questions, wave, tables) {
  const isEach = isList(questions.length, questions.length);
  check(wave, "wave", [{ tables: isEach, objectives: isEach }]);
  // One spelling only: tables are in the order of the first question that has them.
  const places = [...new Set(wave.tables)];
  expect(places.length === tables.length && places.every((place, i) => place === i), "wave");
  return questions.map(({ kind, answers = [0, 1], epsilon }, i) => {
    const table = tables[wave.tables[i]];
    const isNumber = kind === "number";
    expect((isNumber ? isGoal : isObjective)(wave.objectives[i]), "objective");
    const fits = isNumber ? table.knots : !table.knots && table.weights.length === answers.length;
    expect(fits && oneOf(undefined, table.epsilon)(epsilon), "table");
    return table;
  });
}

const certified = new WeakSet(); // frozen, so what is drawn from is what was certified

/** Read a campaign from JSON (text, or its bytes), certify its tables, and return it frozen. */
export async function readCampaign(data) {
  const found = parse(data, isPlain);
  expect(found.format === "noutput-campaign", "format");
  check(found, "document", CAMPAIGNS, "version");
  const { fingerprint, ...signed } = found;
  const isFirst = found.version === 1;
  const { ask, questions, waves, tables: documents } = isFirst ? asSecond(found) : found;
  questions.forEach((each) => check(each, "question", KINDS, "kind"));
  expect(isUnique(questions.map(({ name }) => name)), "name");
  const read = await Promise.all(documents.map(readTable));
  const prints = read.map((table) => table.fingerprint);
  expect(isUnique(prints), "list of tables");
  const tables = assign(questions, waves[0], read);
  const form = isFirst ? canonicalFirst(found) : canonical({ ...signed, tables: prints });
  const print = await sha256(`noutput-campaign ${found.version}\n`, ...form);
  expect(fingerprint === print, "fingerprint");
  const add = (sum, { epsilon }) => (ask === "all" ? sum + epsilon : max(sum, epsilon));
  const campaign = freeze({ ...found, ask, questions, tables, epsilon: tables.reduce(add, 0) });
  certified.add(campaign);
  return campaign;
}

/** The reports of an entry of the ledger; those of version 1 have one. */
const reportsOf = ({ report, reports = [report] }) => reports;
const isEntry = (entry) =>
  isObject(entry) &&
  isPositive(entry.epsilon) &&
  isFinite(entry.answered) &&
  isList(1, 64)(reportsOf(entry)) &&
  reportsOf(entry).every(isObject);

/** A person's side of a campaign; throws where it may lose more than the policy allows. */
export class Client {
  #campaign;
  #settings;

  constructor(campaign, { policy, storage = globalThis.localStorage, now = Date.now } = {}) {
    this.#campaign = campaign;
    this.#settings = { epsilon: 1, total: 4, days: 30, ...policy, storage, now };
    const { epsilon, total, days } = this.#settings;
    const good = [epsilon, total, days].every(isPositive);
    need(good && storage, "policy", "bad epsilon, total, days or storage");
    need(certified.has(campaign), "document", "use readCampaign");
    const { ask, tables } = campaign;
    const fits =
      ask === "all" && tables[1]
        ? certifyAll(tables, epsilon)
        : tables.every(({ weights }) => certify(weights, epsilon) < 0);
    const message = `the campaign asks for epsilon ${campaign.epsilon}, and the policy allows ${epsilon}`;
    need(fits, "privacy", message);
  }

  /** The person's reports, one per question that is asked: new ones, or those stored before. */
  async reports(values, admitted) {
    const inputs = this.#inputs(values);
    return this.#locked((entries) => {
      const stored = entries[this.#campaign.fingerprint];
      return stored ? reportsOf(stored) : this.#remember(entries, inputs, admitted);
    });
  }

  /** The person's report, where the campaign asks for one. */
  async report(values, admitted) {
    need(this.#campaign.ask === "one", "value", "use reports");
    return (await this.reports(values, admitted))[0];
  }

  /** Report, send one by one, and note that all were sent; safe to repeat. */
  async submit(url, values, options = {}) {
    const reports = await this.reports(values, options.admitted);
    let accepted = 0;
    for (const report of reports) accepted += (await send(url, report, options)).accepted;
    // They are counted, also where the ledger was cleared meanwhile, or is too full for the note.
    await this.#locked((entries) => {
      entries[this.#campaign.fingerprint].sent = true;
      this.#save(entries);
    }).catch(() => {});
    return { reports, accepted, repeated: reports.length - accepted };
  }

  #inputs(values) {
    const { questions } = this.#campaign;
    const names = questions.map(({ name }) => name);
    const named = isObject(values) || names[1] ? values : { [names[0]]: values };
    const good = isObject(named) && `${keys(named).sort()}` === `${names.sort()}`;
    need(good, "value", `the values of ${names} are needed`);
    return questions.map((question) => encode(question, named[question.name]));
  }

  #remember(entries, inputs, admitted) {
    const { fingerprint, ask, epsilon, opens, closes, admission } = this.#campaign;
    need(admitted || oneOf(undefined, "open")(admission?.kind), "value", "a token is needed");
    const { epsilon: allowed, total, days, now: clock } = this.#settings;
    const now = clock();
    const open = now >= Date.parse(opens) && now < Date.parse(closes);
    need(open, "closed", `the campaign is open from ${opens} to ${closes}`);
    const cost = min(epsilon, allowed);
    const since = now - days * 864e5;
    const add = (sum, entry) => sum + (entry.answered > since ? entry.epsilon : 0);
    const spent = Object.values(entries).reduce(add, 0);
    need(
      spent + cost <= total * (1 + 2 ** -40), // 0.1 + 0.2 is within 0.3
      "policy",
      `the policy allows ${total} in ${days} days; ${spent} is spent, this costs ${cost}`,
    );
    const places = ask === "all" ? [...inputs.keys()] : [below(inputs.length)];
    const reports = places.map((place) => this.#draw(place, inputs[place], admitted));
    entries[fingerprint] = { reports, epsilon: cost, answered: now, sent: false };
    this.#save(entries);
    return reports;
  }

  #draw(place, input, admitted) {
    const { version, fingerprint: campaign, questions, tables } = this.#campaign;
    const key = version === 1 ? "attribute" : "question";
    const output = draw(tables[place], input, ...random(2));
    const id = hex(random(4).buffer);
    return { version, campaign, [key]: questions[place].name, output, id, ...admitted?.(place) };
  }

  #save(reports) {
    const { storage } = this.#settings;
    const text = JSON.stringify({ version: 2, reports });
    storage.setItem(KEY, text);
    need(storage.getItem(KEY) === text, "policy", "the storage keeps nothing");
  }

  /** Between reading and saving nothing else of this page runs; other pages wait for the lock. */
  async #locked(work) {
    const locks = globalThis.navigator?.locks;
    const run = () => {
      const text = this.#settings.storage.getItem(KEY) ?? '{"version":1,"reports":{}}';
      const { version, reports } = parse(text);
      const good = oneOf(1, 2)(version) && isObject(reports) && Object.values(reports).every(isEntry);
      need(good, "policy", "the ledger is damaged or newer");
      return work(reports);
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

const trim = (url) => `${url}`.replace(/\/+$/, "");

/** Fetch a campaign from its address, and certify it. */
export async function fetchCampaign(url, options) {
  return readCampaign(await exchange(trim(url), undefined, MAX_CAMPAIGN, options));
}

/** Send a report to the campaign at an address; attempts share the report's id. */
export async function send(url, report, options) {
  const answer = await exchange(`${trim(url)}/reports`, JSON.stringify(report), MAX_ANSWER, options);
  const { accepted, repeated } = parse(answer);
  const counted = oneOf(0, 1)(repeated) && accepted === 1 - repeated;
  need(counted, "delivery", "nothing is acknowledged");
  return { accepted, repeated };
}

/** Parse JSON (text, or bytes of UTF-8); what is none counts as an empty object. */
const parse = (data, check = () => true) => {
  try {
    const strict = new TextDecoder(undefined, { fatal: true, ignoreBOM: true });
    const text = typeof data === "string" ? data : strict.decode(data);
    const found = JSON.parse(text);
    return check(found, text) ? found ?? {} : {};
  } catch {
    return {};
  }
};

/**
 * What JSON.parse does not tell. A whole number may have neither point nor exponent: in the text,
 * keys are followed by their numbers, lists included. No key may be there twice: the text has as
 * many as the text of what was read.
 */
const isPlain = (found, text) => {
  const written = members(text);
  const isWhole = ([, key, digits]) =>
    !/[.e]/i.test(digits) || !/^(version|scale|weights|tables|.*_hour)$/.test(JSON.parse(key));
  return written.length === members(JSON.stringify(found)).length && written.every(isWhole);
};

const members = (text) =>
  [...text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:[-+.\deE[\],\s]*)?/g)].filter(([, , digits]) => digits);

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
  const wait = /^\d{1,9}$/.test(after) ? min(after * 1000, 6e4) : undefined;
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
      const longest = min(250 * 2 ** tried, 3e4);
      await sleep(failure.wait ?? (random(1)[0] / SCALE) * longest);
    }
  }
}
