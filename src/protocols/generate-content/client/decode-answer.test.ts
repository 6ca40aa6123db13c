import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { type FoldedChoice, foldEvents } from "../../../../test/protocols/folded-events.ts";
import { streamedEvents } from "../../../../test/protocols/streamed-events.ts";
import { seededRandom } from "../../../../test/upstream/cuts.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import { parseExact } from "../../exact-json.ts";
import type { AnswerContext } from "../../protocol.ts";
import { decodeAnswer, openDecoder } from "./decode-answer.ts";
import { generateContentClient } from "./index.ts";

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, model: "google/gemini-3.8-flash", expectedInput: 9 };
const encoder = new TextEncoder();

/** The events that chunks stand for, before the end of their answer. */
function decoded(chunks: readonly string[]): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const decoder = openDecoder((event) => void events.push(event));
  for (const chunk of chunks) decoder.read(parseExact(chunk) as JsonObject);
  return events;
}

/** The events of a stream, read as in the gateway, in pieces of `size` bytes. */
function streamed(
  chunks: readonly object[],
  size: () => number = () => 1 << 30,
  choices = 1,
): readonly ChatEvent[] {
  const from = encoder.encode(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
  const events = streamedEvents(generateContentClient, from, { ...CONTEXT, choices }, size);
  if (events === undefined) throw new Error("The stream is not whole.");
  return events;
}

const candidate = (parts: readonly object[], more: object = {}) => ({
  content: { role: "model", parts },
  index: 0,
  ...more,
});
/** One chunk for each part, and a last one for the reason. */
const chunksOf = (parts: readonly object[], finishReason = "STOP") => [
  ...parts.map((part) => ({ candidates: [candidate([part])], responseId: "r1" })),
  { candidates: [candidate([{ text: "" }], { finishReason })], responseId: "r1" },
];
const wholeOf = (parts: readonly object[], finishReason = "STOP") => ({
  candidates: [candidate(parts, { finishReason })],
  responseId: "r1",
});

function only(events: readonly ChatEvent[]): FoldedChoice {
  const { choices } = foldEvents(events);
  expect([...choices.keys()]).toEqual([0]);
  return choices.get(0)!;
}

const TEXT = { type: "text" } as const;
const THINKING = { type: "thinking", issuer: "google" } as const;
const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;
const CALL = { functionCall: { id: "c1", name: "f", args: { a: [1, "ü"] } } };

describe("parts, in a stream and whole alike", () => {
  const cases: readonly [string, readonly object[], readonly object[], string?][] = [
    ["text in pieces is one part", [{ text: "a" }, { text: "b" }], [{ part: TEXT, text: "ab" }]],
    [
      "thoughts and text are two parts",
      [{ text: "hm", thought: true }, { text: "m", thought: true }, { text: "a" }],
      [
        { part: THINKING, text: "hmm" },
        { part: TEXT, text: "a" },
      ],
    ],
    [
      "the signature of a text comes behind it",
      [
        { text: "hm", thought: true },
        { text: "a", thoughtSignature: "U0lH" },
      ],
      [
        { part: THINKING, text: "hm" },
        { part: TEXT, text: "a" },
        { part: THINKING, text: "", signature: "U0lH" },
      ],
    ],
    [
      "that of an empty text behind a text is the text's",
      [{ text: "a" }, { text: "", thoughtSignature: "U0lH" }],
      [
        { part: TEXT, text: "a" },
        { part: THINKING, text: "", signature: "U0lH" },
      ],
    ],
    [
      "that of an empty text behind thoughts is theirs",
      [
        { text: "hm", thought: true },
        { text: "", thoughtSignature: "U0lH" },
      ],
      [{ part: THINKING, text: "hm", signature: "U0lH" }],
    ],
    [
      "a signature that comes all alone is not lost",
      [{ thoughtSignature: "U0lH" }],
      [{ part: THINKING, text: "", signature: "U0lH" }],
    ],
    [
      "signed and unsigned text are not joined",
      [{ text: "a", thoughtSignature: "U0lH" }, { text: "b" }],
      [
        { part: TEXT, text: "a" },
        { part: THINKING, text: "", signature: "U0lH" },
        { part: TEXT, text: "b" },
      ],
    ],
    [
      "a call is whole, with its signature",
      [{ ...CALL, thoughtSignature: "a/b+c_-=" }],
      [{ part: call("c1", "f"), text: '{"a":[1,"ü"]}', signature: "a/b+c_-=" }],
      "tool_calls",
    ],
    [
      "a call without arguments has an empty object",
      [{ functionCall: { id: "c1", name: "f" } }],
      [{ part: call("c1", "f"), text: "{}" }],
      "tool_calls",
    ],
    [
      "an image has its signature, and drafts are left out",
      [
        { inlineData: { mimeType: "image/png", data: "ZHJhZnQ=" }, thought: true, thoughtSignature: "bm8=" },
        { inlineData: { mimeType: "image/png", data: "cGlj" }, thoughtSignature: "U0lH" },
      ],
      [{ part: { type: "image", mediaType: "image/png", data: "cGlj" }, text: "", signature: "U0lH" }],
    ],
    [
      "code that ran is shown as text, with a fence that it does not end itself",
      [
        { text: "see" },
        { executableCode: { language: "PYTHON", code: "print('```')" } },
        { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } },
      ],
      [{ part: TEXT, text: "see\n````python\nprint('```')\n````\n\n```\n1\n```\n" }],
    ],
    ["nothing is nothing", [{ text: "" }], []],
  ];
  for (const [name, parts, wanted, finish = "stop"] of cases) {
    test(name, () => {
      const choice = only(streamed(chunksOf(parts)));
      expect(choice).toEqual({ parts: [...wanted] as never, finish: finish as never });
      expect(only(decodeAnswer(wholeOf(parts)))).toEqual(choice);
    });
  }
});

