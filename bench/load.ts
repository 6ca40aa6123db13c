// The load tool, a process of its own: asks one request many times over raw sockets and prints one JSON line.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runLoad } from "./load-client.ts";
import type { LoadPlan } from "./load-client.ts";

function readPlan(): LoadPlan {
  const { values } = parseArgs({
    options: {
      method: { type: "string", default: "POST" },
      url: { type: "string", default: "" },
      /** A file with a body in each line. */
      "body-file": { type: "string", default: "" },
      /** One key, or several between commas that take turns. */
      bearer: { type: "string", default: "" },
      mode: { type: "string", default: "plain" },
      "end-mark": { type: "string", default: "}" },
      "per-second": { type: "string" },
      concurrency: { type: "string", default: "1" },
      requests: { type: "string", default: "1000" },
      seconds: { type: "string", default: "10" },
    },
  });
  const mode = values.mode === "stream" ? "stream" : "plain";
  return {
    method: values.method === "GET" ? "GET" : "POST",
    url: values.url,
    headers: values.bearer.split(",").map((bearer) => ({ authorization: `Bearer ${bearer}` })),
    bodies: readFileSync(values["body-file"], "utf8")
      .split("\n")
      .map((line) => new TextEncoder().encode(line)),
    answer: { endMark: values["end-mark"], stream: mode === "stream" },
    concurrency: positive("concurrency", values.concurrency),
    perSecond: values["per-second"] === undefined ? undefined : positive("per-second", values["per-second"]),
    requests: positive("requests", values.requests),
    seconds: positive("seconds", values.seconds),
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`--${name} must be a number above 0, got ${text}`);
}

const result = await runLoad(readPlan());
console.log(JSON.stringify(result));
process.exit(result.errors === 0 ? 0 : 1);
