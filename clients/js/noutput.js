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
const { hasOwn, keys } = Object;
const { abs, max, min } = Math;
const nodeCrypto = "node:crypto"; // a variable, so that bundlers for browsers leave it alone
const crypto = globalThis.crypto ?? (await import(nodeCrypto)).webcrypto;

/** `code` is "document", "privacy", "policy", "closed", "due", "value" or "delivery". */
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

/** Whether so many reports from each table together lose at most epsilon: their ratios multiply. */
function certifyAll(tables, epsilon, times) {
  const [high, low] = tables
    .map(({ weights }) => extremes(weights).reduce((a, b) => (a[0] * b[1] < b[0] * a[1] ? b : a)))
    .reduce((a, b) => [a[0] * b[0], a[1] * b[1]]);
  const most = exponentialFloor(epsilon / 64) ** 64n; // for sums above 32, too
  return high ** times << 4096n <= most * low ** times;
}

/**
 * The output for what `encode` made of a value, one input per axis, and the halves of random 64-bit
 * words, the upper one first, one word per axis. Privacy needs no particular row: all are certified.
 */
export function draw({ axes, weights }, inputs, halves) {
  const next = (row, axis, i) => row * countRows(axis) + drawRow(axis, inputs[i], halves[2 * i]);
  let [, left] = halves;
  return weights[axes.reduce(next, 0)].findIndex((weight) => (left -= weight) < 0);
}

const countRows = (axis) => axis.length ?? axis; // knots, or the number of answers

function drawRow(knots, x, word) {
  if (!isArray(knots)) return x; // the index of an answer
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
 * What a table draws from. A number is moved to the nearer bound where it is outside; an answer, given
 * by itself or by its label, becomes its index.
 */
export function encode(question, value) {
  const { kind, name, lower, upper, answers } = question;
  // The message never repeats the value, because it is private.
  const needValue = (holds, rule) => need(holds, "value", `the value of ${name} must be ${rule}`);
  if (kind === "number") {
    needValue(isFinite(value), "a finite number");
    return min(max(value, lower), upper);
  }
  const all = labels(question);
  const lists = answers ? [answers, all] : [[false, true], [0, 1], all];
  const index = max(...lists.map((list) => list.indexOf(value)));
  needValue(index >= 0, `one of ${all.join(", ")}`);
  return index;
}

/** A text as it is, and a number as Python writes it, without ".0". */
const labelOf = (answer) => {
  const size = abs(answer);
  const isLong = isFinite(answer) && (size >= 1e16 || (size > 0 && size < 1e-4));
  return isLong ? answer.toExponential().replace(/e.(?=.$)/, "$&0") : `${answer}`;
};

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (digits) => Uint8Array.from(digits.match(/../g), (byte) => `0x${byte}`);
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

/**
 * The rounds of a period in which a device answers. They are drawn from its secret (64 hexadecimal
 * digits), whatever its values are, among those that were not over when it joined.
 */
export async function roundsOf({ rounds_per_period: size, answers }, root, secret, period, joined = 0) {
  const start = max(period * size, joined);
  const left = Array.from({ length: max((period + 1) * size - start, 0) }, (_, i) => start + i);
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret), hmac, false, ["sign"]);
  async function* words() {
    for (let block = 0; ; block++) {
      const tail = new DataView(new ArrayBuffer(12));
      [0, period, block].forEach((word, i) => tail.setUint32(4 * i, word));
      const message = await new Blob(["noutput rounds 1", bytes(root), tail]).arrayBuffer();
      const view = new DataView(await crypto.subtle.sign(hmac, key, message));
      for (let i = 0; i < 8; i++) yield view.getUint32(4 * i);
    }
  }
  const stream = words();
  const count = min(answers, left.length);
  for (let i = 0; i < count; i++) {
    const most = left.length - i;
    let word;
    do word = (await stream.next()).value;
    while (word >= SCALE - (SCALE % most));
    const other = i + (word % most);
    [left[i], left[other]] = [left[other], left[i]];
  }
  return left.slice(0, count).sort((a, b) => a - b);
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
// Control, invisible and direction-changing characters, as docs/wire.md lists them; joiners are for
// scripts that spell with them.
const HIDDEN =
  /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(^|[^\u0600-\u0dff])[\u200c\u200d]/u;
