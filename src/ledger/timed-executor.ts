import type { Registry } from "../core/metrics/registry.ts";
import type { Executor } from "./writer.ts";

/** In seconds. */
const COMMITS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/** The same executor, with its transactions counted and timed. */
export function timedExecutor(executor: Executor, registry: Registry, nowMs: () => number): Executor {
  const commits = registry.histograms(
    {
      name: "switchyard_store_commit_seconds",
      help: "From a batch of commands to the store until it was durable",
      labels: [],
    },
    COMMITS,
  )();
  const commands = registry.counters({
    name: "switchyard_store_commands_total",
    help: "Commands in the batches that the store took",
    labels: [],
  })();
  const failures = registry.counters({
    name: "switchyard_store_failures_total",
    help: "Batches that the store did not take, each of which is tried three times",
    labels: [],
  })();
  return {
    async execute(batch) {
      const startedMs = nowMs();
      try {
        const outcomes = await executor.execute(batch);
        commits.observe((nowMs() - startedMs) / 1_000);
        commands.add(batch.length);
        return outcomes;
      } catch (error) {
        failures.add(1);
        throw error;
      }
    },
    close: () => executor.close(),
  };
}
