import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { createParser } from "eventsource-parser";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { runsOf } from "../../../test/runs.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext, RelayStream } from "../protocol.ts";
import { openStream } from "./relay.ts";

const RUNS = runsOf(150, 3_000);
const CONTEXT: AnswerContext = {
  ...ANSWER_CONTEXT,
  model: "vendor/shown",
  padding: ["obfuscation"],
  expectedInput: 11,
};
const COMPATIBLE: AnswerContext = { ...CONTEXT, native: false };
// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const CUT_OFF = new GatewayError("upstream_error", "The provider's answer ended early.");
const encoder = new TextEncoder();
const head = { id: "c1", object: "chat.completion.chunk", created: 7, model: "upstream-id" };
const usage = (prompt: number, completion: number): Json => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});
const delta = (content: string, index = 0): Json => ({
  ...head,
  choices: [{ index, delta: { content }, finish_reason: null }],
});
const finish = (index = 0, reason = "stop"): Json => ({
  ...head,
  choices: [{ index, delta: {}, finish_reason: reason }],
});
const usageChunk = (prompt = 3, completion = 2): Json => ({
  ...head,
  choices: [],
  usage: usage(prompt, completion),
});
const first: Json = {
  ...head,
  choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
};
const DONE = "[DONE]";

/** Events as an upstream writes them. */
function wire(events: readonly Json[]): string {
  return events
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    .join("");
}

interface Played {
  readonly stream: RelayStream;
  /** What the client was sent before the tail. */
  readonly body: string;
  readonly tail: string;
}

/** Plays `text` to a stream in pieces of `size` bytes, up to the end, and takes the tail that fits. */
function play(text: string | Uint8Array, context = CONTEXT, size = Infinity): Played {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  const stream = openStream(context);
  const out: (Uint8Array | undefined)[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    // The runtime may use its buffer again: what is pushed is good for the call only.
    const piece = bytes.slice(at, at + Math.min(size, bytes.length - at));
    out.push(stream.push(piece));
    piece.fill(0x21);
  }
  out.push(stream.end(false));
  const metered = stream.metered();
  const tail =
    stream.isComplete && stream.failure === undefined
      ? stream.tail(metered, 1_500_000n)
      : stream.failureTail(stream.failure ?? CUT_OFF, metered, 1_500_000n);
  return { stream, body: textOf(out), tail: textOf([tail]) };
}

function textOf(pieces: readonly (Uint8Array | undefined)[]): string {
  return pieces.map((piece) => new TextDecoder().decode(piece ?? new Uint8Array(0))).join("");
}

/** The values of the events of `text`, as another parser reads them. */
function events(text: string): Json[] {
  const seen: Json[] = [];
  const parser = createParser({
    onEvent: ({ data }) => seen.push(data === DONE ? data : JSON.parse(data)),
  });
  parser.feed(text);
  return seen;
}

const GOOD = [first, delta("a"), delta("b"), finish(), usageChunk(), DONE];