const isText = (low, high) => (value) =>
  typeof value === "string" && !HIDDEN.test(value) && has(low, high)(utf8(value));
const isIncreasing = (values) =>
  values.every((value, i) => isFinite(value) && (!i || isPositive(value - values[i - 1])));
const isScored = (values) =>
  isList(2, 64)(values) && isIncreasing(values) && values.every((value) => abs(value) <= 1e100);
const isUnique = (values) => new Set(values).size === values.length;
const isTexts = (values) => isList(2, 64)(values) && values.every(isText(1, 200)) && isUnique(values);
const isScale = (values) => isScored(values) || isTexts(values);
const isScores = (scores, { answers }) =>
  isScored(scores) && isTexts(answers) && scores.length === answers.length;
const isWhole = (low, high) => (value) => isInteger(value) && value >= low && value <= high;
const isEdges = (edges, { lower, upper }) => isList(0, 31)(edges) && isIncreasing([lower, ...edges, upper]);
const isKnots = (knots) => // where they may be listed twice, the question says
  isList(2, 4096)(knots) && isIncreasing(knots.filter((knot, i) => knot !== knots[i - 1]));
const isAxis = (axis) => isWhole(2, 64)(axis) || isKnots(axis);
const isTotal = isWhole(1, 1e12);
const isChecked = () => true; // elsewhere
const isOpen = (admission) => admission === "open" || admission?.kind === "open";
const isLabel = (value) => isText(1, 64)(value) && !/["\\[\]{}]/.test(value);
const isLabels = (values) => isList(2, 999)(values) && values.every(isLabel) && isUnique(values);
const countCombinations = ({ names = [] }) => names.reduce((total, { labels }) => total * (labels.length + 1), 1);
const isSegments = (names, found) =>
  isList(1, 8)(names) &&
  names.every((each) => check(each, "segment", [SEGMENT])) &&
  isUnique(names.map(({ name }) => name)) &&
  countCombinations(found) <= 1000;
const countRounds = ({ schedule, opens, closes }) =>
  schedule ? (Date.parse(closes) - Date.parse(opens)) / LENGTHS[schedule.every] : 1;
const isScheduled = (schedule, found) => {
  if (schedule === null) return true;
  check(schedule, "schedule", [SCHEDULE]);
  const rounds = countRounds(found);
  const isFree = isOpen(found.admission) && found.waves?.[0]?.next === undefined;
  return isFree && rounds <= 5000 && isInteger(rounds / schedule.rounds_per_period);
};

// What objects of a document have, per key: a check of the value and the object, or the only value.
const CAMPAIGN = {
  format: isChecked,
  version: 1,
  id: isMatch(/^[a-z0-9][a-z0-9-]{0,63}$/),
  title: isText(1, 200),
  text: isText(1, 1000),
  public: oneOf(true, false),
  opens: isInstant,
  closes: (closes, { opens }) => isInstant(closes) && opens < closes,
  ask: oneOf("one", "all"),
  questions: isList(1, 64),
  waves: isList(1, 8),
  tables: isList(1, 512),
  segments: (value) => isObject(value) && (!keys(value).length || check(value, "segments", [SEGMENTS])),
  schedule: isScheduled,
  admission: (value) => value === "open" || check(value, "admission", ADMISSIONS, "kind"),
  fingerprint: isChecked,
};
const TOKEN = { kind: "token", reports_per_hour: perhaps(isTotal) };
const ADMISSIONS = [
  { kind: "open", reports_per_hour: isTotal }, // without one, the text is enough
  TOKEN,
  { ...TOKEN, kind: "anonymous", issuer: isMatch(/^https?:..[\w.:-]+$/), key: isMatch(/^[\w-]{456}$/) },
];
const NEXT = {
  rule: "range 1",
  reports: isTotal,
  expected: isTotal,
  until: (value) => value === null || isInstant(value),
};
const TABLE = {
  format: "noutput-table",
  version: 1,
  epsilon: isPositive,
  scale: SCALE,
  axes: (axes) => isList(1, 2)(axes) && axes.every(isAxis),
  weights: isList(2, 4096),
  fingerprint: isChecked,
};
const isName = isMatch(/^[a-z][a-z0-9_]{0,63}$/);
const SEGMENTS = { names: isSegments, minimum: isWhole(100, 1e12) };
const SEGMENT = { name: isName, labels: isLabels };
const LENGTHS = { hour: 36e5, day: 864e5, week: 6048e5 };
const SCHEDULE = {
  every: oneOf(...keys(LENGTHS)),
  rounds_per_period: isWhole(1, 366),
  answers: (value, { rounds_per_period: most }) => isWhole(1, most)(value),
  grace: isWhole(0, 31622400),
};
const QUESTION = {
  name: isName,
  label: perhaps(isText(1, 200)),
  text: perhaps(isText(1, 1000)),
  epsilon: perhaps(isPositive),
};
const KINDS = [
  {
    ...QUESTION,
    kind: "number",
    unit: isText(0, 64),
    lower: isFinite,
    upper: (upper, { lower }) => isFinite(upper) && isPositive((upper - lower) / 2),
    edges: perhaps(isEdges),
  },
  { ...QUESTION, kind: "scale", answers: isScale, scores: perhaps(isScores) },
  { ...QUESTION, kind: "choice", answers: isTexts },
  { ...QUESTION, kind: "yes/no" },
];

/**
 * Check an object by those rules that have its own kind, where `key` names it. It has no key without a rule, and for every rule the value that it wants, or one that it returns true for.
 */
const check = (found, part, choices, key) => {
  expect(isObject(found), part);
  const rules = choices.find((each) => each[key] === found[key]) ?? choices[0];
  for (const name of keys({ ...found, ...rules })) {
    const [rule, value] = [rules[name], found[name]];
    const holds = hasOwn(rules, name) && (rule?.call ? rule(value, found) : rule === value);
    expect(holds, `${name.slice(0, 64)} of the ${part}`);
  }
  return true;
};

const freeze = (value) => {
  if (value instanceof Object) Object.values(value).forEach(freeze);
  return Object.freeze(value);
};

async function checkTable(found) {
  check(found, "table", [TABLE]);
  const { epsilon, axes, weights } = found;
  const size = weights[0]?.length;
  const isRow = (row) =>
    isList(2, 256)(row) &&
    row.length === size &&
    row.every((weight) => isInteger(weight) && weight >= 1) &&
    row.reduce((a, b) => a + b) === SCALE;
  const rows = axes.map(countRows).reduce((a, b) => a * b);
  expect(weights.length === rows && weights.every(isRow), "weights");
  const output = certify(weights, epsilon);
  need(output < 0, "privacy", `output ${output} is not as private as the table claims`);
  const form = (axis) => (isArray(axis) ? [words(axis.length, 1), doubles(...axis)] : words(axis, 0));
  const print = await sha256(
    "noutput-table 1\n",
    doubles(epsilon),
    words(size, axes.length),
    ...axes.flatMap(form),
    ...weights.map((row) => words(...row)),
  );
  expect(found.fingerprint === print, "fingerprint");
}

/** A question as a wave asks it: numbers have the bounds of the wave, and the edges inside them. */
const askedIn = ({ bounds }, question, i) => {
  const { 0: lower, 1: upper } = bounds?.[i] ?? {}; // whatever it is: it may not be checked yet
  const edges = question.edges?.filter((edge) => edge > lower && edge < upper);
  return upper === undefined ? question : { ...question, lower, upper, edges };
};

/** The table of every question in the newest wave; refuses what is no chain of waves. */
function assign({ questions, waves, tables, opens, closes }) {
  const { length } = questions;
  const isEachOf = (rule) => (list, wave) =>
    isList(length, length)(list) && list.every((entry, i) => rule(entry, i, wave));
  const tableOf = (wave, i) => tables[wave.tables[i]];
  const isBounds = (bounds, i) => {
    const { kind, lower, upper } = questions[i];
    if (kind !== "number") return bounds === null;
    const [low, high] = isList(2, 2)(bounds) ? bounds : [];
    return low >= lower && high <= upper && isPositive((high - low) / 2) && bounds.every(isFinite);
  };
  const isInputs = (parts, i, wave) => {
    const earlier = waves.slice(0, waves.indexOf(wave));
    const isCounts = (counts, k) =>
      isList(2, 256)(counts) &&
      counts.length === tableOf(earlier[k], i).weights[0].length &&
      counts.every(isWhole(0, 1e15));
    return isList(earlier.length, earlier.length)(parts) && parts.every(isCounts);
  };
  // Bounds once, edges twice: so there is a row per side of an edge, and nowhere else.
  const ends = (axis) =>
    isArray(axis) ? [axis[0], ...axis.filter((knot, k) => knot === axis[k - 1]), axis.at(-1)] : axis;
  const isTable = (index, i, wave) => {
    const { lower, upper, edges = [], answers = [0, 1], epsilon } = askedIn(wave, questions[i], i);
    const axis = upper === undefined ? answers.length : [lower, ...edges, upper];
    const table = tables[index];
    const isLoss = table?.epsilon === (epsilon ?? tableOf(waves[0], i)?.epsilon); // the same in all waves
    return table && isLoss && JSON.stringify(table.axes.map(ends)) === JSON.stringify([axis]);
  };
  const isAim = (aim, i) =>
    oneOf("balanced", "mean", ...(questions[i].kind === "number" ? ["distribution"] : ["cdf", "shares"]))(aim);
  const isNext = (next) =>
    check(next, "next wave", [NEXT]) &&
    (next.until === null || (opens < next.until && next.until <= closes)) &&
    questions.some(({ kind }) => kind === "number");
  const common = { tables: isEachOf(isTable), objectives: isEachOf(isAim) };
  const later = {
    ...common,
    bounds: isEachOf(isBounds),
    inputs: isEachOf(isInputs),
    predecessor: isChecked,
    reasons: isEachOf(isText(0, 1000)),
  };
  const first = { ...common, next: waves[1] ? isNext : perhaps(isNext) };
  waves.forEach((wave, k) => check(wave, "wave", [k ? later : first]));
  // One spelling only: tables are in the order of the first question that has them.
  const order = [...new Set(waves.flatMap((wave) => wave.tables))];
  expect(order.length === tables.length && order.every((index, i) => index === i), "wave");
  return waves.at(-1).tables.map((index) => tables[index]);
}

/** The fingerprint of every wave: of the document up to it, with the tables that are used by then. */
async function chainOf({ fingerprint, ...signed }, waves, prints) {
  const chain = [];
  let used = 0;
  for (const wave of waves) {
    expect(wave.predecessor === chain.at(-1), "predecessor");
    used = max(used, ...wave.tables.map((index) => index + 1));
    const part = { ...signed, waves: waves.slice(0, chain.length + 1), tables: prints.slice(0, used) };
    chain.push(await sha256("noutput-campaign 1\n", ...canonical(part)));
  }
  expect(fingerprint === chain.at(-1), "fingerprint");
  return chain;
}

/** What people are told before they answer: that labels are not protected, and when they answer. */
const noticeOf = ({ names }, schedule) => {
  const said = [];
  if (names)
    said.push(
      `Reports may carry public labels: ${names.map(({ name }) => name).join(", ")}. Labels are not ` +
        "protected: the collector sees them. Only those that you allow leave this device.",
    );
  if (schedule) {
    const { every, rounds_per_period: size, answers } = schedule;
    const some =
      `${answers} of ${size} ${every}s, drawn in advance whatever the answers are, ` +
      "and again in every period that follows";
    said.push(`A device answers in ${answers === size ? `every ${every}` : some}.`);
  }
  return said.join(" ");
};

const certified = new WeakSet(); // frozen, so what is drawn from is what was certified

/** Read a campaign from JSON (text, or its bytes), certify its tables, and return it frozen. */
export async function readCampaign(data) {
  const found = parse(data, isPlain);
  expect(found.format === "noutput-campaign", "format");
  check(found, "document", [CAMPAIGN]);
  const { ask, questions, waves, segments, schedule } = found;
  questions.forEach((each) => check(each, "question", KINDS, "kind"));
  expect(isUnique(questions.map(({ name }) => name)), "name");
  await Promise.all(found.tables.map(checkTable));
  const prints = found.tables.map((table) => table.fingerprint);
  expect(isUnique(prints), "list of tables");
  const tables = assign(found);
  const chain = await chainOf(found, waves, prints);
  const add = (sum, { epsilon }) => (ask === "all" ? sum + epsilon : max(sum, epsilon));
  const asked = questions.map((question, i) => askedIn(waves.at(-1), question, i));
  const epsilon = tables.reduce(add, 0);
  const campaign = freeze({
    ...found,
    asked,
    tables,
    epsilon,
    chain,
    root: chain[0],
    rounds: countRounds(found),
    combinations: countCombinations(segments),
    epsilonPerPeriod: epsilon * (schedule?.answers ?? 1),
    notice: noticeOf(segments, schedule),
  });
  certified.add(campaign);
  return campaign;
}

const isEntry = (entry) =>
  isObject(entry) &&
  CAMPAIGN.id(entry.id) &&
  isPositive(entry.epsilon) &&
  isFinite(entry.answered) &&
  isList(1, 64)(entry.reports) &&
  entry.reports.every(isObject);

/** Whether a policy allows what one person sends for a campaign, per period of its schedule. */
const fits = ({ ask, tables, schedule }, epsilon) => {
  const times = BigInt(schedule?.answers ?? 1);
  if (ask === "all" && tables[1]) return certifyAll(tables, epsilon, times);
  return tables.every((table) =>
    times > 1n ? certifyAll([table], epsilon, times) : certify(table.weights, epsilon) < 0,
  );
};
const isPanel = (panel) =>
  isObject(panel) && isMatch(/^[0-9a-f]{64}$/)(panel.secret) && isWhole(0, 4999)(panel.joined);
/** The names of the labels that are not told. */
const leftOut = (labels = {}, told = {}) => keys(labels).filter((name) => !hasOwn(told, name));
/** By what a ledger knows an answer: the campaign, and the round where it has some. */
const keyOf = ({ root }, round) => (round === undefined ? root : `${root}:${round}`);

/**
 * The storage, with the lock that it is used under: that of the page for its localStorage. Node's own
 * Web Locks hold within one process, and its localStorage is a file that all of them share.
 */
const guarded = (storage, locks) => {
  if (storage instanceof Map) // which nobody else can have
    return {
      storage: { getItem: (key) => storage.get(key) ?? null, setItem: (key, text) => void storage.set(key, text) },
      locks: { request: async (_, work) => work() },
    };
  const isOfPage = storage === globalThis.localStorage && !globalThis.process?.versions?.node;
  const found = locks ?? (isOfPage ? globalThis.navigator?.locks : undefined);
  need(storage && found?.request, "policy", "pass locks with the storage, as openLedger of node.js does, or a Map");
  return { storage, locks: found };
};

let isWarned = false;

/** A person's side of a campaign; throws where it may lose more than the policy allows. */
export class Client {
  #campaign;
  #settings;

  constructor(campaign, { policy, storage = globalThis.localStorage, locks, now = Date.now } = {}) {
    this.#campaign = campaign;
    const limits = { epsilon: 1, total: 4, days: 30, segments: [], ...policy };
    const { epsilon, total, days, segments } = limits;
    const good = [epsilon, total, days].every(isPositive) && isArray(segments);
    need(good, "policy", "bad epsilon, total, days or segments");
    this.#settings = { ...limits, ...guarded(storage, locks), now };
    need(certified.has(campaign), "document", "use readCampaign");
    const asked = campaign.epsilonPerPeriod;
    const message = `the campaign asks for epsilon ${asked}, and the policy allows ${epsilon}`;
    need(fits(campaign, epsilon), "privacy", message);
  }

  /** The campaign as it is answered: its newest wave that this client could verify. */
  get campaign() {
    return this.#campaign;
  }

  /** Take a newer wave where it continues the chain that is known; say whether it was taken. */
  follow(found) {
    const { chain, fingerprint } = this.#campaign;
    const isNewer = certified.has(found) && found.chain.length > chain.length && found.chain.includes(fingerprint);
    const isTaken = isNewer && fits(found, this.#settings.epsilon);
    if (isTaken) this.#campaign = found;
    return isTaken;
  }

  /** The labels that would leave the device: those that the policy allows, of the campaign's lists. */
  shownLabels(labels = {}) {
    const { names = [] } = this.#campaign.segments;
    const known = Object.fromEntries(names.map((each) => [each.name, each.labels]));
    for (const name of keys(labels)) {
      need(hasOwn(known, name), "value", `the campaign has no segment ${name}`);
      need(known[name].includes(labels[name]), "value", `the label of ${name} must be one of ${known[name]}`);
    }
    const allowed = names.filter(({ name }) => hasOwn(labels, name) && this.#settings.segments.includes(name));
    return Object.fromEntries(allowed.map(({ name }) => [name, labels[name]]));
  }

  /**
   * The next round in which the device answers and has not answered yet, as { number, start, end };
   * undefined where none is left. The first call joins the campaign: the device draws its secret.
   */
  async nextRound() {
    const campaign = this.#campaign;
    need(campaign.schedule, "value", "the campaign has no schedule");
    const present = this.#present(campaign);
    if (present >= campaign.rounds) return undefined;
    for await (const number of this.#ownRounds(campaign, max(present, 0))) {
      const isMade = await this.#locked(({ reports }) => reports[keyOf(campaign, number)]);
      if (!isMade) return roundAt(campaign, number);
    }
    return undefined;
  }

  /**
   * Whether an answer is wanted now: the campaign is open, the round the device's own, none was given,
   * and the policy's total allows one.
   */
  async due() {
    const campaign = this.#campaign;
    const { opens, closes, schedule, root } = campaign;
    const now = this.#settings.now();
    if (now < Date.parse(opens) || now >= Date.parse(closes)) return false;
    const isDue = schedule ? (await this.nextRound())?.start <= now : true;
    return this.#locked((ledger) => isDue && !ledger.reports[root] && this.#budget(campaign, ledger, now).isEnough);
  }

  /** The person's reports, one per question that is asked: new ones, or those stored before. */
  async reports(values, admitted, labels) {
    const campaign = this.#campaign; // one for all steps, whatever is followed meanwhile
    const inputs = this.#inputs(campaign, values);
    const told = this.shownLabels(labels);
    const missing = leftOut(labels, told);
    if (missing.length && !isWarned) {
      isWarned = true;
      console.warn(`labels are left out, because the policy does not name them: ${missing.join(", ")}`);
    }
    const number = campaign.schedule ? await this.#ownRound(campaign) : undefined;
    const more = { ...(keys(told).length && { labels: told }), ...(campaign.schedule && { round: number }) };
    return this.#locked((ledger) => {
      const stored = ledger.reports[keyOf(campaign, number)];
      return stored ? stored.reports : this.#remember(campaign, ledger, inputs, admitted, more);
    });
  }

  /** The person's report, where the campaign asks for one. */
  async report(values, admitted, labels) {
    need(this.#campaign.ask === "one", "value", "use reports");
    return (await this.reports(values, admitted, labels))[0];
  }

  /** Report, send one by one, and note that all were sent; safe to repeat. */
  async submit(url, values, options = {}) {
    const reports = await this.reports(values, options.admitted, options.labels);
    const accepted = await this.#send(url, reports, options);
    const repeated = reports.length - accepted;
    return { reports, accepted, repeated, leftOut: leftOut(options.labels, reports[0].labels) };
  }

  /**
   * Send the reports on the campaign that were drawn and never acknowledged, the same ones, while
   * they are counted: each in a request of its own, the oldest first. Returns how many were sent.
   */
  async resend(url, options) {
    const campaign = this.#campaign;
    const { root, closes, schedule } = campaign;
    const end = ({ round }) =>
      schedule ? +roundAt(campaign, round).end + schedule.grace * 1000 : Date.parse(closes);
    const entries = await this.#locked(({ reports }) => Object.entries(reports));
    const left = entries
      .filter(([key, { sent }]) => key.startsWith(root) && !sent)
      .map(([, { reports }]) => reports)
      .sort(([a], [b]) => end(a) - end(b))
      .filter(([first]) => this.#settings.now() < end(first));
    let sent = 0;
    for (const reports of left)
      try {
        await this.#send(url, reports, options);
        sent += reports.length;
      } catch (error) {
        // The clock of the collector decides which round is over.
        if (error.problem !== "urn:noutput:problem:round-over") throw error;
      }
    return sent;
  }

  /** Send all reports of an answer, and note it; returns how many were counted for the first time. */
  async #send(url, reports, options) {
    let accepted = 0;
    for (const report of reports) accepted += (await send(url, report, options)).accepted;
    // They are counted, also where the ledger was cleared meanwhile, or is too full for the note.
    await this.#locked((ledger) => {
      ledger.reports[keyOf(this.#campaign, reports[0].round)].sent = true;
      this.#save(ledger);
    }).catch(() => {});
    return accepted;
  }

  /** The number of the present round: below 0 before the campaign opens. */
  #present({ opens, schedule }) {
    return Math.floor((this.#settings.now() - Date.parse(opens)) / LENGTHS[schedule.every]);
  }

  /** The present round, where the device answers in it. */
  async #ownRound(campaign) {
    const present = this.#present(campaign);
    this.#needOpen(campaign);
    const { value: number } = await this.#ownRounds(campaign, present).next();
    if (number === present) return number;
    const start = number && roundAt(campaign, number).start.toJSON();
    const when = number ? `round ${number}, which begins at ${start}` : "no further round";
    throw new NoutputError("due", `this device answers in ${when}`, { round: number });
  }

  /** The rounds in which the device answers, from the present one on. */
  async *#ownRounds(campaign, present) {
    const { root, rounds, schedule } = campaign;
    const { secret, joined } = await this.#locked((ledger) => {
      const { panels } = ledger;
      if (!panels[root]) {
        panels[root] = { secret: hex(random(8).buffer), joined: present };
        this.#save(ledger); // before it is used
      }
      return panels[root];
    });
    const size = schedule.rounds_per_period;
    for (let period = Math.floor(present / size); period * size < rounds; period++)
      for (const number of await roundsOf(schedule, root, secret, period, joined))
        if (number >= present) yield number;
  }

  #inputs({ asked: questions }, values) {
    const names = questions.map(({ name }) => name);
    const named = isObject(values) || names[1] ? values : { [names[0]]: values };
    const good = isObject(named) && `${keys(named).sort()}` === `${names.sort()}`;
    need(good, "value", `the values of ${names} are needed`);
    return questions.map((question) => encode(question, named[question.name]));
  }

  #needOpen({ opens, closes }) {
    const now = this.#settings.now();
    const open = now >= Date.parse(opens) && now < Date.parse(closes);
    need(open, "closed", `the campaign is open from ${opens} to ${closes}`);
    return now;
  }

  /** What a new answer costs, what was spent in the policy's days, and whether the total allows both. */
  #budget({ epsilon, schedule }, { reports }, now) {
    const { epsilon: allowed, total, days } = this.#settings;
    const cost = min(epsilon, allowed / (schedule?.answers ?? 1));
    const add = (sum, entry) => sum + (entry.answered > now - days * 864e5 ? entry.epsilon : 0);
    const spent = Object.values(reports).reduce(add, 0);
    return { cost, spent, isEnough: spent + cost <= total * (1 + 2 ** -40) }; // 0.1 + 0.2 is within 0.3
  }

  #remember(campaign, ledger, inputs, admitted, more) {
    const { id, version, ask, admission, fingerprint, questions, tables } = campaign;
    need(admitted || isOpen(admission), "value", "a token is needed");
    const { total, days } = this.#settings;
    const now = this.#needOpen(campaign);
    const { cost, spent, isEnough } = this.#budget(campaign, ledger, now);
    need(isEnough, "policy", `the policy allows ${total} in ${days} days; ${spent} is spent, this costs ${cost}`);
    const indices = ask === "all" ? [...inputs.keys()] : [below(inputs.length)];
    const reports = indices.map((index) => ({
      version,
      campaign: fingerprint,
      question: questions[index].name,
      output: draw(tables[index], [inputs[index]], random(2)),
      id: hex(random(4).buffer),
      ...admitted?.(index),
      ...more,
    }));
    ledger.reports[keyOf(campaign, more.round)] = { reports, id, epsilon: cost, answered: now, sent: false };
    this.#save(ledger);
    return reports;
  }

  #save({ reports, panels }) {
    const { storage } = this.#settings;
    const text = JSON.stringify({ version: 1, reports, panels });
    storage.setItem(KEY, text);
    need(storage.getItem(KEY) === text, "policy", "the storage keeps nothing");
  }

  /** Whoever hands out several documents under one id could tell devices apart by what they answer. */
  #needRoot(reports) {
    const { id, root } = this.#campaign;
    const known = keys(reports).filter((key) => reports[key].id === id);
    const isKnown = !known.length || known.some((key) => key.startsWith(root)) || this.#settings.newRoots;
    need(isKnown, "document", `the ledger knows ${id} by another root than ${root}: see newRoots of the policy`);
  }

  /** Between reading and saving nothing else of this page runs; other pages wait for the lock. */
  async #locked(work) {
    const { storage, locks } = this.#settings;
    return locks.request(KEY, () => {
      const text = storage.getItem(KEY) ?? '{"version":1,"reports":{},"panels":{}}';
      const { version, reports, panels } = parse(text);
      const isGood = (values, rule) => isObject(values) && Object.values(values).every(rule);
      need(version === 1, "policy", `the ledger must have version 1; found ${JSON.stringify(version)}`);
      need(isGood(reports, isEntry) && isGood(panels, isPanel), "policy", "the ledger is damaged");
      this.#needRoot(reports);
      return work({ reports, panels });
    });
  }
}

