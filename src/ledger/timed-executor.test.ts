import { expect, test } from "bun:test";
import { createRegistry } from "../core/metrics/registry.ts";
import { timedExecutor } from "./timed-executor.ts";
import type { Executor } from "./writer.ts";

test("a batch is timed until it is durable, its commands are counted, and one that failed is a failure alone", async () => {
  const registry = createRegistry();
  let nowMs = 0;
  let isAway = false;
  const executor: Executor = {
    async execute(batch) {
      nowMs += 30;
      if (isAway) throw new Error("the store is away");
      return batch.map(() => ({ answer: { ok: true } }));
    },
    close: async () => {},
  };
  const timed = timedExecutor(executor, registry, () => nowMs);
  const ping = { kind: "ping" } as const;
  expect(await timed.execute([ping, ping])).toHaveLength(2);
  await timed.execute([ping]);
  isAway = true;
  expect(await timed.execute([ping]).catch(String)).toContain("away");
  let text = "";
  for await (const part of registry.text()) text += part;
  expect(text).toContain('switchyard_store_commit_seconds_bucket{le="0.025"} 0\n');
  expect(text).toContain('switchyard_store_commit_seconds_bucket{le="0.05"} 2\n');
  expect(text).toContain("switchyard_store_commit_seconds_sum 0.06\n");
  expect(text).toContain("switchyard_store_commands_total 3\n");
  expect(text).toContain("switchyard_store_failures_total 1\n");
});

test("batches are told apart from a tenth of a millisecond to five seconds", async () => {
  const registry = createRegistry();
  let nowMs = 0;
  const steps = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000, 5_000];
  const taking = [...steps, 6_000].values();
  const executor: Executor = {
    async execute() {
      nowMs = taking.next().value as number;
      return [];
    },
    close: async () => {},
  };
  const timed = timedExecutor(executor, registry, () => nowMs);
  for (let i = 0; i <= steps.length; i += 1) {
    nowMs = 0;
    await timed.execute([]);
  }
  let text = "";
  for await (const part of registry.text()) text += part;
  const counts = [...text.matchAll(/commit_seconds_bucket\{le="(.*)"\} (\d+)/g)];
  expect(counts.map(([, le, count]) => [le, Number(count)])).toEqual([
    ...steps.map((ms, i) => [String(ms / 1_000), i + 1]),
    ["+Inf", steps.length + 1],
  ]);
});
