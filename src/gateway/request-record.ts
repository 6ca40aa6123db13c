import type { Clock } from "../core/time/clock.ts";
import type { Log, LogFields } from "../core/log/log.ts";
import type { Offer } from "./offer.ts";

/** The record of one request: one log line when it has ended. */
export interface RequestRecord {
  readonly requestId: string;
  /** Adds facts. */
  note(fields: LogFields): void;
  /** Writes the line; only the first call does. */
  finish(status: number): void;
}

/**
 * The result of `admit`. Where it refuses, the line has the model that `admit` had noted first, by its id: an unknown
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

/** Begins the record of a request. */
export function openRequestRecord(
  log: Log,
  clock: Clock,
  request: { readonly requestId: string; readonly method: string; readonly path: string },
): RequestRecord {
  return new OpenRecord(log, clock, request);
}

/** A class, since one is made for each request: its functions are not. */
class OpenRecord implements RequestRecord {
  readonly requestId: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #fields: LogFields;
  #finished = false;

  constructor(log: Log, clock: Clock, request: Parameters<typeof openRequestRecord>[2]) {
    const { requestId, method, path } = request;
    this.requestId = requestId;
    this.#log = log;
    this.#clock = clock;
    this.#startedMs = clock.steadyMs();
    this.#fields = { request_id: requestId, method, path };
  }

  note(more: LogFields): void {
    if (!this.#finished) Object.assign(this.#fields, more);
  }

  finish(status: number): void {
    if (this.#finished) return;
    this.note({ status, duration_ms: this.#clock.steadyMs() - this.#startedMs });
    this.#finished = true;
    if (this.#fields.operator_fault === true) this.#log.error("request", this.#fields);
    else this.#log.info("request", this.#fields);
  }
}
