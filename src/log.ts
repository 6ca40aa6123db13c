import pino from "pino";
import type { Log } from "./core/log.ts";

/** Writes structured lines of JSON to standard output: the one sink of every log line. */
export function createLog(level: "info" | "silent" = "info"): Log & { flush(): void } {
  const destination = pino.destination({ dest: 1, sync: false });
  const sink = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    info: (message, fields) => sink.info(fields ?? {}, message),
    warn: (message, fields) => sink.warn(fields ?? {}, message),
    error: (message, fields) => sink.error(fields ?? {}, message),
    flush: () => {
      if (level !== "silent") destination.flushSync();
    },
  };
}
