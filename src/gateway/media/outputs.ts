import type { Assets } from "../../assets/assets.ts";
import { MAX_FILE_BYTES } from "../../assets/content.ts";
import { type Clock, wait } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import type { Random } from "../../core/random.ts";
import type { ResultFile } from "../../core/task.ts";
import type { MediaOutput } from "../../providers/media.ts";
import type { GridCutter } from "../../runtime/pictures/grid-cutter.ts";
import { type TaskRun, TaskStop } from "../../tasks/runner.ts";
import type { GuardedFetch } from "../fetch/guarded-fetch.ts";
import { grown, jittered } from "./waits.ts";

/** What the outputs of one run are taken over with. */
export interface OutputParts {
  readonly run: Pick<TaskRun, "id" | "kind">;
  /** Outputs that were asked for: the client gets, and pays for, no more of them. */
  readonly asked: number;
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

/** How often an output is asked for. */
const TRIES = 3;

const FETCH_MS = { image: 60_000, video: 120_000 } as const;

/**
 * Takes a provider's outputs into our own store, in their order, and no more of them than were asked for; of a grid each
 * of its pictures is a file. One that cannot be had, or is not what was asked for, is left out; while the store is away
 * they wait for it. Rejects with the signal's reason.
 */
export async function keepOutputs(
  parts: OutputParts,
  outputs: readonly MediaOutput[],
): Promise<ResultFile[]> {
  const wanted = outputs.slice(0, parts.asked);
  if (wanted.length < outputs.length)
    parts.onTrouble("the provider gave more than it was asked for", `${outputs.length} for ${parts.asked}`);
  const kept = await Promise.all(wanted.map((output) => keepOutput(parts, output)));
  return kept.flat().slice(0, parts.asked);
}

/** How many pictures or films these outputs are. */
export function countOf(outputs: readonly MediaOutput[]): number {
  return outputs.reduce((sum, { grid }) => sum + (grid === undefined ? 1 : grid.columns * grid.rows), 0);
}

async function keepOutput(parts: OutputParts, output: MediaOutput): Promise<readonly ResultFile[]> {
  const { signal, failpoint, onTrouble } = parts;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    if (tries > 1) await pause(parts, tries - 2);
    try {
      const bytes = await bytesOf(parts, output);
      const pictures = output.grid === undefined ? [bytes] : await parts.cutGrid(bytes, output.grid);
      const files: ResultFile[] = [];
      for (const picture of pictures) {
        const file = await store(parts, picture);
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

/** Stores what was made, however long the store is away: what is lost here was made for nothing. */
async function store(parts: OutputParts, bytes: Uint8Array): ReturnType<Assets["store"]> {
  const { run, signal, assets, onTrouble } = parts;
  for (let tries = 0; ; tries += 1) {
    try {
      return await assets.store(run.id, bytes, run.kind);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GatewayError) || error.kind !== "overloaded_error") throw error;
      onTrouble("an output cannot be stored now", error);
    }
    await pause(parts, tries);
  }
}

function pause({ clock, random, signal }: OutputParts, times: number): Promise<void> {
  return wait(clock, jittered(grown(1_000, times, 15_000), random), signal);
}

async function bytesOf(parts: OutputParts, output: MediaOutput): Promise<Uint8Array> {
  if ("bytes" in output) return output.bytes;
  const { run, signal, ownHosts } = parts;
  parts.failpoint("task.downloading");
  const { bytes } = await parts.fetch(output.url, {
    maxBytes: MAX_FILE_BYTES[run.kind],
    timeoutMs: FETCH_MS[run.kind],
    signal,
    allowedHosts: ownHosts,
    ...(output.headers === undefined ? {} : { headers: output.headers }),
  });
  return bytes;
}
