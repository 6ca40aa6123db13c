import type { Assets } from "../assets/assets.ts";
import { type Clock, wait } from "../core/clock.ts";
import type { Failpoint } from "../core/failpoint.ts";
import type { Random } from "../core/random.ts";
import type { ResultFile } from "../core/task.ts";
import type { MediaOutput } from "../providers/media.ts";
import { type TaskRun, TaskStop } from "../tasks/runner.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";
import { grown, jittered } from "./media-waits.ts";

/** What the outputs of one run are taken over with. */
export interface OutputParts {
  readonly run: Pick<TaskRun, "id" | "kind">;
  /** Ends the taking over, for a reason of the run. */
  readonly signal: AbortSignal;
  readonly assets: Pick<Assets, "store">;
  readonly fetch: GuardedFetch;
  /** Hosts of the provider itself, which need not be public where the provider is not. */
  readonly ownHosts: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly failpoint: Failpoint;
  /** Told why a try came to nothing; the output is dropped where it was the last. */
  readonly onTrouble: (what: string, error?: unknown) => void;
}

/** More than any provider gives for one request. */
const MOST_OUTPUTS = 16;

const TRIES = 3;

const LIMITS = {
  image: { maxBytes: 64 * 1024 * 1024, timeoutMs: 60_000 },
  video: { maxBytes: 200 * 1024 * 1024, timeoutMs: 120_000 },
} as const;

/**
 * Takes a provider's outputs into our own store, in their order. One that cannot be had, or is not what was asked for, is
 * left out. Rejects with the signal's reason.
 */
export async function keepOutputs(
  parts: OutputParts,
  outputs: readonly MediaOutput[],
): Promise<ResultFile[]> {
  const kept = await Promise.all(outputs.slice(0, MOST_OUTPUTS).map((output) => keepOutput(parts, output)));
  return kept.filter((file) => file !== undefined);
}

async function keepOutput(parts: OutputParts, output: MediaOutput): Promise<ResultFile | undefined> {
  const { run, signal, assets, clock, random, failpoint, onTrouble } = parts;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    if (tries > 1) await wait(clock, jittered(grown(1_000, tries - 2, 8_000), random), signal);
    try {
      const file = await assets.store(run.id, await bytesOf(parts, output), run.kind);
      if (!("notStored" in file)) {
        failpoint("task.file_stored");
        return file;
      }
      onTrouble("an output is not what was asked for", file.notStored);
      // The same bytes would not become better ones.
      if ("bytes" in output) return undefined;
    } catch (error) {
      if (error instanceof TaskStop) throw error;
      signal.throwIfAborted();
      onTrouble("an output could not be kept", error);
    }
  }
  return undefined;
}

async function bytesOf(parts: OutputParts, output: MediaOutput): Promise<Uint8Array> {
  if ("bytes" in output) return output.bytes;
  const { run, signal, ownHosts } = parts;
  parts.failpoint("task.downloading");
  const { bytes } = await parts.fetch(output.url, {
    ...LIMITS[run.kind],
    signal,
    allowedHosts: ownHosts,
    ...(output.headers === undefined ? {} : { headers: output.headers }),
  });
  return bytes;
}
