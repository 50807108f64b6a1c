import type { Admitted } from "./enroll.js";

/** What went wrong: the campaign, its privacy, the person's policy or values, time or delivery. */
export type ErrorCode = "document" | "privacy" | "policy" | "closed" | "due" | "value" | "delivery";

export class NoutputError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status, where a server answered. */
  readonly status?: number;
  /** The type of the problem document, where a server sent one. */
  readonly problem?: string;
  /** The next round in which the device answers, where it does not answer in this. */
  readonly round?: number;
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
  /** Numbers inside the bounds at which rows of the table jump, so that shares below them can be told. */
  readonly edges?: readonly number[];
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

/** What a device draws from: the probability of every output for every row, certified. */
export interface Table {
  readonly format: "noutput-table";
  readonly version: 1;
  readonly epsilon: number;
  readonly scale: number;
  /**
   * What rows stand for, per coordinate of the question: a number of answers, or the knots of a number
   * in its own unit. An inner knot that is listed twice has a row per side.
   */
  readonly axes: readonly (number | readonly number[])[];
  /** One row per answer or listed knot; of two axes, the second runs faster. */
  readonly weights: readonly (readonly number[])[];
  readonly fingerprint: string;
}

/** A campaign whose tables have been certified; only `readCampaign` makes one. */
export interface Campaign {
  readonly format: "noutput-campaign";
  readonly version: 1;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly public: boolean;
  readonly opens: string;
  readonly closes: string;
  /** Whether a person reports on one question, drawn at random, or on all of them. */
  readonly ask: "one" | "all";
  readonly questions: readonly Question[];
  /** The questions as the newest wave asks them: numbers have its bounds. */
  readonly asked: readonly Question[];
  /** The table of every question in the newest wave; equal tables are one object. */
  readonly tables: readonly Table[];
  /** What a person loses who answers: the largest of all tables, or the sum where all are asked. */
  readonly epsilon: number;
  /** What a person loses in one period of the schedule who answers in all of its own rounds. */
  readonly epsilonPerPeriod: number;
  /** How many rounds the schedule has; 1 without one. */
  readonly rounds: number;
  /** How many combinations of labels there are; 1 without segments. */
  readonly combinations: number;
  /** What people are told before they answer, about labels and rounds; may be empty. */
  readonly notice: string;
  /** Of the newest wave. */
  readonly fingerprint: string;
  /** The fingerprints of all waves, from the first to the newest. */
  readonly chain: readonly string[];
  /** The fingerprint of the first wave, by which all waves of a campaign are one. */
  readonly root: string;
  readonly waves: readonly Wave[];
  readonly admission: "open" | Admission;
  readonly segments: Segments | Record<string, never>;
  readonly schedule: Schedule | null;
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

/** When an adaptive campaign gets its second wave. */
export interface NextWave {
  readonly rule: "range 1";
  /** How many reports of the first wave are published by then. */
  readonly reports: number;
  /** How many people are expected. */
  readonly expected: number;
  /** The latest time. */
  readonly until: string | null;
}

/** A wave of a campaign as its document has it. */
export interface Wave {
  /** The index of every question's table in the document. */
  readonly tables: readonly number[];
  readonly objectives: readonly string[];
  /** Of the first wave, where the campaign is adaptive. */
  readonly next?: NextWave;
  /** Of later waves: the bounds of every number, null for other questions. */
  readonly bounds?: readonly (readonly [number, number] | null)[];
  /** Of later waves: the fingerprint of the document up to the wave before. */
  readonly predecessor?: string;
  /** Of later waves: the published counts of every earlier wave, per question. */
  readonly inputs?: readonly (readonly (readonly number[])[])[];
  /** Of later waves: why these bounds, per question. */
  readonly reasons?: readonly string[];
}

/** Names with a closed list of public labels each, which are not protected. */
export interface Segments {
  readonly names: readonly { readonly name: string; readonly labels: readonly string[] }[];
  /** How many reports a combination of labels has before it is shown. */
  readonly minimum: number;
}

/** Rounds, of which a device answers a few per period. */
export interface Schedule {
  readonly every: "hour" | "day" | "week";
  readonly rounds_per_period: number;
  /** In how many rounds of a period a device answers. */
  readonly answers: number;
  /** For how many seconds after its round a report is still counted. */
  readonly grace: number;
}

/** A round of a schedule, from `start` until just before `end`. */
export interface Round {
  number: number;
  start: Date;
  end: Date;
}

/** Public labels by the names of segments. */
export type Labels = Readonly<Record<string, string>>;

/** All that ever leaves the device. */
export interface Report {
  readonly version: 1;
  readonly campaign: string;
  readonly question: string;
  readonly output: number;
  readonly id: string;
  /** Where the campaign is not open to everybody. */
  readonly token?: string;
  /** Public labels that are told; they are not protected. */
  readonly labels?: Labels;
  /** The round that it was made in, where the campaign has a schedule. */
  readonly round?: number;
}

/** What the person allows: what one campaign asks for, per period of its schedule, and all campaigns in any `days` days. */
export interface Policy {
  /** Default 1. */
  epsilon?: number;
  /** Default 4. */
  total?: number;
  /** Default 30. */
  days?: number;
  /** The names of the segments whose labels may leave the device; default none. */
  segments?: readonly string[];
  /**
   * Whether a campaign may be answered whose id the ledger knows by another root, because it was made
   * anew: whoever hands out several documents under one id can tell devices apart. Default false.
   */
  newRoots?: boolean;
}

/** `localStorage`, or anything that keeps text as durably as it should. */
export interface LedgerStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/** `navigator.locks`, or anything else that runs one piece of work at a time on a storage. */
export interface LedgerLocks {
  /** Run `work`, which reads and writes the storage, while nobody else does; return what it returns. */
  request<T>(name: string, work: () => T): Promise<T>;
}

export interface ClientOptions {
  policy?: Policy;
  /** `localStorage` of a page if not given; a Map is for tests and simulations, and forgets. */
  storage?: LedgerStorage | Map<string, string>;
  /** What keeps others from the storage; needed unless the storage is the `localStorage` of a page, or a Map. */
  locks?: LedgerLocks;
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

/**
 * The output for what `encode` made of a value, one input per axis, and the halves of random 64-bit
 * words, the upper one first, one word per axis.
 */
export function draw(
  table: Pick<Table, "axes" | "weights">,
  inputs: ArrayLike<number>,
  halves: ArrayLike<number>,
): number;

/** The answers of a question as people read them; none for a number. */
export function labels(question: Question): string[];

/**
 * What a table draws from. A number is moved to the nearer bound where it is outside; an answer, given
 * by itself or by its label, becomes its index.
 */
export function encode(question: Question, value: Value): number;

/** The canonical form of parsed JSON, which fingerprints are taken of, as parts of a Blob. */
export function canonical(value: unknown): BlobPart[];

/** Read a campaign from JSON (text, or its bytes), certify its tables, and return it frozen. */
export function readCampaign(data: string | ArrayBuffer | ArrayBufferView): Promise<Campaign>;

/**
 * Fetch a campaign from its address, its newest wave, and certify it. Any other than the one whose
 * first wave has the fingerprint `root` is refused, where that is given.
 */
export function fetchCampaign(
  url: string | URL,
  options?: DeliveryOptions & { root?: string },
): Promise<Campaign>;

/**
 * The rounds of a period, from 0, in which a device answers. They are drawn from its secret (64
 * hexadecimal digits), whatever its values are, among those that were not over when it joined.
 */
export function roundsOf(
  schedule: Pick<Schedule, "rounds_per_period" | "answers">,
  root: string,
  secret: string,
  period: number,
  joined?: number,
): Promise<number[]>;

/** Send a report to the campaign at an address; attempts share the report's id. */
export function send(url: string | URL, report: Report, options?: DeliveryOptions): Promise<Receipt>;

/** A person's side of a campaign; throws where it may lose more than the policy allows. */
export class Client {
  constructor(campaign: Campaign, options?: ClientOptions);
  /** The campaign as it is answered: its newest wave that this client could verify. */
  get campaign(): Campaign;
  /**
   * Take a newer wave of the campaign where it continues the chain that is known, and is within the
   * policy; say whether it was taken. Otherwise the client keeps what it has.
   */
  follow(found: Campaign): boolean;
  /** The person's reports, one per question that is asked: new ones, or those stored before. */
  reports(values: Values, admitted?: Admitted, labels?: Labels): Promise<Report[]>;
  /** The person's report, where the campaign asks for one. */
  report(values: Values, admitted?: Admitted, labels?: Labels): Promise<Report>;
  /** The labels that would leave the device: those that the policy allows. */
  shownLabels(labels?: Labels): Labels;
  /** Whether an answer is wanted now, none was given, and the policy's total allows one. */
  due(): Promise<boolean>;
  /** The next round in which the device answers and has not answered yet; the first call joins. */
  nextRound(): Promise<Round | undefined>;
  /**
   * Report, send one by one, and note that all were sent; safe to repeat. `leftOut` has the names of
   * the labels that the reports do not carry, because the policy did not name them.
   */
  submit(
    url: string | URL,
    values: Values,
    options?: DeliveryOptions & { admitted?: Admitted; labels?: Labels },
  ): Promise<Receipt & { reports: Report[]; leftOut: string[] }>;
  /**
   * Send the reports on the campaign that were drawn and never acknowledged, the same ones, while
   * they are counted: until the grace time of their round is over or, without a schedule, until the
   * campaign closes. Each is a request of its own, the oldest first; returns how many were sent.
   */
  resend(url: string | URL, options?: DeliveryOptions): Promise<number>;
}
