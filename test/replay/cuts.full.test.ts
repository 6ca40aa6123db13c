import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { createSseLines } from "../../src/core/sse-lines.ts";
import { outputTokens } from "../../src/core/money/usage.ts";
import { startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { LONG, runsOf } from "../runs.ts";
import { type Answer, sseAnswer } from "../upstream/answer.ts";
import { joinBytes, toBytes, toText } from "../upstream/bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { recordingsFor } from "../upstream/recordings.ts";
import { chatCutFormat } from "./chat/cut-format.ts";
import type { CutFormat, SourceStream } from "./cut-format.ts";
import { cutsAt, eventEnds, recordedStreams, runStage, withLineEnding } from "./cut-streams.ts";
import type { LedgerEntry } from "./exchange.ts";
import { generateCutFormat } from "./generate/cut-format.ts";
import { messagesCutFormat } from "./messages/cut-format.ts";
import { ledgerReader } from "./replay-gateway.ts";
import { responsesCutFormat } from "./responses/cut-format.ts";
import type { Json } from "./wire-json.ts";

// Two promises about streams, held on all that were recorded. How the bytes are cut into reads makes no difference. A
// stream that ends early never becomes an answer that looks complete.

recordingsFor("recorded streams");

/** Streams up to this length are cut and ended at every byte. */
const SHORT_BYTES = LONG ? 20_000 : 800;
/** So many bytes at the end of every stream are places where it ends. */
const TAIL_BYTES = LONG ? 1_000 : 40;
/** So many events of a stream, all over it, are ends: each end plays the stream from its beginning. */
const ENDED_EVENTS = LONG ? Infinity : 16;

const FORMATS: readonly CutFormat[] = [
  chatCutFormat,
  messagesCutFormat,
  generateCutFormat,
  responsesCutFormat,
];
const streams = FORMATS.flatMap((format) => format.ownStreams().concat(recordedStreams(format)));
const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const fractions = fc.array(fraction, { maxLength: 12 });

describe("any cut of the bytes into reads gives the same answer", () => {
  for (const stream of streams) {
    const { name, bytes } = stream;
    const whole = runStage(stream, bytes, []);

    test(`${name}: cut anywhere`, () => {
      fc.assert(
        fc.property(fractions, (at) => {
          expect(runStage(stream, bytes, cutsAt(at, bytes.length))).toEqual(whole);
        }),
        runsOf(6, 1_000),
      );
    });

    test(`${name}: cut at every byte, with each line ending`, () => {
      for (const ending of ["\n", "\r\n", "\r"]) {
        const spelled = withLineEnding(bytes, ending);
        // A step that is prime to the length of what repeats: in time every place is a cut.
        const step = LONG || spelled.length < 10_000 ? 1 : 7;
        const each = Array.from({ length: Math.ceil(spelled.length / step) }, (_, nth) => nth * step);
        expect(runStage(stream, spelled, [])).toEqual(whole);
        expect(runStage(stream, spelled, each)).toEqual(whole);
      }
    });
  }
});

describe("a stream that ends early never looks complete", () => {
  for (const stream of streams) {
    const { name, bytes, format } = stream;
    let complete: Json;
    const check = (end: number): void => {
      complete ??= format.contentOf(runStage(stream, bytes, []).text);
      const run = runStage(stream, bytes.subarray(0, end), []);
      // What came is charged for, also where the provider never said what it counts.
      const isCharged = format.saysSomething?.(run.text) ?? run.hasContent;
      if (isCharged && stream.native)
        expect({ end, charged: outputTokens(run.facts.metered.usage) > 0 }).toEqual({ end, charged: true });
      if (run.whole) expect({ end, content: format.contentOf(run.text) }).toEqual({ end, content: complete });
      else
        expect({ end, broken: format.looksBroken(run.text, stream.choices) }).toEqual({ end, broken: true });
    };

    test(`${name}: ended at ${bytes.length <= SHORT_BYTES ? "every byte" : "some bytes"}`, () => {
      if (bytes.length <= SHORT_BYTES) for (let end = 0; end <= bytes.length; end += 1) check(end);
      else
        fc.assert(
          fc.property(fraction, (at) => check(Math.floor(at * bytes.length))),
          runsOf(4, 3_000),
        );
      // The end is where it matters most.
      for (let end = Math.max(0, bytes.length - TAIL_BYTES); end <= bytes.length; end += 1) check(end);
    });

    test(`${name}: ended after events`, () => {
      const ends = eventEnds(bytes);
      const step = Math.max(1, Math.ceil(ends.length / ENDED_EVENTS));
      // From the last, which says most, to the first.
      for (let nth = ends.length - 1; nth >= 0; nth -= step) check(ends[nth]!);
    });
  }
});

describe("a whole stream is what official clients need", () => {
  for (const stream of streams) {
    test(stream.name, () => {
      const { whole, text } = runStage(stream, stream.bytes, []);
      if (whole) expect(stream.format.breachesOf(text)).toEqual([]);
      else expect(stream.format.looksBroken(text, stream.choices)).toBe(true);
    });
  }
});

describe("end to end", () => {
  let double: UpstreamDouble;
  let gateway: TestGateway;
  let ledger: () => Promise<readonly LedgerEntry[]>;

  beforeAll(async () => {
    double = await startUpstreamDouble({ sleep: async () => undefined });
    const model = (id: string) => ({
      id,
      upstream_id: "up",
      max_output: 50_000,
      prices: { input: 1.0007, cache_read: 0.1009, output: 2.0011, reasoning: 3.0013 },
    });
    const provider = (name: string, format: CutFormat) => [
      `${name}-cut`,
      {
        base_url: format === chatCutFormat ? `${double.url}/v1` : double.url,
        api_key: UPSTREAM_KEY,
        unknown_fields: "pass",
        ...format.settings(name),
        models: [model(`${name}/model`)],
      },
    ];
    const providers = streams.map((stream) => provider(nameOf(stream), stream.format));
    gateway = await startGateway({
      settings: JSON.stringify({ providers: Object.fromEntries(providers) }),
      credits: 100_000_000,
    });
    ledger = ledgerReader(gateway);
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
  });

  const ask = async (stream: SourceStream, answer: Answer) => {
    double.reset();
    double.handle(() => answer);
    const { path, body } = stream.format.request(`${nameOf(stream)}/model`, stream.choices);
    const response = await gateway.post(path, body);
    const text = await response.text();
    await gateway.settled();
    const requestId = response.headers.get("x-request-id");
    const entries = (await ledger()).filter((entry) => entry.request_id === requestId);
    return { status: response.status, text, entries };
  };

  const byName = new Map(streams.map((stream) => [stream.name, stream]));
  const anyStream = fc.constantFrom(...byName.keys());
  const anyEnd = fc.record({ at: fraction, near: fc.boolean() });

  test("any cut into writes gives the same bytes", async () => {
    const uncut = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(
        anyStream,
        fc.nat(),
        fc.integer({ min: 1, max: 400 }),
        async (name, seed, maxBytes) => {
          const stream = byName.get(name) as SourceStream;
          const { bytes } = stream;
          const want = uncut.get(name) ?? (await ask(stream, sseAnswer(bytes, { cut: "whole" }))).text;
          uncut.set(name, want);
          const answer = sseAnswer(bytes, {
            cut: { seed, maxBytes: Math.max(maxBytes, bytes.length / 200) },
          });
          expect((await ask(stream, answer)).text).toBe(want);
        },
      ),
      runsOf(60, 2_000),
    );
  });

  for (const how of ["fin", "reset"] as const) {
    for (const framing of ["chunked", "close"] as const) {
      test(`an early ${how} of a body framed by ${framing} never looks complete`, async () => {
        await fc.assert(
          fc.asyncProperty(anyStream, anyEnd, fc.nat(), async (name, { at, near }, seed) => {
            const stream = byName.get(name) as SourceStream;
            const { bytes } = stream;
            // The end is where it matters most: half of the places are in the last events.
            const reach = near ? Math.min(1_500, bytes.length - 1) : bytes.length - 1;
            const end = bytes.length - 1 - Math.floor(at * reach);
            const cut = { seed, maxBytes: Math.max(64, bytes.length / 100) };
            const answer = sseAnswer(bytes, { framing, cut, end: { at: end, how } });
            expectHonest(stream, await ask(stream, answer));
          }),
          runsOf(60, 1_500),
        );
      });
    }
  }

  /** Either everything of the whole answer, or an end that says it broke; and in both the credit is the ledger's. */
  function expectHonest(
    stream: SourceStream,
    { status, text, entries }: { status: number; text: string; entries: readonly LedgerEntry[] },
  ): void {
    if (status !== 200) {
      expect([status, JSON.parse(text).error.type, entries]).toEqual([502, "upstream_error", []]);
      return;
    }
    const { format } = stream;
    const credit = format.creditOf(text) ?? 0;
    const isBroken = format.looksBroken(text, stream.choices);
    // A whole answer that costs nothing, as one about a blocked prompt, is settled at nothing.
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual(
      credit === 0 && isBroken ? [] : [["settle", 0 - credit]],
    );
    if (isBroken) return;
    const complete = format.contentOf(runStage(stream, stream.bytes, []).text);
    expect(format.contentOf(text)).toEqual(complete);
  }
});

