import type { Clock } from "../core/time/clock.ts";
import type { ErrorKind } from "../core/errors.ts";
import type { Log, LogFields } from "../core/log/log.ts";
import type { Attempt } from "../ledger/commands.ts";
import type { CountedRequest, Meter, RetryStep, Spent } from "./metrics/meter.ts";
import type { Refusals } from "./refusals.ts";
import type { FailureReason } from "./routing/retry.ts";
import type { Offer } from "./offer.ts";

/** The record of one request: one log line when it has ended, and what is counted of it. */
export interface RequestRecord {
  readonly requestId: string;
  /** Adds facts. */
  note(fields: LogFields): void;
  /** The request's path is that of this route. */
  at(endpoint: string | undefined): void;
  /** The model that is asked for, by its id, where another may serve. */
  asks(model: string): void;
  /** Others are waited for, the client's body or a provider: until `goesOn` the time is not the gateway's own. */
  waits(): void;
  goesOn(): void;
  /** The first content of a streamed answer has come. */
  sawContent(): void;
  /** The request is sent again after the provider failed, for that reason. */
  retried(provider: string, reason: FailureReason | "signatures", to: RetryStep): void;
  /** The calls to providers have ended. */
  called(attempts: readonly Attempt[]): void;
  charged(spent: Spent): void;
  /** The client is told so. */
  refused(kind: ErrorKind): void;
  /** Writes the line, and counts the request; only the first call does. */
  finish(status: number): void;
}

/**
 * The result of `admit`. Where it refuses, the line has the model that `admit` had noted first, by its id. An unknown
 * name is the caller's own text, which is not logged.
 */
export async function admitting<Admission>(
  record: RequestRecord,
  offer: Pick<Offer, "catalog">,
  admit: (asked: (model: unknown) => void) => Promise<Admission>,
): Promise<Admission> {
  let name: unknown;
  try {
    return await admit((model) => (name ??= model));
  } catch (error) {
    noteAsked(record, offer, name);
    throw error;
  }
}

/** Notes the model that a refused request had named, by its id, where the name is that of one model. */
export function noteAsked(record: RequestRecord, { catalog }: Pick<Offer, "catalog">, name: unknown): void {
  const [id, ...others] = (typeof name === "string" ? catalog.names.find(name)?.ids : undefined) ?? [];
  if (id !== undefined && others.length === 0) record.note({ model: id });
}

/** Begins the record of a request. Without a meter nothing is counted, without `refusals` no refusal is noted. */
export function openRequestRecord(
  log: Log,
  clock: Clock,
  request: { readonly requestId: string; readonly method: string; readonly path: string },
  meter?: Meter,
  refusals?: Pick<Refusals, "note">,
): RequestRecord {
  return new OpenRecord(log, clock, request, meter, refusals);
}

const NO_ATTEMPTS: readonly Attempt[] = [];

/** A class, since one is made for each request: its functions are not. */
class OpenRecord implements RequestRecord, CountedRequest {
  readonly requestId: string;
  endpoint: string | undefined;
  asked: string | undefined;
  attempts = NO_ATTEMPTS;
  spent: Spent | undefined;
  durationMs = 0;
  firstContentMs: number | undefined;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #meter: Meter | undefined;
  readonly #refusals: Pick<Refusals, "note"> | undefined;
  readonly #startedMs: number;
  readonly #fields: LogFields;
  /** By the meter's clock, as are those below. */
  readonly #beganMs: number;
  #waitingSinceMs: number | undefined;
  #waitedMs = 0;
  #refusal: ErrorKind | undefined;
  #finished = false;

  constructor(...[log, clock, request, meter, refusals]: Parameters<typeof openRequestRecord>) {
    const { requestId, method, path } = request;
    this.requestId = requestId;
    this.#log = log;
    this.#clock = clock;
    this.#meter = meter;
    this.#refusals = refusals;
    this.#startedMs = clock.steadyMs();
    this.#fields = { request_id: requestId, method, path };
    this.#beganMs = meter?.nowMs() ?? 0;
    meter?.began();
  }

  get model(): string | undefined {
    return this.#fields.model;
  }

  get provider(): string | undefined {
    return this.#fields.provider;
  }

  get outcome(): string {
    const { outcome, error } = this.#fields;
    // A stream that could not be charged has no outcome, and an error in its line.
    return outcome ?? this.#refusal ?? (error === undefined ? "completed" : "internal_error");
  }

  get ownMs(): number | undefined {
    return this.attempts.length === 0 ? undefined : this.durationMs - this.#waitedMs;
  }

  note(more: LogFields): void {
    if (!this.#finished) Object.assign(this.#fields, more);
  }

  at(endpoint: string | undefined): void {
    this.endpoint = endpoint;
  }

  asks(model: string): void {
    this.asked = model;
  }

  waits(): void {
    if (this.#meter !== undefined) this.#waitingSinceMs ??= this.#meter.nowMs();
  }

  goesOn(): void {
    if (this.#meter === undefined || this.#waitingSinceMs === undefined) return;
    this.#waitedMs += this.#meter.nowMs() - this.#waitingSinceMs;
    this.#waitingSinceMs = undefined;
  }

  sawContent(): void {
    if (this.#meter !== undefined) this.firstContentMs = this.#meter.nowMs() - this.#beganMs;
  }

  retried(provider: string, reason: FailureReason | "signatures", to: RetryStep): void {
    this.#meter?.retried(provider, reason, to);
  }

  called(attempts: readonly Attempt[]): void {
    this.goesOn();
    this.attempts = attempts;
  }

  charged(spent: Spent): void {
    this.spent = spent;
  }

  refused(kind: ErrorKind): void {
    this.#refusal = kind;
  }

  finish(status: number): void {
    if (this.#finished) return;
    this.note({ status, duration_ms: this.#clock.steadyMs() - this.#startedMs });
    this.#finished = true;
    if (this.#fields.operator_fault === true) this.#log.error("request", this.#fields);
    else this.#log.info("request", this.#fields);
    if (this.#refusal !== undefined && this.attempts.length === 0) this.#noteRefusal(this.#refusal, status);
    if (this.#meter === undefined) return;
    this.goesOn();
    this.durationMs = this.#meter.nowMs() - this.#beganMs;
    this.#meter.ended(this);
  }

  #noteRefusal(kind: ErrorKind, status: number): void {
    const { code = kind, path = "", param: field, model, key_id: key, account_id: account } = this.#fields;
    const { endpoint, requestId: id } = this;
    this.#refusals?.note({ id, status, code, endpoint, path, field, model, key, account });
  }
}
