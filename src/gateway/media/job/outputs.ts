import type { FileSource } from "../../../assets/assets.ts";
import { MAX_FILE_BYTES } from "../../../assets/content.ts";
import type { ByteAccount } from "../../../core/bytes/byte-budget.ts";
import { joinBytes } from "../../../core/bytes/bytes.ts";
import { wait } from "../../../core/time/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { ResultFile } from "../../../core/task.ts";
import type { MediaOutput } from "../../../providers/media.ts";
import type { Grid } from "../../../runtime/images/cut-grid.ts";
import { type TaskRun, TaskStop } from "../../../tasks/run/job.ts";
import type { FetchedFile } from "../../fetch/guarded-fetch.ts";
import { wholeFile } from "../../fetch/whole-file.ts";
import type { LongTexts } from "./long-texts.ts";
import type { MediaJobParts } from "./open-job.ts";
import { grown, jittered } from "./waits.ts";

/** What the outputs of one run are stored with. */
export interface OutputParts extends Pick<
  MediaJobParts,
  "assets" | "fetch" | "cutGrid" | "clock" | "random" | "failpoint"
> {
  readonly run: Pick<TaskRun, "id" | "kind">;
  /** How many outputs were asked for: the client gets, and pays for, no more of them. */
  readonly asked: number;
  /** Stops the work, for a reason of the run. */
  readonly signal: AbortSignal;
  /** Where the base64 of the provider's answers stays. */
  readonly texts: Pick<LongTexts, "decode">;
  /** Account of the bytes that must be whole in memory. */
  readonly memory: ByteAccount;
  /** Hosts of the provider itself, which need not be public where the provider is not. */
  readonly ownHosts: readonly string[];
  /** Receives the error of each try; after the last one the output is dropped. */
  readonly onTrouble: (what: string, error?: unknown) => void;
}

/** Tries for each output. */
const TRIES = 3;

const FETCH_MS = { image: 60_000, video: 120_000 } as const;

/**
 * Stores a provider's outputs in order, at most as many as were asked for; each image of a grid is a file. An output
 * that cannot be had, or has the wrong content, is left out. While the store is away the outputs wait for it. Only a
 * grid is held as a whole. Rejects with the signal's reason.
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

/** How many images or videos these outputs are. */
export function countOf(outputs: readonly MediaOutput[]): number {
  return outputs.reduce((sum, { grid }) => sum + (grid === undefined ? 1 : grid.columns * grid.rows), 0);
}

async function keepOutput(parts: OutputParts, output: MediaOutput): Promise<readonly ResultFile[]> {
  const { signal, onTrouble } = parts;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    if (tries > 1) await pause(parts, tries - 2);
    try {
      const files = await (output.grid === undefined
        ? keepFile(parts, output)
        : keepGrid(parts, output, output.grid));
      if (files.length > 0) return files;
    } catch (error) {
      if (error instanceof TaskStop) throw error;
      signal.throwIfAborted();
      onTrouble("an output could not be kept", error);
    }
    // The same bytes would not become better.
    if (!("url" in output)) break;
  }
  return [];
}

/** Stores an output as it comes. Where the store is away meanwhile, the output is fetched again once it is back. */
function keepFile(parts: OutputParts, output: MediaOutput): Promise<readonly ResultFile[]> {
  return untilStored(parts, async () => {
    if ("url" in output) return fetchOutput(parts, output, ({ pieces }) => store(parts, pieces));
    return store(parts, "bytes" in output ? output.bytes : parts.texts.decode(output.base64));
  });
}

/** Cuts a grid, which needs all of it in memory, and stores its images. */
async function keepGrid(parts: OutputParts, output: MediaOutput, grid: Grid): Promise<readonly ResultFile[]> {
  const { memory, signal } = parts;
  const room = MAX_FILE_BYTES.image;
  await memory.take(room, signal);
  try {
    const file = await wholeOutput(parts, output);
    const kept: ResultFile[] = [];
    for (const image of await parts.cutGrid(file, grid))
      kept.push(...(await untilStored(parts, () => store(parts, image))));
    return kept;
  } finally {
    memory.give(room);
  }
}

async function wholeOutput(parts: OutputParts, output: MediaOutput): Promise<Uint8Array> {
  if ("url" in output) return fetchOutput(parts, output, wholeFile);
  // Cutting moves the memory to the thread, and a second try needs it.
  if ("bytes" in output) return output.bytes.slice();
  return joinBytes(await Array.fromAsync(parts.texts.decode(output.base64)));
}

async function store(parts: OutputParts, source: FileSource): Promise<readonly ResultFile[]> {
  const { run, assets, failpoint, onTrouble } = parts;
  const file = await assets.store(run.id, source, run.kind, (work) => untilStored(parts, work));
  if ("notStored" in file) {
    onTrouble("an output is not what was asked for", file.notStored);
    return [];
  }
  failpoint("task.file_stored");
  return [file];
}

/** The result of `work`, however long the store is away: otherwise the provider would have worked for nothing. */
async function untilStored<Done>(parts: OutputParts, work: () => Promise<Done>): Promise<Done> {
  const { signal, onTrouble } = parts;
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
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

function fetchOutput<Taken>(
  { run, signal, ownHosts, failpoint, ...parts }: OutputParts,
  { url, headers }: Extract<MediaOutput, { url: string }>,
  take: (file: FetchedFile) => Promise<Taken>,
): Promise<Taken> {
  failpoint("task.downloading");
  const options = {
    maxBytes: MAX_FILE_BYTES[run.kind],
    timeoutMs: FETCH_MS[run.kind],
    signal,
    allowedHosts: ownHosts,
    ...(headers === undefined ? {} : { headers }),
  };
  return parts.fetch(url, options, take);
}
