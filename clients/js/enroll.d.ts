import type { Campaign, LedgerLocks, LedgerStorage } from "./noutput.js";

/** What admits reports to a campaign that is not open: per question, an id and the token. */
export type Admitted = (index: number) => { readonly id: string; readonly token: string };

export interface EnrollOptions {
  /** What the issuer admits the person by, such as an enrollment code. */
  credential?: string;
  /** Keeps what was drawn, and then the token; `localStorage` if not given. */
  storage?: LedgerStorage | Map<string, string>;
  /** What keeps others from the storage, as for `Client`. */
  locks?: LedgerLocks;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds for one answer; default 10,000. */
  timeout?: number;
}

/** What admits the person's reports, for `Client`: the token, and the ids by which it is spent. */
export function admit(campaign: Campaign, token: string): Promise<Admitted>;

/** The person's token for an anonymous campaign; the issuer is asked where the storage has none. */
export function enroll(campaign: Campaign, options?: EnrollOptions): Promise<string>;

/** EMSA-PSS-ENCODE of RFC 8017 with SHA-384, for a modulus of so many bits. */
export function encodeMessage(message: Uint8Array, bits: number, salt: Uint8Array): Promise<Uint8Array>;

/** What the signer of RFC 9474 gets to see. */
export function blind(message: Uint8Array, modulus: bigint, salt: Uint8Array, factor: bigint): Promise<bigint>;

/** The signature of the message, or undefined where the signer has not made one. */
export function finalize(
  message: Uint8Array,
  blinded: bigint,
  modulus: bigint,
  salt: Uint8Array,
  factor: bigint,
): Promise<Uint8Array | undefined>;
