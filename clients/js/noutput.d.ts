/** What went wrong: the campaign, its privacy, the person's policy or values, or the delivery. */
export type ErrorCode = "document" | "privacy" | "policy" | "closed" | "value" | "delivery";

export class NoutputError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status, where a server answered. */
  readonly status?: number;
  /** The type of the problem document, where a server sent one. */
  readonly problem?: string;
}

export interface Attribute {
  readonly name: string;
  readonly unit: string;
  readonly lower: number;
  readonly upper: number;
}

export interface Table {
  readonly epsilon: number;
  readonly outputs: readonly number[];
  readonly knots: readonly number[];
  readonly weights: readonly (readonly number[])[];
  /** Running sums of every row of weights. */
  readonly thresholds: readonly (readonly number[])[];
  readonly fingerprint: string;
}

/** A campaign whose table has been certified; only `readCampaign` makes one. */
export interface Campaign {
  readonly format: "noutput-campaign";
  readonly version: 1;
  readonly id: string;
  readonly title: string;
  readonly question: string;
  readonly goal: "balanced" | "mean" | "distribution";
  readonly public: boolean;
  readonly opens: string;
  readonly closes: string;
  readonly attributes: readonly Attribute[];
  readonly table: Table;
  readonly epsilon: number;
  readonly fingerprint: string;
}

/** All that ever leaves the device. */
export interface Report {
  readonly version: 1;
  readonly campaign: string;
  readonly attribute: string;
  readonly output: number;
  readonly id: string;
}

/** What the person allows: a report, and all reports in any `days` days. */
export interface Policy {
  /** Default 1. */
  epsilon?: number;
  /** Default 4. */
  total?: number;
  /** Default 30. */
  days?: number;
}

/** `localStorage`, or anything that keeps text as durably as it should. */
export interface LedgerStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

export interface ClientOptions {
  policy?: Policy;
  storage?: LedgerStorage;
  /** The time in milliseconds since 1970. */
  now?: () => number;
}

export interface DeliveryOptions {
  fetch?: typeof globalThis.fetch;
  /** How often the same bytes are sent before giving up; default 6. */
  attempts?: number;
  /** Milliseconds for one attempt; default 10,000. */
  timeout?: number;
  /** Waits a number of milliseconds between attempts. */
  sleep?: (time: number) => Promise<unknown>;
}

export interface Receipt {
  accepted: number;
  repeated: number;
}

/** The value of every attribute by name, or one number where there is one attribute. */
export type Values = number | Readonly<Record<string, number>>;

/** A BigInt that is not above 2^64 e^epsilon. */
export function exponentialFloor(epsilon: number): bigint;

/** The first output whose weights differ by more than e^epsilon, or -1 where none does. */
export function certify(weights: readonly (readonly number[])[], epsilon: number): number;

/** The output for one number of [-1, 1] and the two halves of a random 64-bit word. */
export function draw(
  table: Pick<Table, "knots" | "thresholds">,
  x: number,
  upper: number,
  lower: number,
): number;

/** Map a number to [-1, 1]; one outside the bounds is moved to the nearer bound. */
export function toUnit(attribute: Attribute, value: number): number;

/** Read a campaign from JSON (text, or its bytes), certify its table, and return it frozen. */
export function readCampaign(data: string | ArrayBuffer | ArrayBufferView): Promise<Campaign>;

/** Fetch a campaign from its address, and certify it. */
export function fetchCampaign(url: string | URL, options?: DeliveryOptions): Promise<Campaign>;

/** Send a report to the campaign at an address; attempts share the report's id. */
export function send(url: string | URL, report: Report, options?: DeliveryOptions): Promise<Receipt>;

/** A person's side of a campaign; throws where the table may lose more than the policy allows. */
export class Client {
  constructor(campaign: Campaign, options?: ClientOptions);
  /** The person's report: a new one, or the one that was stored before. */
  report(values: Values): Promise<Report>;
  /** Report, send, and note that it was sent; safe to repeat. */
  submit(
    url: string | URL,
    values: Values,
    options?: DeliveryOptions,
  ): Promise<Receipt & { report: Report }>;
}