test("calls without an id are given one: the same for the same answer, another for each call", () => {
  const parts = [{ functionCall: { name: "f", args: {} } }, { functionCall: { name: "f", args: {} } }];
  const idsOf = (events: readonly ChatEvent[]) =>
    only(events).parts.map(({ part }) => part.type === "tool_call" && part.id);
  const ids = idsOf(streamed(chunksOf(parts)));
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{16}$/);
  expect(idsOf(decodeAnswer(wholeOf(parts)))).toEqual(ids);
  expect(idsOf(decodeAnswer({ ...wholeOf(parts), responseId: "r2" }))).not.toEqual(ids);
});

test("numbers of arguments keep their digits", () => {
  const chunk =
    '{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{"id":12345678901234567890,"x":1.0}}}]},"finishReason":"STOP"}],"credit":1}';
  const [, , delta] = decoded([chunk]);
  expect(delta).toMatchObject({ type: "delta", text: '{"id":12345678901234567890,"x":1.0}' });
});

describe("the end", () => {
  const reasons: readonly [unknown, string, string][] = [
    ["STOP", "stop", "tool_calls"],
    ["MAX_TOKENS", "length", "length"],
    ["CONTINUATION", "length", "length"],
    ...(
      "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE MODEL_ARMOR IMAGE_SAFETY " +
      "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER"
    )
      .split(" ")
      .map((word): [string, string, string] => [word, "content_filter", "content_filter"]),
    ...(
      "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE OTHER " +
      "NO_IMAGE SOMETHING_NEW"
    )
      .split(" ")
      .map((word): [string, string, string] => [word, "error", "error"]),
    [1, "stop", "tool_calls"],
    [2, "length", "length"],
    [10, "error", "error"],
  ];
  test.each(reasons)("%p is told as %p, with a call as %p", (word, plain, withCall) => {
    const finishReason = word as string;
    for (const [parts, wanted] of [
      [[], plain],
      [[{ text: "a" }], plain],
      [[CALL], withCall],
    ] as const) {
      expect(only(streamed(chunksOf(parts, finishReason))).finish).toBe(wanted as never);
      expect(only(decodeAnswer(wholeOf(parts, finishReason))).finish).toBe(wanted as never);
    }
  });

  test("an empty answer of a broken call is an error and no part", () => {
    const answer = { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] };
    expect(only(decodeAnswer(answer))).toEqual({ parts: [], finish: "error" });
    expect(only(streamed([answer]))).toEqual({ parts: [], finish: "error" });
  });

  test("an answer without a reason is one as far as it says something", () => {
    const finish = (parts: readonly object[]) =>
      only(decodeAnswer({ candidates: [candidate(parts)] })).finish;
    expect([finish([{ text: "a" }]), finish([CALL]), finish([])]).toEqual(["stop", "tool_calls", "error"]);
  });

  test("what a filter says is the refusal", () => {
    const filtered = { candidates: [candidate([], { finishReason: "SAFETY", finishMessage: "No." })] };
    expect(only(decodeAnswer(filtered))).toMatchObject({ finish: "content_filter", refusal: "No." });
    const called = {
      candidates: [candidate([CALL], { finishReason: "STOP", finishMessage: "Model generated calls." })],
    };
    expect(only(decodeAnswer(called)).refusal).toBeUndefined();
  });

  test("it is told once, after what a provider says behind its reason", () => {
    const said = streamed([
      { candidates: [candidate([{ text: "a" }])] },
      { candidates: [candidate([], { finishReason: "STOP" })] },
      { candidates: [candidate([{ text: "b" }], { finishReason: "STOP" })] },
    ]);
    expect(only(said)).toEqual({ parts: [{ part: TEXT, text: "ab" }], finish: "stop" });
  });
});

