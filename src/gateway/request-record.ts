import type { Clock } from "../core/time/clock.ts";
import type { Log, LogFields } from "../core/log/log.ts";
import type { Offer } from "./offer.ts";

/** What is told of one request when it has ended: one log line, however it ended. */
export interface RequestRecord {
  readonly requestId: string;
  /** Adds what has become known. */
  note(fields: LogFields): void;
  /** Writes the line; only the first call does. */
  finish(status: number): void;
}

/**
 * What `admit` makes of a request. Where it refuses it, the line has the model that it had told of by then first, as an id: a
 * name that stands for none is the caller's own text, which is not logged.
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
