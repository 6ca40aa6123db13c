// The double as the upstream of a benchmark: a process of its own, fixed answers, bytes made once.
import { parseArgs } from "node:util";
import { startBenchmarkDouble } from "./benchmark-double.ts";
import type { BenchmarkForm } from "./benchmark-double.ts";
import { BENCHMARK_FORMATS, type BenchmarkFormat } from "./benchmark-answers.ts";

function readForm(): BenchmarkForm & { readonly port: number } {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      format: { type: "string", default: "chat" },
      path: { type: "string", default: "/v1/chat/completions" },
      mode: { type: "string", default: "plain" },
      chunks: { type: "string", default: "50" },
      "events-per-write": { type: "string", default: "1" },
      "interval-ms": { type: "string", default: "10" },
      "body-bytes": { type: "string", default: "0" },
    },
  });
  return {
    port: count("port", values.port),
    format: formatNamed(values.format),
    path: values.path,
    mode: values.mode === "stream" ? "stream" : "plain",
    chunks: Math.max(1, count("chunks", values.chunks)),
    eventsPerWrite: Math.max(1, count("events-per-write", values["events-per-write"])),
    intervalMs: count("interval-ms", values["interval-ms"]),
    bodyBytes: count("body-bytes", values["body-bytes"]),
  };
}

function formatNamed(name: string): BenchmarkFormat {
  const found = BENCHMARK_FORMATS.find((format) => format === name);
  if (found === undefined)
    throw new Error(`--format must be one of ${BENCHMARK_FORMATS.join(", ")}, got ${name}`);
  return found;
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
