/**
 * Tokens for campaigns that are not open to everybody. Beside noutput.js, for those who need it.
 *
 * Anonymous tokens are those of Privacy Pass (RFC 9577, RFC 9578, type 2): blind RSA signatures of
 * 2,048 bits (RFC 9474, RSABSSA-SHA384-PSS-Deterministic). BigInt does the arithmetic in a time that
 * depends on its numbers; they are drawn anew for every campaign, and used once.
 */

const EXPONENT = 65537n;
const KEY = "noutput-enrollment";
const DIRECTORY = "/.well-known/private-token-issuer-directory";
const REQUEST_TYPE = "application/private-token-request";
const RESPONSE_TYPE = "application/private-token-response";
const LIMIT = 2 ** 20;
const BEFORE =
  "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d01" +
  "0108300b0609608648016503040202a2030201300382010f003082010a0282010100";
const AFTER = "0203010001";

const nodeCrypto = "node:crypto"; // a variable, so that bundlers for browsers leave it alone
const crypto = globalThis.crypto ?? (await import(nodeCrypto)).webcrypto;

const need = (holds, code, message, details) => {
  if (!holds) throw Object.assign(new Error(message), { name: "NoutputError", code, ...details });
};
const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
const number = (bytes) => BigInt(`0x${hex(bytes)}`);
const octets = (value, size) => unhex(value.toString(16).padStart(2 * size, "0"));
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const encode64 = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
const decode64 = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const random = (size) => crypto.getRandomValues(new Uint8Array(size));
const digest = async (name, ...parts) =>
  new Uint8Array(await crypto.subtle.digest(name, join(...parts)));
const sha256 = (...parts) => digest("SHA-256", ...parts);
const sha384 = (...parts) => digest("SHA-384", ...parts);

function power(base, exponent, modulus) {
  let result = 1n;
  for (let rest = exponent; rest; rest >>= 1n, base = (base * base) % modulus) {
    if (rest & 1n) result = (result * base) % modulus;
  }
  return result;
}

/** The inverse of a number, or undefined where it has none. */
function inverse(value, modulus) {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a === 1n ? ((x % modulus) + modulus) % modulus : undefined;
}

/** EMSA-PSS-ENCODE of RFC 8017 with SHA-384, for a modulus of so many bits. */
export async function encodeMessage(message, bits, salt) {
  const size = Math.ceil((bits - 1) / 8);
  const hash = await sha384(new Uint8Array(8), await sha384(message), salt);
  const data = join(new Uint8Array(size - hash.length - 2 - salt.length), [1], salt);
  for (let block = 0; block * 48 < data.length; block++) {
    const mask = await sha384(hash, [0, 0, 0, block]);
    mask.forEach((byte, i) => (data[block * 48 + i] ^= byte)); // beyond the end nothing happens
  }
  data[0] &= 0xff >> (8 * size - (bits - 1));
  return join(data, hash, [0xbc]);
}

/** What the signer gets to see: a factor that message and modulus share would be one of it. */
export async function blind(message, modulus, salt, factor) {
  const encoded = number(await encodeMessage(message, modulus.toString(2).length, salt));
  need(inverse(encoded, modulus), "document", "the campaign's key is no product of two large primes");
  return (encoded * power(factor, EXPONENT, modulus)) % modulus;
}

/** The signature of the message, or undefined where the signer has not made one. */
export async function finalize(message, blinded, modulus, salt, factor) {
  const bits = modulus.toString(2).length;
  const signature = (blinded * inverse(factor, modulus)) % modulus;
  const wanted = number(await encodeMessage(message, bits, salt));
  const isGood = blinded < modulus && power(signature, EXPONENT, modulus) === wanted;
  return isGood ? octets(signature, Math.ceil(bits / 8)) : undefined;
}

/** The modulus of a campaign's issuer. */
function modulusOf({ admission }) {
  const data = hex(decode64(admission.key));
  const modulus = data.slice(BEFORE.length, -AFTER.length);
  const isKey = data === BEFORE + modulus + AFTER && modulus.length === 512 && /^[89a-f].*[13579bdf]$/.test(modulus);
  need(isKey, "document", "the campaign names no key of RSASSA-PSS with 2,048 bits");
  return BigInt(`0x${modulus}`);
}

const short = (value) => [value >> 8, value & 255];

