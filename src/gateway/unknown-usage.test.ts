import { expect, test } from "bun:test";
import type { LogFields } from "../core/log/log.ts";
import { createUnknownUsage } from "./unknown-usage.ts";

function open() {
  const lines: (LogFields | undefined)[] = [];
  return { lines, unknown: createUnknownUsage({ error: (_, fields) => void lines.push(fields) }) };
}

test("each count of each provider is told once", () => {
  const { lines, unknown } = open();
  unknown.seen("openai", ["usage.a_tokens"]);
  unknown.seen("openai", ["usage.a_tokens", "usage.b_tokens"]);
  unknown.seen("openai", ["usage.b_tokens"]);
  unknown.seen("xai", ["usage.a_tokens"]);
  expect(lines).toEqual([
    { provider: "openai", unknown_usage: ["usage.a_tokens"] },
    { provider: "openai", unknown_usage: ["usage.b_tokens"] },
    { provider: "xai", unknown_usage: ["usage.a_tokens"] },
  ]);
});

test("a provider that makes up names does not fill the log", () => {
  const { lines, unknown } = open();
  for (let i = 0; i < 1_000; i += 1) unknown.seen("odd", [`usage.${i}_tokens`]);
  expect(lines).toHaveLength(100);
});
