import type { Assets } from "../assets/assets.ts";
import { type Clock, wait } from "../core/clock.ts";
import type { Failpoint } from "../core/failpoint.ts";
import type { Random } from "../core/random.ts";
import type { ResultFile } from "../core/task.ts";
import type { MediaOutput } from "../providers/media.ts";
import type { GridCutter } from "../runtime/pictures/grid-cutter.ts";
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
  readonly cutGrid: GridCutter;
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
 * Takes a provider's outputs into our own store, in their order; of a grid each of its pictures is a file. One that
 * cannot be had, or is not what was asked for, is left out. Rejects with the signal's reason.
 */
export async function keepOutputs(
  parts: OutputParts,
  outputs: readonly MediaOutput[],
): Promise<ResultFile[]> {
  const kept = await Promise.all(outputs.slice(0, MOST_OUTPUTS).map((output) => keepOutput(parts, output)));
  return kept.flat();
}

/** How many pictures or films these outputs are. */
export function countOf(outputs: readonly MediaOutput[]): number {
  return outputs.reduce((sum, { grid }) => sum + (grid === undefined ? 1 : grid.columns * grid.rows), 0);
}

async function keepOutput(parts: OutputParts, output: MediaOutput): Promise<readonly ResultFile[]> {
  const { run, signal, assets, clock, random, failpoint, onTrouble } = parts;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    if (tries > 1) await wait(clock, jittered(grown(1_000, tries - 2, 8_000), random), signal);
    try {
      const bytes = await bytesOf(parts, output);
      const pictures = output.grid === undefined ? [bytes] : await parts.cutGrid(bytes, output.grid);
      const files: ResultFile[] = [];
      for (const picture of pictures) {
        const file = await assets.store(run.id, picture, run.kind);
        if ("notStored" in file) onTrouble("an output is not what was asked for", file.notStored);
        else {
          failpoint("task.file_stored");
          files.push(file);
        }
      }
      // The same bytes would not become better ones.
      if (files.length > 0 || "bytes" in output) return files;
    } catch (error) {
      if (error instanceof TaskStop) throw error;
      signal.throwIfAborted();
      onTrouble("an output could not be kept", error);
    }
  }
  return [];
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
