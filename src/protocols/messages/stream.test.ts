import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { runsOf } from "../../../test/runs.ts";
import { message, messageEvents, messageStream, namedEvents } from "../../../test/upstream/messages-bytes.ts";
import { goldenStream, loadRecordings, recordingsAvailable } from "../../../test/upstream/recordings.ts";
import { GatewayError } from "../../core/errors.ts";
import { inputTokens, NO_USAGE } from "../../core/money/usage.ts";
import type { AnswerContext, RelayStream } from "../protocol.ts";
import { openStream } from "./relay.ts";

const RUNS = runsOf(150, 3_000);
const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, model: "vendor/shown", expectedInput: 11 };
// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const CUT_OFF = new GatewayError("upstream_error", "The provider's answer ended early.");
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const USAGE = { input_tokens: 20, output_tokens: 30, cache_read_input_tokens: 4 };
const BLOCKS = [
  { type: "thinking", thinking: "hm, let me see", signature: "EuQBCkYIBxgCKkA+/x==" },
  { type: "redacted_thinking", data: "AAAA" },
  { type: "text", text: "Größe: 😀 and more" },
  { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
  { type: "tool_use", id: "toolu_2", name: "weather", input: { city: "Rome" } },
];

interface Played {
  readonly out: string;
  readonly stream: RelayStream;
}

/** Plays bytes as the gateway does: to the end mark or the end, then the good or the broken tail. */
function play(
  bytes: Uint8Array | string,
  more: { cuts?: readonly number[]; context?: AnswerContext } = {},
): Played {
  const whole = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
  const stream = openStream(more.context ?? CONTEXT);
  const parts: Uint8Array[] = [];
  const give = (part: Uint8Array | undefined): void => void (part === undefined || parts.push(part.slice()));
  const edges = [0, ...(more.cuts ?? []).toSorted((a, b) => a - b), whole.length];
  for (let i = 1; i < edges.length; i += 1) {
    if (stream.isDone || stream.failure !== undefined) break;
    // A copy that is overwritten: the stage must keep nothing of what it was handed.
    const read = whole.slice(edges[i - 1], edges[i]);
    give(stream.push(read));
    read.fill(0);
  }
  if (!stream.isDone && stream.failure === undefined) give(stream.end(false));
  const metered = stream.metered();
  give(
    stream.isComplete && stream.failure === undefined
      ? stream.tail(metered, 12_000_000n)
      : stream.failureTail(stream.failure ?? CUT_OFF, metered, 3_500_000n),
  );
  return { out: parts.map((part) => decoder.decode(part)).join(""), stream };
}

/** Events as a strict reader sees them. */
function read(text: string): { readonly event: string; readonly data: Json }[] {
  const events: { event: string; data: Json }[] = [];
  for (const part of text.split("\n\n").slice(0, -1)) {
    if (part.startsWith(":")) continue;
    const [name = "", data = "", ...rest] = part.split("\n");
    expect([name.slice(0, 7), data.slice(0, 6), rest]).toEqual(["event: ", "data: ", []]);
    events.push({ event: name.slice(7), data: JSON.parse(data.slice(6)) });
  }
  return events;
}

const stream = messageStream({ blocks: BLOCKS, usage: USAGE, ping: true });
const names = (text: string): string[] => read(text).map(({ event }) => event);

describe("a good stream", () => {
  test("keeps every byte but the model, the credit and the event of the credit", () => {
    const want = decoder
      .decode(stream)
      .replace('"model":"claude-double-1"', '"model":"vendor/shown"')
      .replace(
        '"usage":{"input_tokens":20,"output_tokens":30,"cache_read_input_tokens":4}}\n\nevent: message_stop',
        '"usage":{"input_tokens":20,"output_tokens":30,"cache_read_input_tokens":4},"credit":12}\n\nevent: credit\ndata: {"type":"ping","credit":12}\n\nevent: message_stop',
      );
    expect(play(stream).out).toBe(want);
  });

  test("is the same however its bytes are cut into reads", () => {
    const { out } = play(stream);
    for (let at = 1; at < stream.length; at += 1) expect(play(stream, { cuts: [at] }).out).toBe(out);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), (cuts) => {
        expect(play(stream, { cuts }).out).toBe(out);
      }),
      RUNS,
    );
  });

  test("keeps spaces after an event, odd spelling and unknown members and events", () => {
    const odd = [
      'event: message_start\ndata: { "message" : {"model":"x","usage":{"input_tokens":1,"output_tokens":1}, "new":1e3} ,"type":"message_start"}   \n\n',
      'event: content_block_start\ndata: {"index":0,"content_block":{"text":"","type":"text"},"type":"content_block_start"}  \n\n',
      'event: of_tomorrow\ndata: {"type":"of_tomorrow","x":[1,2]}\n\n',
      ...["Later", "of tomorrow", "laterX"].map((type) => `data: {"type":"${type}"}\n\n`),
    ];
    const { out } = play(odd.join(""));
    expect(out).toStartWith(odd.join("").replace('"model":"x"', '"model":"vendor/shown"'));
  });

  test("is given its event names back where upstream left them out, or wrote others", () => {
    const bare = messageStream({ blocks: BLOCKS, usage: USAGE, ping: true, named: false });
    expect(play(bare).out).toBe(play(stream).out);
    const wrong = decoder.decode(stream).replaceAll(/^event: .*$/gm, "event: x");
    expect(play(wrong).out).toBe(play(stream).out);
  });

  test("counts what upstream says last, with what the start said of the input", () => {
    const { stream: stage } = play(
      messageStream({
        usage: { output_tokens: 9 },
        startUsage: {
          input_tokens: 4,
          cache_creation_input_tokens: 8,
          cache_creation: { ephemeral_1h_input_tokens: 8 },
          output_tokens: 1,
        },
      }),
    );
    expect(stage.metered()).toEqual({
      usage: { ...NO_USAGE, input: 4, cacheWrite1h: 8, output: 9 },
      flags: [],
    });
  });

  test("is whole when only its goodbye is missing, and ignores an error after its reason to stop", () => {
    const events = messageEvents({ usage: USAGE });
    const unsaid = namedEvents(events.slice(0, -1));
    expect(play(unsaid).out).toBe(play(namedEvents(events)).out);
    const late = namedEvents([
      ...events.slice(0, -1),
      { type: "error", error: { type: "api_error", message: "x" } },
    ]);
    expect(play(late).out).toBe(play(namedEvents(events)).out);
  });

  test("may bring a document that was fetched, whole in one event", () => {
    const source = { type: "base64", media_type: "application/pdf", data: "A".repeat(3 * 1024 * 1024) };
    const blocks = [
      {
        type: "web_fetch_tool_result",
        tool_use_id: "srvtoolu_1",
        content: { type: "web_fetch_result", url: "https://a/b.pdf", content: { type: "document", source } },
      },
    ];
    const { out, stream } = play(messageStream({ blocks, usage: USAGE }), { cuts: [1024 * 1024] });
    expect(stream.failure).toBeUndefined();
    expect(read(out).find(({ event }) => event === "content_block_start")?.data.content_block).toEqual(
      blocks[0],
    );
  });

  test("may end with [DONE], as some compatible servers do", () => {
    const events = messageEvents({ usage: USAGE });
    expect(play(namedEvents([...events.slice(0, -1), "[DONE]", "garbage"])).out).toBe(
      play(namedEvents(events)).out,
    );
  });

  test("shows usage as it was charged where upstream's cannot be", () => {
    const { out, stream: stage } = play(messageStream({ usage: { input_tokens: 5, output_tokens: -3 } }));
    expect(stage.metered().flags).toContain("clamped");
    expect(read(out).find(({ event }) => event === "message_delta")?.data.usage).toMatchObject({
      input_tokens: 5,
      output_tokens: stage.metered().usage.output,
    });
  });

  test("is not free where upstream says that it gave nothing", () => {
    const { stream: stage } = play(messageStream({ usage: { input_tokens: 5, output_tokens: 0 } }));
    expect(stage.metered()).toEqual({ usage: { ...NO_USAGE, input: 5, output: 2 }, flags: ["estimated"] });
  });

  test("forgets no count for a null that comes after it", () => {
    const { stream: stage } = play(
      messageStream({
        usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 9 },
        startUsage: { input_tokens: 4, cache_read_input_tokens: 6, output_tokens: 1 },
      }),
    );
    expect(stage.metered()).toEqual({ usage: { ...NO_USAGE, input: 4, cacheRead: 6, output: 9 }, flags: [] });
  });

  test("is counted by us where its last usage says nothing of the output", () => {
    const { stream: stage } = play(
      messageStream({ usage: {}, startUsage: { input_tokens: 5, output_tokens: 1 } }),
    );
    expect(stage.metered()).toEqual({ usage: { ...NO_USAGE, input: 5, output: 2 }, flags: ["estimated"] });
  });

  test("without any usage is counted, and has the usage that clients need", () => {
    const { out, stream: stage } = play(messageStream({ usage: null, startUsage: null }));
    expect(stage.metered()).toEqual({ usage: { ...NO_USAGE, input: 11, output: 2 }, flags: ["estimated"] });
    expect(read(out)[0]?.data.message.usage).toEqual({ input_tokens: 11, output_tokens: 0 });
    expect(read(out).find(({ event }) => event === "message_delta")?.data.usage.output_tokens).toBe(2);
    expect(stage.repairs).toEqual(["start_usage"]);
  });

  test("keeps a delta without a reason to stop in its place", () => {
    const [start, ...rest] = messageEvents({ usage: USAGE });
    const early = { type: "message_delta", delta: {}, usage: { output_tokens: 1 } };
    const { out } = play(namedEvents([start as Json, early, ...rest]));
    expect(names(out).slice(0, 3)).toEqual(["message_start", "message_delta", "content_block_start"]);
    expect(read(out)[1]?.data).toEqual(early);
  });

  test("of another gateway has our credit only", () => {
    const events = messageEvents({ usage: USAGE }) as Json[];
    events.at(-2).credit = 77;
    events.splice(-1, 0, { type: "ping", credit: 77 });
    expect(play(namedEvents(events)).out).toBe(play(messageStream({ usage: USAGE })).out);
  });

  test("gives comments as comments, and pings as pings, neither of which are chunks", () => {
    const text = `: hi\n\n${decoder.decode(messageStream({ usage: USAGE, ping: true }))}`;
    const { out, stream: stage } = play(text);
    expect(out).toStartWith(": hi\n\nevent: message_start");
    expect(stage.chunks).toBe(play(messageStream({ usage: USAGE })).stream.chunks);
    expect(decoder.decode(stage.keepAlive)).toBe('event: ping\ndata: {"type": "ping"}\n\n');
  });

  test("loses the members that are padding by the provider's word", () => {
    const events = messageEvents({ usage: USAGE }).map((event) => Object.assign({}, event, { pad: "xxxx" }));
    const context = { ...CONTEXT, padding: ["pad"] };
    expect(play(namedEvents(events), { context }).out).toBe(play(messageStream({ usage: USAGE })).out);
  });
});