describe("a good stream", () => {
  test("keeps its bytes but for the model, and ends in usage, credit, [DONE]", () => {
    const { body, tail, stream } = play(wire(GOOD));
    const shown = wire(GOOD.slice(0, 4)).replaceAll('"upstream-id"', '"vendor/shown"');
    expect(body).toBe(shown);
    expect(events(tail)).toEqual([
      { ...usageChunk(), model: "vendor/shown" },
      { ...head, model: "vendor/shown", choices: [], usage: usage(3, 2), credit: 1.5 },
      DONE,
    ]);
    expect([stream.isComplete, stream.isDone, stream.hasContent, stream.chunks]).toEqual([
      true,
      true,
      true,
      5,
    ]);
    expect(stream.metered()).toMatchObject({ usage: { input: 3, output: 2 }, flags: [] });
  });

  const spelled = [
    { name: "CRLF", text: wire(GOOD).replaceAll("\n", "\r\n") },
    { name: "CR", text: wire(GOOD).replaceAll("\n", "\r") },
    { name: "a byte order mark", text: `\ufeff${wire(GOOD)}` },
    { name: "no space after the colon", text: wire(GOOD).replaceAll("data: ", "data:") },
    { name: "event names and ids", text: wire(GOOD).replaceAll("data:", "id: 1\nevent: message\ndata:") },
    { name: "a last event without its blank line", text: wire(GOOD).trimEnd() },
  ];
  for (const { name, text } of spelled) {
    test(`means the same with ${name}`, () => {
      const { body, tail } = play(text);
      expect(events(body + tail)).toEqual(events(play(wire(GOOD)).body + play(wire(GOOD)).tail));
    });
  }

  test("means the same with JSON over two data lines", () => {
    const { body, tail } = play(wire(GOOD).replaceAll('"object"', '\ndata: "object"'));
    expect(events(body + tail)).toEqual(events(play(wire(GOOD)).body + play(wire(GOOD)).tail));
  });

  test("has choices in the chunk of its usage, whatever upstream has there", () => {
    for (const choices of [null, undefined]) {
      const { body, tail } = play(wire(GOOD.with(4, { ...usageChunk(), choices })));
      expect(events(body + tail)).toEqual(events(play(wire(GOOD)).body + play(wire(GOOD)).tail));
    }
  });

  test("means the same however its bytes are cut", () => {
    const words = fc.array(fc.string({ unit: "binary", maxLength: 6 }), { maxLength: 5 });
    const eol = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(words, eol, fc.integer({ min: 1, max: 40 }), fc.boolean(), (texts, end, size, native) => {
        const whole = [first, ...texts.map((text) => delta(text)), finish(), usageChunk(), DONE];
        const text = wire(whole).replaceAll("\n", end);
        const context = native ? CONTEXT : COMPATIBLE;
        const cut = play(text, context, size);
        const uncut = play(text, context);
        expect([cut.body, cut.tail]).toEqual([uncut.body, uncut.tail]);
        expect(events(cut.body).map((chunk) => chunk.choices[0].delta.content ?? "")).toEqual([
          "",
          ...texts,
          "",
        ]);
      }),
      RUNS,
    );
  });

  test("passes comments on and does not count them", () => {
    const { body, stream } = play(`: OPENROUTER PROCESSING\n\n${wire([first])}:\n\n`);
    expect(body.startsWith(": OPENROUTER PROCESSING\n\n")).toBe(true);
    expect([stream.chunks, stream.hasContent, stream.isComplete]).toEqual([1, false, false]);
  });

  test("of several choices is complete only when each has ended", () => {
    const two = [delta("a"), delta("b", 1), finish()];
    expect(play(wire(two)).stream.isComplete).toBe(false);
    expect(play(wire([...two, finish(1)])).stream.isComplete).toBe(true);
  });

  test("is not complete while a choice that was asked for has not begun", () => {
    const two = { ...CONTEXT, choices: 2 };
    expect(play(wire([delta("a"), finish()]), two).stream.isComplete).toBe(false);
    expect(play(wire([delta("a"), finish(), delta("b", 1), finish(1)]), two).stream.isComplete).toBe(true);
  });

  test("is complete with fewer choices where they have ended and the end mark came", () => {
    const two = { ...CONTEXT, choices: 2 };
    expect(play(wire([delta("a"), finish(), DONE]), two).stream.isComplete).toBe(true);
    expect(play(wire([delta("a"), DONE]), two).stream.isComplete).toBe(false);
    expect(play(wire([delta("a"), finish(), delta("b", 1), DONE]), two).stream.isComplete).toBe(true);
  });

  test("loses documented padding wherever it stands", () => {
    const padded = [
      { obfuscation: "x", ...delta("a") },
      { ...delta("b"), obfuscation: "xy" },
      { ...head, obfuscation: "z", choices: delta("c").choices },
      { ...usageChunk(), obfuscation: "q" },
    ];
    const { body, tail } = play(wire([...padded, finish()]));
    expect(body + tail).not.toContain("obfuscation");
    expect(events(body).map((chunk) => chunk.choices[0].delta.content)).toEqual(["a", "b", "c", undefined]);
    expect(events(tail)[0].usage).toEqual(usage(3, 2));
  });
});

