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
  const startedMs = clock.steadyMs();
  const fields: LogFields = { request_id: request.requestId, method: request.method, path: request.path };
  let finished = false;
  return {
    requestId: request.requestId,
    note(more) {
      if (!finished) Object.assign(fields, more);
    },
    finish(status) {
      if (finished) return;
      finished = true;
      Object.assign(fields, { status, duration_ms: clock.steadyMs() - startedMs });
      const write = fields.operator_fault === true ? log.error : log.info;
      write("request", fields);
    },
  };
}
