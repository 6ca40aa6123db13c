import { write, writeSync } from "node:fs";
import type { Log, LogFields } from "./core/log/log.ts";

/** A log that can be emptied before the process ends. */
export interface LineLog extends Log {
  flush(): void;
}

/** Standard output. */
const OUT = 1;

/** Lines go out in groups, at the latest after this long: a write for each would cost more than the line. */
const FLUSH_MS = 100;

/** Beyond this many characters lines are written at once. */
const FLUSH_CHARS = 64 * 1024;

/** When nothing reads our output, lines beyond this are dropped, and counted. */
const MAX_CHARS = 8 * 1024 * 1024;

/** A line of the log, with its end. `first` stands before the fields. */
export function logLine(level: string, message: string, fields?: LogFields, first?: object): string {
  const head = `{"time":"${new Date().toISOString()}","level":"${level}","message":${JSON.stringify(message)}`;
  return `${head}${membersText(first)}${membersText(fields)}}\n`;
}

/** The members of an object, each after a comma. */
function membersText(fields: object | undefined): string {
  const text = fields === undefined ? "{}" : JSON.stringify(fields);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** Writes structured lines of JSON to standard output: the one sink of every log line. */
export function createLog(): LineLog {
  let lines = "";
  let writing = "";
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const send = (): void => {
    timer = undefined;
    if (writing !== "" || lines === "") return;
    writing = lines;
    lines = "";
    const bytes = Buffer.from(writing);
    const from = (at: number): void =>
      write(OUT, bytes, at, (error, written) => {
        if (error === null && at + written < bytes.length) return from(at + written);
        // A closed output cannot be reported anywhere; the gateway goes on.
        writing = "";
        if (lines !== "") send();
      });
    from(0);
  };

  const add = (level: string, message: string, fields: LogFields | undefined): void => {
    if (lines.length > MAX_CHARS) {
      dropped += 1;
      return;
    }
    const lost = dropped === 0 ? undefined : { dropped_lines: dropped };
    dropped = 0;
    lines += logLine(level, message, fields, lost);
    if (lines.length > FLUSH_CHARS) send();
    else timer ??= setTimeout(send, FLUSH_MS);
  };

  return {
    info: (message, fields) => add("info", message, fields),
    warn: (message, fields) => add("warn", message, fields),
    error: (message, fields) => add("error", message, fields),
    flush() {
      if (lines !== "") writeSync(OUT, lines);
      lines = "";
    },
  };
}