test("a blocked prompt is a refused request when it is whole, and a filtered answer in a stream", () => {
  const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: {} };
  let thrown: unknown;
  try {
    decodeAnswer(blocked);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(GatewayError);
  expect(thrown).toMatchObject({ kind: "content_moderation", status: 400 });
  expect(String(thrown)).toContain("PROHIBITED_CONTENT");
  expect(only(streamed([blocked]))).toEqual({
    parts: [],
    finish: "content_filter",
    refusal: "PROHIBITED_CONTENT",
  });
});

test("choices keep apart, with and without their index", () => {
  const whole = {
    candidates: [0, 1].map((n) => ({ content: { parts: [{ text: `t${n}` }] }, finishReason: "STOP" })),
  };
  const parts = [
    { candidates: [candidate([{ text: "t" }])] },
    { candidates: [candidate([{ text: "t" }], { index: 1 })] },
    { candidates: [candidate([{ text: "0" }], { finishReason: "STOP" })] },
    { candidates: [candidate([{ text: "1" }], { index: 1, finishReason: "STOP" })] },
  ];
  for (const { choices } of [foldEvents(decodeAnswer(whole)), foldEvents(streamed(parts, undefined, 2))]) {
    expect([...choices].map(([index, { parts }]) => [index, parts[0]?.text])).toEqual([
      [0, "t0"],
      [1, "t1"],
    ]);
  }
});

test("sources are cited by the place in the text, counted in characters", () => {
  const text = "Über Rom. Zwei.";
  const metadata = {
    groundingChunks: [
      { web: { uri: "https://a.example", title: "A" } },
      { web: { uri: "https://b.example" } },
      { web: { uri: "https://c.example", title: "C" } },
    ],
    groundingSupports: [
      { segment: { endIndex: 10, text: "Über Rom." }, groundingChunkIndices: [0, 1] },
      { segment: { startIndex: 1, endIndex: 6, text: "Zwei." }, groundingChunkIndices: [0] },
      { segment: { startIndex: 1, endIndex: 6, text: "nowhere" }, groundingChunkIndices: [1, 9] },
    ],
  };
  const events = streamed([
    { candidates: [candidate([{ text: "Über " }])] },
    { candidates: [candidate([{ text: "Rom. Zwei." }], { groundingMetadata: metadata })] },
    { candidates: [candidate([{ text: "" }], { finishReason: "STOP" })] },
  ]);
  const wanted = [
    { url: "https://a.example", title: "A", start: 0, end: 9 },
    { url: "https://b.example", start: 0, end: 9 },
    { url: "https://a.example", title: "A", start: 10, end: 15 },
    { url: "https://b.example" },
    { url: "https://c.example", title: "C" },
  ];
  expect(only(events).parts.flatMap(({ citations = [] }) => citations)).toEqual(wanted);
  const whole = {
    candidates: [candidate([{ text }], { finishReason: "STOP", groundingMetadata: metadata })],
  };
  expect(only(decodeAnswer(whole)).parts.flatMap(({ citations = [] }) => citations)).toEqual(wanted);
});

test("any cut of the bytes gives the same events", () => {
  const chunks = chunksOf([
    { text: "hm – ö", thought: true },
    { text: "ä" },
    { text: "b", thoughtSignature: "U0lH" },
    { ...CALL, thoughtSignature: "U0lH" },
    { inlineData: { mimeType: "image/png", data: "cGlj" } },
  ]);
  const whole = streamed(chunks);
  expect(streamed(chunks, () => 1)).toEqual([...whole]);
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(seed);
    expect(streamed(chunks, () => 1 + Math.floor(random() * 40))).toEqual([...whole]);
  }
});

test("each piece of text is told when it comes, and the end at the end alone", () => {
  const types = decoded([
    JSON.stringify({ candidates: [candidate([{ text: "a" }])] }),
    JSON.stringify({ candidates: [candidate([{ text: "b" }], { finishReason: "STOP" })] }),
  ]).map(({ type }) => type);
  expect(types).toEqual(["start", "part_start", "delta", "delta"]);
});
