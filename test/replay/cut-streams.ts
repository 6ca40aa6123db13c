import { GatewayError } from "../../src/core/errors.ts";
import type { AnswerContext } from "../../src/protocols/protocol.ts";
import { ANSWER_CONTEXT } from "../protocols/answer-context.ts";
import { joinBytes, toBytes, toText } from "../upstream/bytes.ts";
import { loadRecordings, recordingsAvailable } from "../upstream/recordings.ts";
import type { CutFormat, SourceStream } from "./cut-format.ts";
import { formatOf } from "./formats.ts";
import { paddingOf, vendorOf } from "./vendors.ts";
import type { Json } from "./wire-json.ts";

/** What the pure stage made of a stream, or of the beginning of one. */
export interface StageRun {
  /** Everything that a client would be sent, the tail included. */
  readonly text: string;
  /** The stage takes the stream for a good one that has ended. */
  readonly whole: boolean;
  readonly hasContent: boolean;
  readonly facts: Json;
}

/** Every recorded stream of a format, whether its request is known or not. */
export function recordedStreams(format: CutFormat): readonly SourceStream[] {
  const replayed = formatOf(format.protocol);
  if (!recordingsAvailable() || replayed === undefined) return [];
  return [format.protocol, "cross-protocol", "other"]
    .flatMap((folder) => loadRecordings(folder))
    .filter(({ protocol, response }) => protocol === format.protocol && response.status === 200)
    .filter((recording) => replayed.unservable(recording)?.answerAlone !== false)
    .map((recording) => replayed.served(recording))
    .filter(({ response }) => typeof response.body === "string")
    .map((recording) => ({
      name: recording.path,
      format,
      bytes: toBytes(recording.response.body as string),
      choices: format.choicesOf(recording.response.body as string),
      native: replayed.isNative(vendorOf(recording)),
      padding: paddingOf(recording),
    }));
}

const CREDIT = 1_234_567n;

/** Plays `bytes` to the stage in the pieces that `cuts` make of it, then ends it, and takes the tail that fits. */
export function runStage(stream: SourceStream, bytes: Uint8Array, cuts: readonly number[]): StageRun {
  const context: AnswerContext = {
    ...ANSWER_CONTEXT,
    model: "vendor/shown",
    native: stream.native,
    padding: stream.padding,
    requestId: "req_cut",
    choices: stream.choices,
    expectedInput: 11,
  };
  const stage = stream.format.stages.openStream(context);
  const out: Uint8Array[] = [];
  const take = (piece: Uint8Array | undefined): void => void (piece !== undefined && out.push(piece.slice()));
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    const piece = new Uint8Array(bytes.subarray(from, cut));
    from = cut;
    take(stage.push(piece));
    // The runtime may use its buffer again as soon as the call is over.
    piece.fill(0x7d);
  }
  take(stage.end(false));
  const metered = stage.metered();
  const whole = stage.isComplete && stage.failure === undefined;
  const error = stage.failure ?? new GatewayError("upstream_error", "The provider's answer ended early.");
  take(whole ? stage.tail(metered, CREDIT) : stage.failureTail(error, metered, CREDIT));
  return {
    text: toText(joinBytes(out)),
    whole,
    hasContent: stage.hasContent,
    facts: {
      metered,
      whole,
      failure: stage.failure?.message,
      hasContent: stage.hasContent,
      chunks: stage.chunks,
      isDone: stage.isDone,
      repairs: stage.repairs,
    },
  };
}

/** The same stream with other line endings. */
export function withLineEnding(bytes: Uint8Array, ending: string): Uint8Array {
  return toBytes(toText(bytes).replace(/\r\n|\n|\r/g, ending));
}

/** Cut points from a seed-like list of numbers between 0 and 1. */
export function cutsAt(fractions: readonly number[], length: number): number[] {
  return fractions.map((fraction) => Math.floor(fraction * length)).sort((a, b) => a - b);
}

/** The places right after each event of a stream: after a blank line. */
export function eventEnds(bytes: Uint8Array): number[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  return [...text.matchAll(/(?:\r\n|\n|\r)(?:\r\n|\n|\r)/g)].map((match) => match.index + match[0].length);
}
