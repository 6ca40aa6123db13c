import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import { geminiChunks } from "../../../test/upstream/gemini-bytes.ts";
import {
  goldenStream,
  loadRecordings,
  recordedBytes,
  recordingsFor,
} from "../../../test/upstream/recordings.ts";
import { sse } from "../../../test/upstream/sse-bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext, RelayStream } from "../protocol.ts";
import { openStream } from "./relay.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, model: "google/gemini-3.8-flash", expectedInput: 9 };
const USAGE = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Relayed {
  readonly stream: RelayStream;
  readonly text: string;
}

/**
 * Pushes `body` in pieces and ends it as the gateway would: with a tail when it is whole, else with a failure. `told`:
 * upstream said that this was the end.
 */
function relay(
  body: Uint8Array | string,
  more: Partial<AnswerContext> = {},
  sizes = () => 1 << 30,
  told = false,
): Relayed {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const stream = openStream({ ...CONTEXT, ...more });
  let text = "";
  const take = (out: Uint8Array | undefined): void =>
    void (text += out === undefined ? "" : decoder.decode(out));
  for (let at = 0; at < bytes.length;) {
    const next = Math.min(bytes.length, at + sizes());
    // A copy that is overwritten afterwards: the runtime may reuse what it hands in.
    const piece = bytes.slice(at, next);
    take(stream.push(piece));
    piece.fill(0x78);
    at = next;
  }
  take(stream.end(told));
  const metered = stream.metered();
  const error =
    stream.failure ?? (stream.isComplete ? undefined : new GatewayError("upstream_error", "Cut."));
  take(
    error === undefined ? stream.tail(metered, 12_000_000n) : stream.failureTail(error, metered, 5_000_000n),
  );
  return { stream, text };
}

/** The events of what a client is sent. Throws for anything that is not `data: …` and a blank line. */
function eventsOf(text: string): Json[] {
  if (!text.endsWith("\n\n")) throw new Error("the stream does not end with a blank line");
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((event) => {
      if (!/^data: \{.*\}$/.test(event)) throw new Error(`not one data line: ${event.slice(0, 80)}`);
      return JSON.parse(event.slice(6));
    });
}

function chunk(parts: readonly object[] | undefined, more: object = {}, top: object = {}): object {
  return {
    candidates: [
      { ...(parts === undefined ? {} : { content: { role: "model", parts } }), ...more, index: 0 },
    ],
    ...top,
  };
}

const partsOf = (events: readonly Json[]): Json[] =>
  events.flatMap(
    ({ candidates }) => candidates?.flatMap((candidate: Json) => candidate.content?.parts ?? []) ?? [],
  );
const isEmpty = (part: Json): boolean => part.text === "" && Object.keys(part).length === 1;
const relayChunks = (chunks: readonly object[], more: Partial<AnswerContext> = {}) =>
  relay(sse(chunks as Record<string, unknown>[]), more);