describe("usage is sent once, in the tail, and the last one counts", () => {
  const beside = (prompt: number, completion: number, chunk: Json): Json => ({
    ...chunk,
    usage: usage(prompt, completion),
  });
  const cases = [
    { name: "on its own chunk", sent: [delta("a"), finish(), usageChunk(3, 2)], want: [3, 2] },
    { name: "beside the finish", sent: [delta("a"), beside(3, 2, finish())], want: [3, 2] },
    {
      name: "growing beside each chunk",
      sent: [beside(3, 1, delta("a")), beside(3, 2, delta("b")), beside(3, 3, finish())],
      want: [3, 3],
    },
    { name: "twice", sent: [delta("a"), finish(), usageChunk(3, 2), usageChunk(4, 5)], want: [4, 5] },
    {
      name: "beside a chunk and then on its own",
      sent: [beside(3, 1, delta("a")), finish(), usageChunk(4, 5)],
      want: [4, 5],
    },
    {
      name: "null until the end",
      sent: [{ ...delta("a"), usage: null }, finish(), usageChunk()],
      want: [3, 2],
    },
  ];
  const check = (sent: readonly Json[], want: readonly number[]) => (): void => {
    for (const context of [CONTEXT, COMPATIBLE]) {
      const { body, tail, stream } = play(wire([first, ...sent, DONE]), context);
      expect(events(body).filter((chunk) => chunk.usage)).toEqual([]);
      const shown = events(tail).filter((chunk) => chunk.usage);
      expect(shown).toHaveLength(2);
      for (const { usage: told } of shown) {
        expect([told.prompt_tokens, told.completion_tokens]).toEqual([...want]);
        expect(told.total_tokens).toBe(told.prompt_tokens + told.completion_tokens);
      }
      expect(stream.metered().flags).toEqual([]);
    }
  };
  for (const { name, sent, want } of cases) test(name, check(sent, want));

  test(
    "on its own chunk and then beside a choice",
    check([delta("a"), usageChunk(3, 1), { ...finish(), usage: usage(3, 4) }], [3, 4]),
  );
  test(
    "on its own chunk, as its first member",
    check([delta("a"), finish(), { usage: usage(3, 2), ...head, choices: [] }], [3, 2]),
  );

  test("before the end: what came after it is counted by us, and flagged", () => {
    const { stream } = play(wire([first, delta("a"), usageChunk(3, 2), delta("eight by"), finish(), DONE]));
    expect(stream.metered()).toMatchObject({ usage: { input: 3, output: 4 }, flags: ["estimated"] });
  });

  test("of no output beside text: the text is counted by us", () => {
    const { stream } = play(wire([first, usageChunk(3, 0), delta("eight by"), finish(), DONE]));
    expect(stream.metered()).toMatchObject({ usage: { input: 3, output: 2 }, flags: ["estimated"] });
  });

  test("missing: our count, flagged", () => {
    const { tail, stream } = play(wire([first, delta("four letters"), finish(), DONE]));
    expect(stream.metered()).toMatchObject({ usage: { input: 11, output: 3 }, flags: ["estimated"] });
    expect(events(tail)[0].usage).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 3,
      total_tokens: 14,
    });
  });

  for (const odd of [{}, [], 5, "x", true, { prompt_tokens: "3" }]) {
    test(`that is none (${JSON.stringify(odd)}) counts as missing`, () => {
      const { stream, tail } = play(
        wire([first, delta("abc"), finish(), { ...head, choices: [], usage: odd }, DONE]),
      );
      expect(stream.failure).toBeUndefined();
      expect(stream.metered().flags).toEqual(["estimated"]);
      expect(events(tail)[0].usage.prompt_tokens).toBe(11);
    });
  }
});