/** The name of the provider that serves a stream in these tests. */
function nameOf({ native, format }: SourceStream): string {
  return `${native ? "native" : "compatible"}-${format.protocol}`;
}

/** What event streams are made of, and what looks like it. */
const TOKENS =
  `data|data:|data: |data:  x|data: {}|:|: c| |\n|\n|\r|\r\n|\n\n|event: e|id|retry: 5|dat|datas: x|é|🎉|[DONE]|\uFEFF`.split(
    "|",
  );

describe("the line reader finds the events that eventsource-parser finds", () => {
  /** Data of the events that ended in a blank line; the end of the stream is not told. */
  const ours = (bytes: Uint8Array, cuts: readonly number[]): Json => {
    const seen: { events: string[]; comments: string[] } = { events: [], comments: [] };
    let held: string[] = [];
    const lines = createSseLines(
      {
        data: (piece, start, end) => void held.push(toText(piece.subarray(start, end))),
        comment: (piece, start, end) =>
          void seen.comments.push(toText(piece.subarray(start, end)).trimStart()),
        dispatch() {
          seen.events.push(held.join("\n"));
          held = [];
        },
      },
      1_000_000,
    );
    let from = 0;
    for (const cut of [...cuts, bytes.length]) {
      const piece = new Uint8Array(bytes.subarray(from, cut));
      lines.push(piece);
      piece.fill(0x0a);
      from = cut;
    }
    return seen;
  };
  const theirs = (text: string): Json => {
    const seen: { events: string[]; comments: string[] } = { events: [], comments: [] };
    const parser = createParser({
      onEvent: ({ data }) => void seen.events.push(data),
      onComment: (comment) => void seen.comments.push(comment.trimStart()),
    });
    parser.feed(text);
    return seen;
  };

  for (const { name, bytes } of streams) {
    test(name, () => {
      for (const ending of ["\n", "\r\n", "\r"]) {
        const spelled = withLineEnding(bytes, ending);
        const want = theirs(toText(spelled));
        fc.assert(
          fc.property(fractions, (at) => {
            expect(ours(spelled, cutsAt(at, spelled.length))).toEqual(want);
          }),
          runsOf(3, 200),
        );
      }
    });
  }

  test("bytes of any kind, cut anywhere", () => {
    const token = fc.constantFrom(...TOKENS);
    fc.assert(
      fc.property(fc.array(token, { maxLength: 40 }), fractions, (tokens, at) => {
        // A line that is not ended yet is nobody's event; a last blank line makes both say all they have.
        const bytes = joinBytes([...tokens.map(toBytes), toBytes("\n\n")]);
        expect(ours(bytes, cutsAt(at, bytes.length))).toEqual(theirs(toText(bytes)));
      }),
      runsOf(3_000, 100_000),
    );
  });
});