describe("a stream that breaks", () => {
  const events = messageEvents({ blocks: BLOCKS, usage: USAGE });

  test("after any event ends with credit and error, and never looks complete", () => {
    for (let n = 0; n < events.length - 2; n += 1) {
      const { out, stream: stage } = play(namedEvents(events.slice(0, n)));
      expect(names(out).slice(-2)).toEqual(["credit", "error"]);
      expect(names(out)).not.toContain("message_stop");
      expect(names(out)).not.toContain("message_delta");
      expect(read(out).at(-2)?.data).toEqual({ type: "ping", credit: 3.5 });
      expect(read(out).at(-1)?.data).toEqual({
        type: "error",
        error: { type: "upstream_error", message: CUT_OFF.message },
      });
      if (n > 0) expect(stage.metered().usage).toMatchObject({ input: 20, cacheRead: 4 });
    }
  });

  test("in the middle of an event is charged for what came whole", () => {
    const body = namedEvents(events);
    for (let end = 1; end < body.length - 60; end += 7) {
      const { out, stream: stage } = play(body.slice(0, end));
      if (stage.isComplete) continue;
      expect(names(out).at(-1)).toBe("error");
      expect(stage.metered().flags).toContain("estimated");
    }
  });

  test("is charged for text, thinking and tool calls by our count, where upstream said less", () => {
    const long = messageEvents({
      blocks: [
        { type: "thinking", thinking: "t".repeat(400), signature: "S" },
        { type: "text", text: "x".repeat(400) },
        { type: "tool_use", id: "t", name: "f", input: { a: "y".repeat(392) } },
      ],
      usage: USAGE,
    });
    const { stream: stage } = play(namedEvents(long.slice(0, -2)));
    expect(stage.metered()).toEqual({
      usage: { ...NO_USAGE, input: 20, cacheRead: 4, output: 302 },
      flags: ["estimated"],
    });
  });

  test("is charged for what was read anew after each search", () => {
    const found = { type: "web_search_tool_result", tool_use_id: "s", content: ["x".repeat(3_200)] };
    const text = { type: "text", text: "x" };
    const inputAfter = (blocks: readonly { type: string }[]): number => {
      const events = messageEvents({ blocks, usage: { input_tokens: 20, output_tokens: 1 } });
      return play(namedEvents(events.slice(0, -2))).stream.metered().usage.input;
    };
    // Nobody knows yet whether the model has read what came last.
    expect(inputAfter([found])).toBe(20);
    const once = inputAfter([found, text]);
    expect(once - 40).toBeWithin(1_000, 1_040);
    // The second reading has all that was found before.
    expect(inputAfter([found, text, found, text]) - 60).toBeWithin(3_000, 3_100);
    expect(inputAfter([found, found, text]) - 40).toBeWithin(2_000, 2_080);
  });

  test.skipIf(!recordingsAvailable())(
    "is charged for recorded searches about as its provider would have",
    () => {
      const searched = loadRecordings("messages").filter(
        ({ response: { body } }) => typeof body === "string" && body.includes("web_search_tool_result"),
      );
      expect(searched.length).toBeGreaterThan(4);
      for (const { path, response } of searched) {
        const body = response.body as string;
        const end = body.indexOf("event: message_delta");
        const whole = inputTokens(play(body).stream.metered().usage);
        const cut = inputTokens(play(body.slice(0, end)).stream.metered().usage);
        expect([path, cut / whole > 0.8 && cut / whole < 1.25]).toEqual([path, true]);
      }
    },
  );

  test("is charged for the searches whose findings came", () => {
    const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
    const searched = messageEvents({ blocks: [found, found, { type: "text", text: "x" }], usage: USAGE });
    expect(play(namedEvents(searched.slice(0, -2))).stream.metered().usage.webSearches).toBe(2);
  });

  test("with message_stop but no reason to stop is no whole answer", () => {
    const unreasoned = events.filter((event) => (event as Json).type !== "message_delta");
    expect(names(play(namedEvents(unreasoned)).out).slice(-2)).toEqual(["credit", "error"]);
    const nulled = messageEvents({ blocks: BLOCKS, usage: USAGE, stopReason: null });
    expect(names(play(namedEvents(nulled)).out).slice(-2)).toEqual(["credit", "error"]);
  });

  const bad: readonly { name: string; events: readonly Json[]; kind: string }[] = [
    { name: "garbage", events: ["{oops"], kind: "upstream_error" },
    { name: "an event without a type", events: [{ x: 1 }], kind: "upstream_error" },
    { name: "a second start", events: [events[0]], kind: "upstream_error" },
    {
      name: "an overload",
      events: [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
      kind: "overloaded_error",
    },
    {
      name: "a limit of ours",
      events: [{ type: "error", error: { type: "rate_limit_error", message: "x" } }],
      kind: "overloaded_error",
    },
    {
      name: "a fault of the provider",
      events: [{ type: "error", error: { type: "api_error", message: "x" } }],
      kind: "upstream_error",
    },
    {
      name: "an error that does not call itself one",
      events: [{ error: { type: "overloaded_error" } }],
      kind: "overloaded_error",
    },
    { name: "an error of nothing", events: [{ type: "error" }], kind: "upstream_error" },
  ];
  for (const { name, events: wrong, kind } of bad) {
    test(`by ${name} says ${kind}, and nothing after it is given`, () => {
      const { out, stream: stage } = play(namedEvents([...events.slice(0, 4), ...wrong, ...events.slice(4)]));
      expect(stage.failure?.kind as string).toBe(kind);
      expect(read(out).at(-1)?.data.error.type).toBe(kind);
      expect(names(out).length).toBe(6);
    });
  }

  test("by content after its reason to stop, or before its start, is no answer", () => {
    const [start, begin, ...rest] = events;
    expect(play(namedEvents([begin as Json, start as Json, ...rest])).stream.failure?.kind).toBe(
      "upstream_error",
    );
    expect(play(namedEvents([...events.slice(0, -1), begin as Json])).stream.failure?.kind).toBe(
      "upstream_error",
    );
    expect(play(namedEvents([{ type: "message_start" }])).stream.failure?.kind).toBe("upstream_error");
  });

  test("without a charge that is known tells none", () => {
    const stage = openStream(CONTEXT);
    expect(names(decoder.decode(stage.failureTail(CUT_OFF, stage.metered(), undefined)))).toEqual(["error"]);
  });

  test("by an event that is too long is no answer", () => {
    const stage = openStream(CONTEXT);
    stage.push(encoder.encode(`data: ${"x".repeat(32 * 1024 * 1024 + 10)}`));
    expect(stage.failure?.kind).toBe("upstream_error");
  });
});

test("content begins with the first text, thinking, signature or call, not with what is empty", () => {
  const until = (count: number, blocks: readonly Json[]): boolean => {
    const stage = openStream(CONTEXT);
    stage.push(namedEvents(messageEvents({ blocks }).slice(0, count)));
    return stage.hasContent;
  };
  expect([1, 2, 3].map((n) => until(n, [{ type: "text", text: "abc" }]))).toEqual([false, false, true]);
  expect([1, 2, 3].map((n) => until(n, [{ type: "thinking", thinking: "", signature: "S" }]))).toEqual([
    false,
    false,
    true,
  ]);
  expect([1, 2].map((n) => until(n, [{ type: "redacted_thinking", data: "A" }]))).toEqual([false, true]);
  expect([1, 2].map((n) => until(n, [{ type: "tool_use", id: "t", name: "f", input: {} }]))).toEqual([
    false,
    true,
  ]);
});

describe("golden streams come out event for event", () => {
  const own = join(import.meta.dir, "../../../test/golden/messages.sse");
  for (const path of [own, goldenStream("messages.sse")]) {
    if (!existsSync(path)) continue;
    test(path === own ? "our own" : "the one that many clients were tried with", () => {
      const golden = readFileSync(path, "utf8");
      const upstream = golden
        .replaceAll(/event: credit\ndata: .*\n\n/g, "")
        .replaceAll(/,"credit":[\d.]+/g, "");
      const model = /"model":"([^"]*)"/.exec(golden)?.[1] ?? "";
      expect(play(upstream, { context: { ...CONTEXT, model } }).out.trimEnd()).toBe(golden.trimEnd());
    });
  }
});

test("the plain form of the double is a message", () => {
  expect(message({ usage: USAGE })).toMatchObject({ type: "message", usage: USAGE });
});