describe("the end", () => {
  test("without [DONE] is good when every choice has ended", () => {
    const { stream, tail } = play(wire(GOOD.slice(0, -1)));
    expect(stream.isComplete).toBe(true);
    expect(events(tail).at(-1)).toBe(DONE);
  });

  test("[DONE] without a finish reason gets one", () => {
    const { body, tail } = play(wire([first, delta("a"), usageChunk(), DONE]));
    const all = events(body + tail);
    expect(all.filter((chunk) => chunk.choices?.[0]?.finish_reason)).toEqual([
      { ...head, model: "vendor/shown", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ]);
  });

  test("[DONE] after a tool call without a finish reason gets tool_calls", () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const chunk = { ...head, choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call] } }] };
    const { tail } = play(wire([chunk, DONE]), COMPATIBLE);
    expect(events(tail)[0].choices[0].finish_reason).toBe("tool_calls");
  });

  test("the same on a native stream", () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const chunk = { ...head, choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call] } }] };
    expect(events(play(wire([chunk, DONE])).tail)[0].choices[0].finish_reason).toBe("tool_calls");
  });

  test("what follows [DONE] is ignored", () => {
    const { body, tail } = play(wire([...GOOD, delta("late"), { error: { message: "late" } }, "{", DONE]));
    expect(body + tail).not.toContain("late");
    expect(play(wire(GOOD)).tail).toBe(tail);
  });

  for (const context of [CONTEXT, COMPATIBLE]) {
    const kind = context.native ? "native" : "compatible";
    const bytes = encoder.encode(wire([first, delta("ab"), delta("é"), finish()]));
    // Up to here no byte of the finish chunk has come.
    const finishAt = encoder.encode(wire([first, delta("ab"), delta("é")])).length;
    test(`a ${kind} stream cut before its finish never looks complete`, () => {
      for (let at = 0; at <= finishAt; at += 1) {
        const { stream, tail } = play(bytes.slice(0, at), context);
        expect([at, stream.isComplete]).toEqual([at, false]);
        expect(tail).toContain('"finish_reason":"error"');
      }
    });

    const cutInFinish = (): void => {
      for (let at = finishAt; at < bytes.length - 2; at += 1) {
        const { stream, body } = play(bytes.slice(0, at), context);
        const delivered = events(body).some((chunk) => chunk.choices[0].finish_reason === "stop");
        expect([at, stream.isComplete]).toEqual([at, delivered]);
      }
    };
    const name = `a ${kind} stream cut within its finish is complete exactly when the client has it`;
    test(name, cutInFinish);
  }

  test("[DONE] and nothing else is no answer", () => {
    expect(play(wire([DONE])).stream.isComplete).toBe(false);
  });
});

