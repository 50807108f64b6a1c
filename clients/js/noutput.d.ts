import type { Admitted } from "./enroll.js";

/** What went wrong: the campaign, its privacy, the person's policy or values, or the delivery. */
export type ErrorCode = "document" | "privacy" | "policy" | "closed" | "value" | "delivery";

export class NoutputError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status, where a server answered. */
  readonly status?: number;
  /** The type of the problem document, where a server sent one. */
  readonly problem?: string;
}

/** What all questions have. */
interface Asked {
  /** What programs call it. */
  readonly name: string;
  /** A few words for headings. */
  readonly label?: string;
  /** The question as people read it. */
  readonly text?: string;
  /** The privacy loss of a report on it, where it has one of its own. */
  readonly epsilon?: number;
}

/** Anything between two bounds. */
export interface NumberQuestion extends Asked {
  readonly kind: "number";
  readonly lower: number;
  readonly upper: number;
  readonly unit: string;
}

/** Answers in their order. */
export interface ScaleQuestion extends Asked {
  readonly kind: "scale";
  readonly answers: readonly number[] | readonly string[];
  /** Of answers that are texts, for a mean score. */
  readonly scores?: readonly number[];
}

/** Answers without order. */
export interface ChoiceQuestion extends Asked {
  readonly kind: "choice";
  readonly answers: readonly string[];
}

/** No or yes. */
export interface YesNoQuestion extends Asked {
  readonly kind: "yes/no";
}

export type Question = NumberQuestion | ScaleQuestion | ChoiceQuestion | YesNoQuestion;

interface Rows {
  readonly format: "noutput-table";
  readonly epsilon: number;
  readonly scale: number;
  readonly weights: readonly (readonly number[])[];
  /** Running sums of every row of weights. */
  readonly thresholds: readonly (readonly number[])[];
  readonly fingerprint: string;
}

/** A table for numbers: one row per knot. */
export interface NumberTable extends Rows {
  readonly version: 1;
  readonly outputs: readonly number[];
  readonly knots: readonly number[];
}

/** A table with one row per answer. */
export interface AnswerTable extends Rows {
  readonly version: 2;
  readonly outputs?: undefined;
  readonly knots?: undefined;
}

export type Table = NumberTable | AnswerTable;

/** What campaigns of all versions have. */
interface Content {
  readonly format: "noutput-campaign";
  readonly id: string;
  readonly title: string;
  readonly public: boolean;
  readonly opens: string;
  readonly closes: string;
  /** Whether a person reports on one question, drawn at random, or on all of them. */
  readonly ask: "one" | "all";
  readonly questions: readonly Question[];
  /** The table of every question; equal tables are one object. */
  readonly tables: readonly Table[];
  /** What a person loses who answers: the largest of all tables, or the sum where all are asked. */
  readonly epsilon: number;
  readonly fingerprint: string;
}

/** A campaign of version 1: numbers that share one table. */
export interface FirstCampaign extends Content {
  readonly version: 1;
  readonly question: string;
  readonly goal: "balanced" | "mean" | "distribution";
  readonly questions: readonly NumberQuestion[];
}

/** Whose reports a campaign counts. */
export interface Admission {
  readonly kind: "open" | "token" | "anonymous";
  /** How many reports the operator expects per hour. */
  readonly reports_per_hour?: number;
  /** Where anonymous tokens are signed. */
  readonly issuer?: string;
  /** The issuer's public key for this campaign, in base64url. */
  readonly key?: string;
}

/** A campaign of version 2: questions of all kinds. */
export interface SecondCampaign extends Content {
  readonly version: 2;
  readonly text: string;
  readonly admission: "open" | Admission;
}

/** A campaign whose tables have been certified; only `readCampaign` makes one. */
export type Campaign = FirstCampaign | SecondCampaign;

/** All that ever leaves the device, for a campaign of version 1. */
export interface FirstReport {
  readonly version: 1;
  readonly campaign: string;
  readonly attribute: string;
  readonly output: number;
  readonly id: string;
}

/** All that ever leaves the device, for a campaign of version 2. */
export interface SecondReport {
  readonly version: 2;
  readonly campaign: string;
  readonly question: string;
  readonly output: number;
  readonly id: string;
  /** Where the campaign is not open to everybody. */
  readonly token?: string;
}

export type Report = FirstReport | SecondReport;

/** What the person allows: what one campaign asks for, and all campaigns in any `days` days. */
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

/** An answer by itself or by its label; truth values are for yes/no. */
export type Value = number | string | boolean;

/** The answer to every question by name, or one answer where there is one question. */
export type Values = Value | Readonly<Record<string, Value>>;

/** A BigInt that is not above 2^64 e^epsilon. */
export function exponentialFloor(epsilon: number): bigint;

/** The first output whose weights differ by more than e^epsilon, or -1 where none does. */
export function certify(weights: readonly (readonly number[])[], epsilon: number): number;

/** The output for an input (as `encode` returns it) and the two halves of a random 64-bit word. */
export function draw(
  table: Pick<Table, "knots" | "thresholds">,
  input: number,
  upper: number,
  lower: number,
): number;

/** The answers of a question as people read them; none for a number. */
export function labels(question: Question): string[];

/**
 * What a table draws from. A number is moved to the nearer bound where it is outside, and mapped to
 * [-1, 1]; an answer, given by itself or by its label, becomes its place, from 0.
 */
export function encode(question: Question, value: Value): number;

/** The canonical form of parsed JSON, which fingerprints are taken of, as parts of a Blob. */
export function canonical(value: unknown): BlobPart[];

/** Read a campaign from JSON (text, or its bytes), certify its tables, and return it frozen. */
export function readCampaign(data: string | ArrayBuffer | ArrayBufferView): Promise<Campaign>;

/** Fetch a campaign from its address, and certify it. */
export function fetchCampaign(url: string | URL, options?: DeliveryOptions): Promise<Campaign>;

/** Send a report to the campaign at an address; attempts share the report's id. */
export function send(url: string | URL, report: Report, options?: DeliveryOptions): Promise<Receipt>;

/** A person's side of a campaign; throws where it may lose more than the policy allows. */
export class Client {
  constructor(campaign: Campaign, options?: ClientOptions);
  /** The person's reports, one per question that is asked: new ones, or those stored before. */
  reports(values: Values, admitted?: Admitted): Promise<Report[]>;
  /** The person's report, where the campaign asks for one. */
  report(values: Values, admitted?: Admitted): Promise<Report>;
  /** Report, send one by one, and note that all were sent; safe to repeat. */
  submit(
    url: string | URL,
    values: Values,
    options?: DeliveryOptions & { admitted?: Admitted },
  ): Promise<Receipt & { reports: Report[] }>;
}
