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
  { catalog }: Pick<Offer, "catalog">,
  admit: (asked: (model: unknown) => void) => Promise<Admission>,
): Promise<Admission> {
  let name: unknown;
  try {
    return await admit((model) => (name ??= model));
  } catch (error) {
    const [id, ...others] = (typeof name === "string" ? catalog.names.find(name)?.ids : undefined) ?? [];
    if (id !== undefined && others.length === 0) record.note({ model: id });
    throw error;
  }
}

/** Begins the record of a request. */
export function openRequestRecord(
  log: Log,
  clock: Clock,
  request: { readonly requestId: string; readonly method: string; readonly path: string },
): RequestRecord {
  const startedMs = clock.steadyMs();
  let fields: LogFields = { request_id: request.requestId, method: request.method, path: request.path };
  let finished = false;
  return {
    requestId: request.requestId,
    note(more) {
      fields = { ...fields, ...more };
    },
    finish(status) {
      if (finished) return;
      finished = true;
      const write = fields.operator_fault === true ? log.error : log.info;
      write("request", { ...fields, status, duration_ms: clock.steadyMs() - startedMs });
    },
  };
}
