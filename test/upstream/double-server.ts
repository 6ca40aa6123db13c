// The double as the upstream of a benchmark: a process of its own, fixed answers, bytes made once.
import { parseArgs } from "node:util";
import { startBenchmarkDouble } from "./benchmark-double.ts";
import type { BenchmarkForm } from "./benchmark-double.ts";

function readForm(): BenchmarkForm & { readonly port: number } {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      mode: { type: "string", default: "plain" },
      chunks: { type: "string", default: "50" },
      "interval-ms": { type: "string", default: "10" },
      "body-bytes": { type: "string", default: "0" },
    },
  });
  return {
    port: count("port", values.port),
    mode: values.mode === "stream" ? "stream" : "plain",
    chunks: Math.max(1, count("chunks", values.chunks)),
    intervalMs: count("interval-ms", values["interval-ms"]),
    bodyBytes: count("body-bytes", values["body-bytes"]),
  };
}

function count(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number, got ${text}`);
  return Number(text);
}

function main(): void {
  const form = readForm();
  const double = startBenchmarkDouble(form, form.port);
  console.log(JSON.stringify({ url: double.url }));
  const end = () => {
    double.stop();
    console.log(JSON.stringify({ counts: double.counts }));
    process.exit(0);
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
}

if (import.meta.main) main();