/** A round of a campaign: its number, and the instants from which and until just before which it lasts. */
function roundAt({ opens, schedule }, number) {
  const at = (round) => new Date(Date.parse(opens) + round * LENGTHS[schedule.every]);
  return { number, start: at(number), end: at(number + 1) };
}

/** A whole number below a limit, each equally likely. */
function below(limit) {
  for (;;) {
    const [word] = random(1);
    if (word < SCALE - (SCALE % limit)) return word % limit;
  }
}

const trim = (url) => `${url}`.replace(/\/+$/, "");

/** Fetch a campaign from its address, its newest wave, and certify it; `root` refuses any other. */
export async function fetchCampaign(url, options) {
  const campaign = await readCampaign(await exchange(trim(url), undefined, MAX_CAMPAIGN, options));
  expect(oneOf(undefined, campaign.root)(options?.root), "root");
  return campaign;
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
  const isWhole = ([, key, digits]) => {
    const name = JSON.parse(key);
    return !WHOLE.test(name) || !/[.e]/i.test(digits.replace(NUMBERS[name], ""));
  };
  return written.length === members(JSON.stringify(found)).length && written.every(isWhole);
};

const WHOLE =
  /^(version|scale|axes|weights|tables|inputs|reports|expected|minimum|grace|answers|rounds_per_period|.*_hour)$/;
// What need not be whole: knots of an axis, and the answers of a scale, not the number of a schedule's.
const NUMBERS = { axes: /[[,]\s*\[[^\]]*/g, answers: /\[.*/s };
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