describe("a whole answer", () => {
  test("comes as it was sent, and its last chunk has the credit", () => {
    const chunks = geminiChunks({ parts: ["a", "b", "c"], usage: USAGE });
    const { text, stream } = relay(sse(chunks));
    const sent = chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`);
    expect(text).toBe(sent.join("").replace(/\}\n\n$/, ',"credit":12}\n\n'));
    expect(stream.repairs).toEqual([]);
    expect(stream.metered()).toMatchObject({ usage: { input: 5, output: 2 }, flags: [] });
  });

  test("of a model that serves in place of another names that by its id", () => {
    const chunks = geminiChunks({ parts: ["a", "b", "c", "d", "e"], usage: USAGE, model: "own" });
    const sizes = (): number => 7;
    const named = JSON.stringify(chunks).replaceAll('"own"', `"${CONTEXT.model}"`);
    const { text, stream } = relay(sse(chunks), { isFallback: true });
    expect(text).toBe(relay(sse(JSON.parse(named))).text);
    expect(relay(sse(chunks), { isFallback: true }, sizes).text).toBe(text);
    expect(stream.repairs).toEqual([]);
    // Where the provider names none, the end of the answer does.
    const unnamed = chunks.map(({ modelVersion: _own, ...rest }) => rest);
    const told = eventsOf(relay(sse(unnamed), { isFallback: true }).text).map((event) => event.modelVersion);
    expect(told).toEqual([...unnamed.slice(1).map(() => undefined), CONTEXT.model]);
  });

  test("is the same however its bytes were cut, and whatever its line ends are", () => {
    const chunks = geminiChunks({
      parts: ["größe", "日本", { functionCall: { name: "f", args: {} }, thoughtSignature: "AA==" }],
      usage: USAGE,
    });
    const whole = relay(sse(chunks)).text;
    for (const lineEnding of ["\n", "\r\n", "\r"] as const) {
      for (let seed = 1; seed <= 40; seed += 1) {
        const random = seededRandom(seed);
        expect(relay(sse(chunks, { lineEnding }), {}, () => 1 + Math.floor(random() * 40)).text).toBe(whole);
      }
    }
  });

  test("keeps every byte of its chunks: numbers, key order, escapes, signatures", () => {
    const odd =
      '{ "x":1.50e0, "candidates" : [ {"index":0,"content":{"parts":[{"thoughtSignature":"a\\/b+c==","text":"\\u00e9"}],"role":"model"}} ] }';
    const last =
      '{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2.0}}';
    const { text } = relay(`data: ${odd}\n\ndata: ${last}\n\n`);
    expect(text).toBe(`data: ${odd}\n\ndata: ${last.slice(0, -1)},"credit":12}\n\n`);
  });

  test("has no comments, names or end mark, whatever upstream sends beside its data", () => {
    const [first, last] = geminiChunks({ usage: USAGE });
    const body = `: hi\n\nevent: x\nid: 1\ndata: ${JSON.stringify(first)}\n\n: keep-alive\n\ndata: ${JSON.stringify(last)}`;
    expect(eventsOf(relay(body).text)).toEqual([first, { ...last, credit: 12 }]);
  });

  test("an event of several lines comes as one", () => {
    const last = JSON.stringify(geminiChunks({ parts: ["a"], usage: USAGE })[0], null, 1);
    const body = last
      .split("\n")
      .map((line) => `data: ${line}\n`)
      .join("");
    expect(eventsOf(relay(`${body}\n`).text)).toHaveLength(1);
  });
});

describe("the end of an answer is held back", () => {
  test("content and grounding that come after the finish reason go out before it, in the order they came", () => {
    const { text, stream } = relayChunks([
      chunk([{ text: "a" }]),
      chunk([{ text: "b" }], { finishReason: "STOP" }, { usageMetadata: USAGE }),
      chunk([{ text: "c" }]),
      chunk(undefined, { groundingMetadata: { webSearchQueries: ["q"] } }),
      { usageMetadata: { ...USAGE, candidatesTokenCount: 3, totalTokenCount: 8 }, modelVersion: "m" },
    ]);
    const events = eventsOf(text);
    expect(
      events.map(({ candidates: [{ content, finishReason }] }) => [content.parts[0].text, finishReason]),
    ).toEqual([
      ["a", undefined],
      ["b", undefined],
      ["c", undefined],
      ["", undefined],
      ["", "STOP"],
    ]);
    expect(events[3].candidates[0].groundingMetadata.webSearchQueries).toEqual(["q"]);
    expect(events[4]).toMatchObject({ usageMetadata: { candidatesTokenCount: 3 }, credit: 12 });
    expect(stream.metered()).toMatchObject({ usage: { output: 3, webSearches: 1 }, flags: [] });
  });

  test("an end mark of other formats after a whole answer does nothing to it", () => {
    const whole = decoder.decode(sse(geminiChunks({})));
    expect(relay(`${whole}data: [DONE]\n\n`).text).toBe(relay(whole).text);
  });

  test("a second finish reason is told once, and what comes with it is kept", () => {
    const { text } = relayChunks([
      chunk([{ text: "a" }], { finishReason: "STOP" }),
      chunk([{ text: "b" }], { finishReason: "STOP" }, { usageMetadata: USAGE }),
      chunk([], { finishReason: "STOP" }),
      { candidates: [{ finishReason: "STOP" }] },
    ]);
    const events = eventsOf(text);
    expect(partsOf(events)).toEqual([{ text: "a" }, { text: "b" }, { text: "" }]);
    expect(events.map(({ candidates: [{ finishReason }] }) => finishReason)).toEqual([
      undefined,
      undefined,
      "STOP",
    ]);
    expect(events[2]).toMatchObject({ usageMetadata: USAGE, credit: 12 });
  });

  test("a chunk without content, parts or role is given them", () => {
    const { text, stream } = relayChunks([
      { candidates: [{ index: 0 }] },
      { candidates: [{ index: 0, content: {} }] },
      { candidates: [{ index: 0, content: { parts: [] } }] },
      { candidates: [{ index: 0, content: { role: "model" } }] },
      { candidates: [{ index: 0, content: null }] },
      { candidates: [{ index: 0, content: { parts: [{}, { text: "x" }], x: 1 } }] },
      { candidates: [{}] },
      {
        candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS", index: 0 }],
        usageMetadata: USAGE,
      },
    ]);
    for (const event of eventsOf(text)) {
      const [{ content }] = event.candidates;
      expect(content.role).toBe("model");
      expect(content.parts.length).toBeGreaterThan(0);
      for (const part of content.parts) expect(Object.keys(part).length).toBeGreaterThan(0);
    }
    expect(partsOf(eventsOf(text)).filter((part) => !isEmpty(part))).toEqual([{ text: "x" }]);
    expect(stream.repairs).toContain("empty_part");
  });

  test("usage alone is told by the last chunk; what else stands without a candidate is given one", () => {
    const { text } = relayChunks([
      { usageMetadata: { promptTokenCount: 1 }, modelVersion: "m", responseId: "r" },
      { promptFeedback: { safetyRatings: [] }, candidates: [] },
      chunk([{ text: "a" }], { finishReason: "STOP" }),
      { usageMetadata: USAGE },
    ]);
    const events = eventsOf(text);
    expect(events).toHaveLength(2);
    expect(events[0]).toMatchObject({ promptFeedback: { safetyRatings: [] } });
    expect(events[0].candidates[0].content.parts).toEqual([{ text: "" }]);
    expect(events[1]).toMatchObject({ usageMetadata: USAGE, credit: 12 });
  });

  test("an upstream's own credit is never passed on", () => {
    const { text } = relayChunks([
      { ...chunk([{ text: "a" }]), credit: 1 },
      { credit: 5, ...chunk([{ text: "" }], { finishReason: "STOP" }, { usageMetadata: USAGE }) },
    ]);
    expect(text.match(/"credit":[\d.]+/g)).toEqual(['"credit":12']);
  });

  test("several candidates: it ends with the last that ends, and is whole only when all were there", () => {
    const of = (index: number, text: string, finishReason?: string) => ({
      candidates: [
        { content: { role: "model", parts: [{ text }] }, ...(finishReason ? { finishReason } : {}), index },
      ],
      usageMetadata: USAGE,
    });
    const chunks = [of(0, "a"), of(0, "b", "STOP"), of(1, "c"), of(1, "d", "STOP")];
    const { text } = relayChunks(chunks, { choices: 2 });
    expect(
      eventsOf(text).map(({ candidates: [{ index, content }] }) => `${index}${content.parts[0].text}`),
    ).toEqual(["0a", "1c", "0b", "1d"]);
    expect(eventsOf(text).map(({ credit }) => credit)).toEqual([undefined, undefined, undefined, 12]);
    const cut = eventsOf(relayChunks(chunks.slice(0, 3), { choices: 2 }).text);
    expect(cut.at(-1)).toHaveProperty("error.code", 502);
    expect(JSON.stringify(cut)).not.toContain("finishReason");
    expect(
      partsOf(cut.slice(0, -1))
        .map(({ text: said }) => said)
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual(["a", "b", "c"]);
    const whole = (text: string) => ({ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" });
    const together = { candidates: [whole("a"), whole("b")] };
    expect(relayChunks([together], { choices: 2 }).stream.isComplete).toBeTrue();
    const interleaved = [of(0, "a", "STOP"), of(1, "b", "SAFETY")];
    expect(eventsOf(relayChunks(interleaved, { choices: 2 }).text)).toHaveLength(2);
  });

  describe("fewer candidates than were asked for", () => {
    const two = { choices: 2 };
    const one: Json[] = [
      chunk([{ text: "a" }]),
      chunk([{ text: "b" }], { finishReason: "STOP" }, { usageMetadata: USAGE }),
    ];
    const body = sse(one);

    test("are a whole answer where upstream told its end", () => {
      const { text, stream } = relay(body, two, undefined, true);
      expect([stream.isComplete, stream.failure]).toEqual([true, undefined]);
      const events = eventsOf(text);
      expect(partsOf(events).map(({ text: said }) => said)).toEqual(["a", "b"]);
      expect(events.at(-1)).toMatchObject({ candidates: [{ finishReason: "STOP" }], credit: 12 });
    });

    test("are cut off where it only closed", () => {
      const { text, stream } = relay(body, two);
      expect(stream.isComplete).toBeFalse();
      expect(eventsOf(text).at(-1)).toHaveProperty("error.code", 502);
      expect(text).not.toContain("finishReason");
    });

    test("are cut off wherever one of them had not finished, and so is a stream of none", () => {
      for (const sent of [sse(one.slice(0, 1)), "", sse([{ usageMetadata: USAGE }])])
        expect(relay(sent, two, undefined, true).stream.isComplete).toBeFalse();
      const begun = sse([
        ...one,
        { candidates: [{ content: { role: "model", parts: [{ text: "c" }] }, index: 1 }] },
      ]);
      expect(relay(begun, two, undefined, true).stream.isComplete).toBeFalse();
    });

    test("do not hide an error that is the last event", () => {
      const broken = `${new TextDecoder().decode(body)}data: {"error":{"code":500,"message":"x","status":"INTERNAL"}}`;
      expect(relay(broken, two, undefined, true).stream.failure).toBeDefined();
    });
  });

  test("a blocked prompt is a whole answer by itself, charged by its usage", () => {
    const blocked = {
      promptFeedback: { blockReason: "SAFETY" },
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
    };
    const { text, stream } = relayChunks([blocked]);
    expect(eventsOf(text)).toEqual([{ ...blocked, credit: 12 }]);
    expect([stream.isDone, stream.isComplete, stream.hasContent]).toEqual([true, true, false]);
    expect(stream.metered().usage.input).toBe(5);
    expect(relayChunks([{ promptFeedback: { blockReason: "OTHER" } }]).stream.metered().usage.input).toBe(0);
    const uncounted = { ...blocked, usageMetadata: { trafficType: "ON_DEMAND" } };
    const free = relayChunks([uncounted]);
    expect(eventsOf(free.text)).toEqual([{ ...uncounted, credit: 12 }]);
    expect(free.stream.metered().usage.input).toBe(0);
  });
});

describe("an answer that breaks", () => {
  test("never looks complete, wherever it was cut, and its error has the credit of what came", () => {
    const chunks = geminiChunks({ parts: ["one ", "two ", "three"], usage: USAGE });
    const body = sse(chunks);
    const whole = relay(body).text;
    for (let end = 0; end < body.length; end += 1) {
      const { text, stream } = relay(body.slice(0, end));
      if (stream.isComplete) {
        // Only the last line ends were missing.
        expect(body.length - end).toBeLessThanOrEqual(2);
        expect(text).toBe(whole);
        continue;
      }
      const events = eventsOf(text);
      expect(events.at(-1)).toMatchObject({
        error: { code: 502, status: "UNAVAILABLE", type: "upstream_error" },
        credit: 5,
      });
      expect(JSON.stringify(events)).not.toContain("finishReason");
    }
  });

  test("errors of upstream in mid-stream, as an object and as a list", () => {
    const error = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
    for (const data of [JSON.stringify(error), JSON.stringify([error])]) {
      const { text, stream } = relay(`data: ${JSON.stringify(chunk([{ text: "a" }]))}\n\ndata: ${data}\n\n`);
      expect(stream.failure?.kind).toBe("overloaded_error");
      expect(eventsOf(text).at(-1).error).toMatchObject({
        code: 503,
        status: "UNAVAILABLE",
        type: "overloaded_error",
      });
    }
  });

  test("an error is no part of the answer, whatever stands beside it", () => {
    const [first] = geminiChunks({ parts: ["a", "b"] });
    const error = { ...chunk([{ text: "c" }]), error: { code: 503, message: "x" }, usageMetadata: USAGE };
    const { stream, text } = relay(sse([first!, error]));
    expect(partsOf(eventsOf(text))).toEqual([{ text: "a" }]);
    const bare = relay(sse([first!, { error: { code: 503 } }])).stream;
    expect([stream.repairs, bare.repairs]).toEqual([[], []]);
    expect(stream.metered()).toEqual(bare.metered());
  });

  test("an error after the end takes nothing away", () => {
    const chunks = [...geminiChunks({ usage: USAGE }), { error: { code: 500 } }];
    const { stream } = relayChunks(chunks);
    expect([stream.failure, stream.isComplete]).toEqual([undefined, true]);
  });

  for (const garbage of ["nope", "[1]", "{", '{"candidates":[}', "[DONE]", "null", '"x"']) {
    test(`garbage in mid-stream fails it: ${garbage}`, () => {
      const { stream } = relay(`data: ${JSON.stringify(chunk([{ text: "a" }]))}\n\ndata: ${garbage}\n\n`);
      expect(stream.failure?.kind).toBe("upstream_error");
    });
  }

  test("an answer that was whole is given without its finish reason when its charge cannot be written", () => {
    const stream = openStream(CONTEXT);
    const sent = stream.push(sse(geminiChunks({ parts: ["a"], usage: USAGE })));
    expect(sent).toBeUndefined();
    const tail = decoder.decode(
      stream.failureTail(new GatewayError("internal_error", "x"), stream.metered(), undefined),
    );
    const events = eventsOf(tail);
    expect(partsOf(events)).toEqual([{ text: "a" }]);
    expect(tail).not.toContain("finishReason");
    expect(tail).not.toContain("credit");
    expect(events.at(-1).error.code).toBe(500);
  });

  test("an endless line fails it", () => {
    const stream = openStream(CONTEXT);
    const mebibyte = encoder.encode("x".repeat(1024 * 1024));
    stream.push(encoder.encode("data: "));
    for (let i = 0; i < 33 && stream.failure === undefined; i += 1) stream.push(mebibyte);
    expect(stream.failure?.kind).toBe("upstream_error");
  });
});

describe("what was used", () => {
  test("the last usage overwrites the ones before; what came after it is counted", () => {
    const stream = openStream(CONTEXT);
    stream.push(
      sse([
        chunk([{ text: "a".repeat(40) }], {}, { usageMetadata: { ...USAGE, candidatesTokenCount: 10 } }),
      ] as Record<string, unknown>[]),
    );
    expect(stream.metered()).toMatchObject({ usage: { input: 5, output: 10 }, flags: [] });
    stream.push(sse([chunk([{ text: "b".repeat(40) }])] as Record<string, unknown>[]));
    const { usage, flags } = stream.metered();
    expect([usage.output, flags]).toEqual([20, ["estimated"]]);
  });

  test("usage from before the output began, or none at all: our own count, thinking apart", () => {
    const stream = openStream(CONTEXT);
    stream.push(
      sse([
        { usageMetadata: { promptTokenCount: 6, totalTokenCount: 6 } },
        chunk([{ text: "x".repeat(40), thought: true }, { text: "y".repeat(80) }]),
      ] as Record<string, unknown>[]),
    );
    expect(stream.metered()).toMatchObject({
      usage: { input: 6, output: 20, reasoning: 10 },
      flags: ["estimated"],
    });
    const silent = relayChunks([chunk([{ text: "y".repeat(80) }], { finishReason: "STOP" })]);
    expect(silent.stream.metered()).toMatchObject({ usage: { input: 9, output: 20 }, flags: ["estimated"] });
    expect(eventsOf(silent.text).at(-1).usageMetadata).toEqual({
      promptTokenCount: 9,
      candidatesTokenCount: 20,
      totalTokenCount: 29,
    });
  });

  test("a count that cannot be is told as the one that is charged", () => {
    const { text, stream } = relayChunks([
      chunk(
        [{ text: "a" }],
        { finishReason: "STOP" },
        { usageMetadata: { promptTokenCount: -5, candidatesTokenCount: 1e12 } },
      ),
    ]);
    expect(stream.metered().flags).toContain("clamped");
    expect(eventsOf(text).at(-1).usageMetadata).toMatchObject({
      promptTokenCount: 0,
      candidatesTokenCount: 100_000_000,
    });
  });

  test("the kept-open connection is sent an empty part", () => {
    const [event] = eventsOf(decoder.decode(openStream(CONTEXT).keepAlive));
    expect(event).toEqual({ candidates: [{ content: { role: "model", parts: [{ text: "" }] }, index: 0 }] });
  });
});

/** Reasoning, text, two parallel calls with one signature, usage: the shape that every client was tried with. */
const GOLDEN = [
  chunk([{ text: "hmm", thought: true }], {}, { responseId: "r", modelVersion: "m" }),
  chunk([{ text: "Let me." }]),
  chunk([
    { functionCall: { id: "a", name: "f", args: { x: 1 } }, thoughtSignature: "U0lHAA==" },
    { functionCall: { id: "b", name: "g", args: {} } },
  ]),
  chunk(
    [{ text: "" }],
    { finishReason: "STOP" },
    {
      usageMetadata: {
        promptTokenCount: 5,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 1,
        totalTokenCount: 8,
      },
    },
  ),
];

test("the golden answer comes out event for event", () => {
  const events = eventsOf(relayChunks(GOLDEN).text);
  expect(events.slice(0, -1)).toEqual(GOLDEN.slice(0, -1));
  expect(events.at(-1)).toEqual({ ...GOLDEN.at(-1), credit: 12 });
});

test.each(
  [
    join(import.meta.dir, "../../../test/golden/generate-content.sse"),
    goldenStream("generate-content.sse"),
  ].filter((path) => existsSync(path)),
)("the golden file comes out byte for byte, %#", (path) => {
  const text = readFileSync(path, "utf8");
  expect(relay(text.replace(',"credit":12', "")).text).toBe(text);
});

const hasRecordings = recordingsFor("recorded streams");

describe.if(hasRecordings)("recorded streams", () => {
  test("all keep their parts, end once, and every chunk has parts", () => {
    const streams = ["generate-content", "cross-protocol"]
      .flatMap((folder) => loadRecordings(folder))
      .filter(
        ({ request, response }) =>
          /treamGenerateContent/.test(request.url) &&
          response.status === 200 &&
          typeof response.body === "string",
      );
    expect(streams.length).toBeGreaterThan(50);
    for (const [i, recording] of streams.entries()) {
      const body = recordedBytes(recording.response.body);
      const random = seededRandom(i + 1);
      const { text, stream } = relay(body, {}, () => 1 + Math.floor(random() * 300));
      const sent = (typeof body === "string" ? body : decoder.decode(body))
        .split(/\r?\n\r?\n/)
        .filter((event) => event.startsWith("data: "))
        .map((event): Json => JSON.parse(event.slice(6)));
      const events = eventsOf(text);
      const told = partsOf(sent).filter((part) => !isEmpty(part));
      const where = recording.path;
      expect([where, stream.failure, stream.isComplete]).toEqual([where, undefined, true]);
      expect(partsOf(events).filter((part) => !isEmpty(part))).toEqual(told);
      expect(
        events.every(
          ({ candidates }) =>
            candidates[0].content.parts.length > 0 && candidates[0].content.role === "model",
        ),
      ).toBeTrue();
      expect(events.filter(({ candidates }) => candidates[0].finishReason !== undefined)).toEqual([
        events.at(-1),
      ]);
      const usage = sent.findLast(({ usageMetadata }) => usageMetadata).usageMetadata;
      expect(events.at(-1)).toMatchObject({ usageMetadata: usage, credit: 12 });
      expect(stream.metered().flags).toEqual([]);
    }
  });
});