describe("a broken stream", () => {
  const cases = [
    { name: "garbage", sent: "data: {not json}\n\n" },
    { name: "half a chunk before the next", sent: 'data: {"choices":[\n\n' },
    { name: "a string", sent: 'data: "x"\n\n' },
    { name: "an array", sent: "data: [1]\n\n" },
    { name: "empty data", sent: "data:\n\n" },
    { name: "an object without choices", sent: 'data: {"object":"error","message":"boom"}\n\n' },
    { name: "an error object", sent: wire([{ error: { message: "boom", code: 500 } }]) },
    { name: "an error string", sent: wire([{ error: "boom" }]) },
    { name: "an error event", sent: `event: error\n${wire([{ message: "boom" }])}` },
  ];
  for (const { name, sent } of cases) {
    for (const context of [CONTEXT, COMPATIBLE]) {
      test(`${name} in mid-answer is upstream_error, ${context.native ? "native" : "compatible"}`, () => {
        const { stream, body, tail } = play(
          wire([first, delta("ab")]) + sent + wire([delta("late")]),
          context,
        );
        expect(stream.failure?.kind).toBe("upstream_error");
        expect(stream.isComplete).toBe(false);
        expect(body).not.toContain("late");
        expect(events(body)).toHaveLength(2);
        const [broke, used, charged, error, done] = events(tail);
        expect(broke.choices).toEqual([{ index: 0, delta: {}, finish_reason: "error" }]);
        expect([used.choices, used.usage.completion_tokens, used.credit]).toEqual([[], 1, undefined]);
        expect([charged.choices, charged.credit]).toEqual([[], 1.5]);
        expect([error.error.type, done]).toEqual(["upstream_error", DONE]);
        expect(tail).not.toContain("boom");
      });
    }
  }

  const typed = [
    { error: { message: "slow down", code: 429 }, kind: "overloaded_error" },
    { error: { message: "x", type: "overloaded_error" }, kind: "overloaded_error" },
    { error: { message: "bad field", type: "invalid_request_error" }, kind: "invalid_request_error" },
    { error: { message: "x", code: "504" }, kind: "timeout_error" },
    { error: { message: "no money", code: "insufficient_quota" }, kind: "upstream_error" },
  ];
  for (const { error, kind } of typed) {
    test(`${JSON.stringify(error)} is ${kind}`, () => {
      expect(play(wire([first, { error }])).stream.failure?.kind as string).toBe(kind);
    });
  }

  test("an error after every choice has ended takes nothing away", () => {
    const { stream } = play(wire([first, delta("a"), finish(), { error: { message: "boom" } }]));
    expect([stream.failure, stream.isComplete]).toEqual([undefined, true]);
  });

  for (const context of [CONTEXT, COMPATIBLE]) {
    test(`an error beside a finish of error is an error, ${context.native ? "native" : "compatible"}`, () => {
      const chunk = { ...finish(0, "error"), error: { code: 502, message: "boom" } };
      const { stream } = play(wire([first, delta("a"), chunk]), context);
      expect([stream.failure?.kind, stream.isComplete]).toEqual(["upstream_error", false]);
    });
  }

  const elsewhere = [
    {
      name: "base_resp",
      chunk: { base_resp: { status_code: 1002, status_msg: "boom" }, choices: null },
      kind: "overloaded_error",
    },
    {
      name: "the choice",
      chunk: {
        ...head,
        choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 429, message: "boom" } }],
      },
      kind: "overloaded_error",
    },
    {
      name: "place of a chunk",
      chunk: { object: "error", message: "boom", code: 400 },
      kind: "invalid_request_error",
    },
  ];
  for (const { name, chunk, kind } of elsewhere) {
    test(`an error in ${name} is an error`, () => {
      const { stream } = play(wire([first, delta("a"), chunk, finish(), DONE]), COMPATIBLE);
      expect(stream.failure?.kind as string).toBe(kind);
    });
  }

  test("an error in x_groq is an error", () => {
    const chunk = { ...delta(""), x_groq: { error: { message: "boom" } } };
    expect(play(wire([first, delta("a"), chunk]), COMPATIBLE).stream.failure?.kind).toBe("upstream_error");
  });

  test("an error in x_groq that is a sentence is an error, and stays here", () => {
    const chunk = { ...delta(""), x_groq: { id: "r", error: "boom" } };
    const { stream, body, tail } = play(wire([first, delta("a"), chunk, finish(), DONE]), COMPATIBLE);
    expect(stream.failure?.message).toBe("The provider failed to answer this request.");
    expect(body + tail).not.toContain("boom");
  });

  test("an answer that never began fails on choice 0", () => {
    const { tail } = play("");
    expect(events(tail)[0].choices).toEqual([
      { index: 0, delta: { role: "assistant" }, finish_reason: "error" },
    ]);
    expect(events(tail)[0].id).toBe("chatcmpl-req_1");
  });

  test("choices that had ended keep their finish, the others fail", () => {
    const { tail } = play(wire([delta("a"), delta("b", 1), finish(0)]));
    expect(events(tail)[0].choices).toEqual([{ index: 1, delta: {}, finish_reason: "error" }]);
  });

  test("a line beyond 8 MiB is a failure, not a memory", () => {
    const stream = openStream(CONTEXT);
    const piece = encoder.encode(`data: ${"x".repeat(1024 * 1024)}`);
    for (let i = 0; i < 10 && stream.failure === undefined; i += 1) stream.push(piece);
    expect(stream.failure?.kind).toBe("upstream_error");
  });

  test("an event beyond 8 MiB is a failure, not a memory", () => {
    const stream = openStream(CONTEXT);
    const piece = encoder.encode(`data: ${"x".repeat(1024 * 1024)}\n`);
    for (let i = 0; i < 10 && stream.failure === undefined; i += 1) stream.push(piece);
    expect(stream.failure?.kind).toBe("upstream_error");
  });
});

