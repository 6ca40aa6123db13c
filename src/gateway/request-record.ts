import type { Clock } from "../core/clock.ts";
import type { Log, LogFields } from "../core/log.ts";

/** What is told of one request when it has ended: one log line, however it ended. */
export interface RequestRecord {
  readonly requestId: string;
  /** Adds what has become known. */
  note(fields: LogFields): void;
  /** Writes the line; only the first call does. */
  finish(status: number): void;
}

/** Begins the record of a request. */
export function openRequestRecord(
  log: Log,
  clock: Clock,
  request: { readonly requestId: string; readonly method: string; readonly path: string },
): RequestRecord {
  const startedMs = clock.nowMs();
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
      write("request", { ...fields, status, duration_ms: clock.nowMs() - startedMs });
    },
  };
}