/** All of a campaign's token but its signature: RFC 9577, 2.2. */
async function signedPart({ admission: { issuer, key }, root }, nonce) {
  const name = utf8(issuer.replace(/^https?:\/\//, ""));
  const challenge = [short(2), short(name.length), name, [32], unhex(root), short(0)];
  return join(short(2), nonce, await sha256(...challenge), await sha256(decode64(key)));
}

/** What admits the person's reports, for `Client`: the token, and the ids by which it is spent. */
export async function admit(campaign, token) {
  const { admission, ask, root, questions } = campaign;
  const sizes = { token: 24, anonymous: 472 };
  const good = typeof token === "string" && /^[\w-]+$/.test(token) && token.length === sizes[admission?.kind];
  need(good, "value", "the token is none of this campaign");
  const data = decode64(token);
  const isSigned = admission.kind === "anonymous";
  const secret = isSigned ? data.slice(2, 34) : data;
  const own = isSigned ? hex(await signedPart(campaign, secret)) : "";
  need(hex(data).startsWith(own), "value", "the token is none of this campaign");
  const head = [utf8("noutput-token\n"), unhex(root)];
  const ids = await Promise.all(
    questions.map(async (_, index) =>
      hex(await sha256(...head, [ask === "all" ? index : 0], secret)).slice(0, 32)),
  );
  return (index) => ({ id: ids[index], token });
}

/**
 * The person's token for an anonymous campaign; the issuer is asked where the storage has none. What
 * was drawn is stored before: whoever was interrupted asks for the same again.
 */
export async function enroll(campaign, { credential, ...options } = {}) {
  need(campaign.admission?.kind === "anonymous", "value", "the campaign is not anonymous");
  const modulus = modulusOf(campaign);
  const { storage, locks } = guarded(options);
  const begin = () => kept(storage, campaign.root) ?? keep(storage, campaign, { secret: draw(modulus) });
  const { secret, token: known } = await locks.request(KEY, begin);
  if (known) return known;
  const drawn = unhex(secret);
  const [nonce, salt, factor] = [drawn.slice(0, 32), drawn.slice(32, 80), number(drawn.slice(80))];
  const message = await signedPart(campaign, nonce);
  const blinded = octets(await blind(message, modulus, salt, factor), 256);
  const last = (await sha256(decode64(campaign.admission.key))).at(-1);
  const answer = await ask(campaign, join(short(2), [last], blinded), credential, options);
  const isWhole = answer.length === 256;
  const signature = isWhole && (await finalize(message, number(answer), modulus, salt, factor));
  need(signature, "delivery", "the issuer's answer is not signed with the campaign's key");
  const token = encode64(join(message, signature));
  await locks.request(KEY, () => keep(storage, campaign, { token }));
  return token;
}

/** The storage, with the lock that it is used under: the rules are those of `Client`. */
function guarded({ storage = globalThis.localStorage, locks }) {
  if (storage instanceof Map)
    return {
      storage: { getItem: (key) => storage.get(key) ?? null, setItem: (key, text) => void storage.set(key, text) },
      locks: { request: async (_, work) => work() },
    };
  const isOfPage = storage === globalThis.localStorage && !globalThis.process?.versions?.node;
  const found = locks ?? (isOfPage ? globalThis.navigator?.locks : undefined);
  need(storage && found?.request, "policy", "pass locks with the storage, as openLedger of node.js does, or a Map");
  return { storage, locks: found };
}

/** The nonce, the salt of the signature and the blinding factor, in hexadecimal digits. */
function draw(modulus) {
  for (;;) {
    const factor = random(256);
    const value = number(factor);
    if (value < modulus && inverse(value, modulus)) return hex(join(random(80), factor));
  }
}

function kept(storage, root) {
  try {
    return JSON.parse(storage.getItem(KEY) ?? "{}")[root];
  } catch {
    need(false, "policy", "what the storage has of enrollments is damaged");
  }
}

function keep(storage, { root }, entry) {
  const text = JSON.stringify({ ...JSON.parse(storage.getItem(KEY) ?? "{}"), [root]: entry });
  storage.setItem(KEY, text);
  need(storage.getItem(KEY) === text, "policy", "the storage keeps nothing");
  return entry;
}

async function ask({ admission: { issuer, key } }, body, credential, { fetch = globalThis.fetch, timeout = 1e4 }) {
  const call = async (url, most, options) => {
    const common = { credentials: "omit", redirect: "manual", referrerPolicy: "no-referrer" };
    try {
      const response = await fetch(url, { ...common, ...options, signal: AbortSignal.timeout(timeout) });
      const { status } = response;
      need(status === 200, "delivery", `the issuer refused with status ${status}`, { status });
      return await read(response, most);
    } catch (error) {
      if (error.name === "NoutputError") throw error;
      need(false, "delivery", `no answer from the issuer: ${error.message}`);
    }
  };
  const directory = await call(issuer + DIRECTORY, LIMIT);
  const found = attempt(() => JSON.parse(new TextDecoder().decode(directory))) ?? {};
  const keys = Array.isArray(found["token-keys"]) ? found["token-keys"] : [];
  need(keys.some((each) => each?.["token-key"] === key), "delivery", "the issuer does not offer the campaign's key");
  const url = attempt(() => new URL(`${found["issuer-request-uri"]}`, issuer + DIRECTORY));
  need(url?.origin === new URL(issuer).origin, "delivery", "the issuer signs at another host");
  const headers = { "Content-Type": REQUEST_TYPE, Accept: RESPONSE_TYPE };
  if (credential) headers.Authorization = `Bearer ${credential}`;
  return call(url.href, 256, { method: "POST", headers, body });
}

/** What a function returns, or undefined where it fails. */
function attempt(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The body of an answer, of which no more is read than is wanted. */
async function read(response, most) {
  const reader = response.body?.getReader();
  const pieces = [];
  let size = 0;
  for (let step; reader && !(step = await reader.read()).done; pieces.push(step.value)) {
    size += step.value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      need(false, "delivery", "the issuer sent too much");
    }
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