describe("keys written with escapes mean what they stand for", () => {
  const spelled = wire(GOOD)
    .replaceAll('"usage"', '"usa\\u0067e"')
    .replaceAll('"model"', '"m\\u006fdel"')
    .replaceAll('"choices"', '"\\u0063hoices"')
    .replaceAll('"finish_reason"', '"finish\\u005freason"')
    .replaceAll('"content"', '"conten\\u0074"');
  for (const context of [CONTEXT, COMPATIBLE]) {
    test(context.native ? "of a native provider" : "of a compatible one", () => {
      const { stream, body, tail } = play(spelled, context);
      expect([stream.isComplete, stream.hasContent, stream.failure]).toEqual([true, true, undefined]);
      expect(stream.metered()).toMatchObject({ usage: { input: 3, output: 2 }, flags: [] });
      expect(body + tail).not.toContain("upstream-id");
      expect(events(body + tail)).toEqual(events(play(wire(GOOD)).body + play(wire(GOOD)).tail));
    });
  }
});

describe("what a chunk must have", () => {
  test("the model's own id is never shown, wherever it stands in the chunk", () => {
    const moved = { choices: delta("a").choices, model: "upstream-id", id: "c1" };
    const { body, tail } = play(wire([{ model: "upstream-id", ...delta("b") }, moved, finish()]));
    expect(body + tail).not.toContain("upstream-id");
    expect(events(body).map((chunk) => chunk.model)).toEqual(Array(3).fill("vendor/shown"));
  });

  // Chunks have the official shape; nothing adds a model that upstream leaves out.
  test("a compatible chunk without a model gets one", () => {
    const { model: _, ...bare } = delta("a");
    expect(events(play(wire([bare]), COMPATIBLE).body)[0].model).toBe("vendor/shown");
  });

  test("id and time of the tail are the first that say something", () => {
    const filters = {
      ...head,
      id: "",
      created: 0,
      model: "",
      object: "",
      choices: [],
      prompt_filter_results: [],
    };
    for (const context of [CONTEXT, COMPATIBLE]) {
      const { tail } = play(wire([filters, ...GOOD.slice(0, 4), DONE]), context);
      for (const chunk of events(tail).slice(0, -1)) expect(chunk).toMatchObject({ id: "c1", created: 7 });
      const nameless = events(
        play(wire([filters, { ...delta("a"), id: "" }, { ...finish(), id: null }, DONE]), context).tail,
      );
      expect(nameless[0].id).toBe("chatcmpl-req_1");
    }
  });

  test("id and time of the tail are those of the answer", () => {
    const [used, charged] = events(play(wire([first, delta("a"), finish(), DONE])).tail);
    expect([used.id, used.created, charged.id, charged.created]).toEqual(["c1", 7, "c1", 7]);
  });

  test("characters beyond ASCII come through whole, invalid UTF-8 as it came", () => {
    const bytes = encoder.encode(wire([delta("日本😀\u0000é")]));
    expect(events(play(bytes, CONTEXT, 1).body)[0].choices[0].delta.content).toBe("日本😀\u0000é");
    const broken = encoder.encode(wire([delta("X")])).map((byte) => (byte === 0x58 ? 0xff : byte));
    const { stream, body } = play(broken);
    expect([stream.failure, body.includes("\ufffd")]).toEqual([undefined, true]);
  });
});
