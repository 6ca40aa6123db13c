import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { outputTokens } from "../../../src/core/money/usage.ts";
import { LONG, runsOf } from "../../runs.ts";
import { toText } from "../../upstream/bytes.ts";
import { recordingsFor } from "../../upstream/recordings.ts";
import { cutsAt, eventEnds, runStage, withLineEnding } from "../cut-streams.ts";
import type { Json } from "../wire-json.ts";
import { crossStreams } from "./cut-formats.ts";

// Streams of Claude and Gemini asked for as chat completions. How the bytes are cut into reads makes no difference. A
// stream that ends early never becomes an answer that looks complete, and what came of it is charged.

recordingsFor("recorded streams");

/** Streams up to this length are ended at every byte; of the others some places, and these last bytes. */
const SHORT_BYTES = LONG ? 20_000 : 1_500;
const TAIL_BYTES = LONG ? 1_000 : 200;

const streams = crossStreams();
const fraction = fc.double({ min: 0, max: 1, noNaN: true });

describe("any cut of the bytes into reads gives the same answer", () => {
  for (const stream of streams) {
    const { name, bytes } = stream;
    test(name, () => {
      const whole = runStage(stream, bytes, []);
      fc.assert(
        fc.property(fc.array(fraction, { maxLength: 12 }), (at) => {
          expect(sameBut(runStage(stream, bytes, cutsAt(at, bytes.length)))).toEqual(sameBut(whole));
        }),
        runsOf(10, 1_000),
      );
      const step = LONG || bytes.length < 10_000 ? 1 : 7;
      for (const ending of ["\n", "\r\n", "\r"]) {
        const spelled = withLineEnding(bytes, ending);
        const each = Array.from({ length: Math.ceil(spelled.length / step) }, (_, nth) => nth * step);
        expect(sameBut(runStage(stream, spelled, each))).toEqual(sameBut(whole));
      }
    });
  }
});

/** A run in what must not depend on how the bytes came. */
function sameBut({ text, whole, hasContent, facts }: ReturnType<typeof runStage>): Json {
  return { text, whole, hasContent, facts };
}

describe("a stream that ends early never looks complete, and is charged for what came", () => {
  for (const stream of streams) {
    const { name, bytes, format, choices } = stream;
    test(name, () => {
      let complete: Json;
      const check = (end: number): void => {
        complete ??= format.contentOf(runStage(stream, bytes, []).text);
        const run = runStage(stream, bytes.subarray(0, end), []);
        if (run.hasContent)
          expect({ end, charged: outputTokens(run.facts.metered.usage) > 0 }).toEqual({ end, charged: true });
        if (run.whole)
          expect({ end, content: format.contentOf(run.text) }).toEqual({ end, content: complete });
        else expect({ end, broken: format.looksBroken(run.text, choices) }).toEqual({ end, broken: true });
        // What a client was shown is a beginning of the answer, and there is no finish but the last.
        expect({ end, ...finishes(run.text, choices) }).toEqual({ end, early: 0 });
      };
      if (bytes.length <= SHORT_BYTES) for (let end = 0; end <= bytes.length; end += 1) check(end);
      else
        fc.assert(
          fc.property(fraction, (at) => check(Math.floor(at * bytes.length))),
          runsOf(15, 3_000),
        );
      for (let end = Math.max(0, bytes.length - TAIL_BYTES); end <= bytes.length; end += 1) check(end);
      for (const end of eventEnds(bytes)) check(end);
    });
  }
});

/** How often a choice says something after it has finished. */
function finishes(text: string, choices: number): { early: number } {
  const finished = new Set<number>();
  let early = 0;
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    for (const { index, finish_reason } of JSON.parse(line.slice(6)).choices ?? []) {
      if (finished.has(index)) early += 1;
      if (typeof finish_reason === "string") finished.add(index);
    }
  }
  return { early: finished.size > choices ? -1 : early };
}

describe("a whole stream is what official clients need", () => {
  for (const stream of streams) {
    test(stream.name, () => {
      const { whole, text } = runStage(stream, stream.bytes, []);
      const broke = stream.format.looksBroken(text, stream.choices);
      if (whole && !saysItFailed(stream)) expect(stream.format.breachesOf(text)).toEqual([]);
      else expect(broke).toBe(true);
    });
  }
});

/** Whether a provider itself ended a whole stream in a way that is no good end of a chat completion. */
function saysItFailed({ bytes }: { readonly bytes: Uint8Array }): boolean {
  return /"pause_turn"|"UNEXPECTED_TOOL_CALL"|"MALFORMED_FUNCTION_CALL"|"OTHER"/.test(toText(bytes));
}
