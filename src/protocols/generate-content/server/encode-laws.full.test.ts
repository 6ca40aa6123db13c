import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { answer, finish, part, type Said, start } from "../../../../test/protocols/chat-events.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import {
  apart,
  base64,
  input,
  none,
  reason,
  said,
  signed,
  unsigned,
  words,
} from "../../../../test/protocols/made-answers.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatEvent, Part } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import { generateContent } from "../index.ts";
import { generateContentServer } from "./index.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

// What holds for every answer that can be told: A stream joined is the plain answer, and no cut looks whole. What was
// said comes back with the next request.

const RUNS = runsOf(800, 20_000);
const KEY = { secret: "s", account: "a" };
const CONTEXT_HERE = { ...ANSWER_CONTEXT, carrier: KEY, echo: { showsThoughts: true } };
const METERED = { usage: { ...NO_USAGE, input: 5, output: 3 }, flags: [] };

const issuer = fc.constantFrom("openai", "anthropic");
const anyPart: fc.Arbitrary<Said> = fc.oneof(
  said(fc.constant({ type: "text" }), words, unsigned),
  said(
    issuer.map((by) => ({ type: "thinking", issuer: by })),
    words,
    signed,
  ),
  said(
    fc.tuple(base64, issuer).map(([data, by]) => ({ type: "redacted_thinking", data, issuer: by })),
    none,
    unsigned,
  ),
  said(
    fc.uuid().map((id) => ({ type: "tool_call", id, name: "f" })),
    input,
    signed,
  ),
);
const image = said(fc.constant({ type: "image", mediaType: "image/png", data: "AAAA" }), none, unsigned);
const events: fc.Arbitrary<ChatEvent[]> = fc
  .tuple(fc.array(fc.oneof(anyPart, image), { maxLength: 6 }), reason)
  .map(([parts, end]) => [...answer(...parts), finish(end)]);

/** A stream of events with its end. */
function streamed(told: readonly ChatEvent[], broken = false): string {
  const encoder = generateContentServer.openEncoder(CONTEXT_HERE);
  const text = told.map((event) => encoder.push(event)).join("");
  const error = new GatewayError("upstream_error", "It broke.");
  return text + (broken ? encoder.failureTail(error, METERED, 1n) : encoder.tail(METERED, 1n));
}

/** The chunks of a stream as the most careless client reads it: any line end that there is ends a line. */
function chunksOf(text: string): Json[] {
  return text
    .split(/\r\n|[\n\r\u2028\u2029\u0085]/)
    .filter((line) => line !== "")
    .map((line) => {
      expect(line).toStartWith("data: ");
      return JSON.parse(line.slice(6));
    });
}

const partsOf = ({ candidates = [] }: Json): Json[] =>
  candidates.flatMap(({ content }: Json) => content.parts);
const plainOf = (told: readonly ChatEvent[]): Json =>
  JSON.parse(JSON.stringify(generateContentServer.encodeAnswer(told, METERED, CONTEXT_HERE)));

/** Parts of one text as one part, what has no words and no signature left out. */
function joined(parts: readonly Json[]): Json[] {
  const all: Json[] = [];
  for (const one of parts) {
    const last = all.at(-1);
    if (one.text === "" && one.thoughtSignature === undefined) continue;
    const isMore =
      one.text !== undefined &&
      last?.text !== undefined &&
      one.thought === last.thought &&
      one.thoughtSignature === undefined;
    if (isMore) last.text += one.text;
    else all.push({ ...one });
  }
  return all;
}

describe("whatever an answer says", () => {
  test("a stream joined is the plain answer, each chunk has a part, and the last one the end", () => {
    fc.assert(
      fc.property(events, (told) => {
        const chunks = chunksOf(streamed(told));
        for (const chunk of chunks) expect(partsOf(chunk).length).toBeGreaterThan(0);
        const plain = plainOf(told);
        expect(joined(chunks.flatMap(partsOf))).toEqual(joined(partsOf(plain)));
        const last = chunks.at(-1);
        expect(last.candidates[0].finishReason).toBe(plain.candidates[0].finishReason);
        expect(last.usageMetadata).toEqual(plain.usageMetadata);
        expect(chunks.filter(({ candidates }) => candidates?.[0].finishReason !== undefined)).toEqual([last]);
      }),
      RUNS,
    );
  });

  test("however the text of a part is cut, the answer is the same", () => {
    fc.assert(
      fc.property(events, (told) => {
        expect(partsOf(plainOf(apart(told)))).toEqual(partsOf(plainOf(told)));
      }),
      RUNS,
    );
  });

  test("wherever a stream breaks, it is told by an error, last and once, and never looks whole", () => {
    fc.assert(
      fc.property(events, fc.nat(), (told, at) => {
        const chunks = chunksOf(streamed(told.slice(0, at % told.length), true));
        expect(chunks.filter(({ error }) => error !== undefined)).toEqual([chunks.at(-1)]);
        expect(JSON.stringify(chunks)).not.toContain("finishReason");
      }),
      RUNS,
    );
  });

  test("it comes back with the next request, signatures and order and all", () => {
    const round = fc
      .uniqueArray(anyPart, { minLength: 1, maxLength: 7 })
      .map((parts) => parts.filter((one) => !isSilent(one)))
      .filter((parts) => parts.length > 0);
    fc.assert(
      fc.property(round, (parts) => {
        const told = [start, ...parts.flatMap((one, i) => part(i, one)), finish("stop")];
        const { content } = plainOf(told).candidates[0];
        const calls: Json[] = content.parts.flatMap(({ functionCall }: Json) => functionCall ?? []);
        const results = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: {} } }));
        const contents = [
          { role: "user", parts: [{ text: "hi" }] },
          content,
          { role: "user", parts: [...results, { text: "go on" }] },
        ];
        const address = { model: "v/m", stream: false };
        const wire = wireRequest({ contents }, { address, carrier: KEY });
        const { chat, warnings } = generateContentServer.decodeRequest(generateContent.readRequest(wire));
        expect(warnings).toEqual([]);
        expect(textsJoined(chat.turns[1]?.parts ?? [])).toEqual(textsJoined(parts.map(partOf)));
      }),
      RUNS,
    );
  });
});

function isSilent({ begun, deltas = [], signature }: Said): boolean {
  const canBe = begun.type === "text" || begun.type === "thinking";
  return canBe && deltas.join("") === "" && signature === undefined;
}

/** An answer's part as the next request has it. */
function partOf({ begun, deltas = [], signature }: Said): Part {
  const text = deltas.join("");
  const by = signature === undefined ? {} : { signature };
  switch (begun.type) {
    case "text":
      return { type: "text", text };
    case "thinking":
      return { ...begun, text, ...by };
    case "tool_call":
      return { ...begun, input: text === "" ? "{}" : text, ...by };
    default:
      return begun as Part;
  }
}

/** The format has no end of a text: one behind another is more of it. The input of a call is a value there. */
function textsJoined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const one of parts) {
    const last = all.at(-1);
    if (one.type === "tool_call") all.push({ ...one, input: JSON.stringify(JSON.parse(one.input)) });
    else if (one.type === "text" && last?.type === "text")
      all[all.length - 1] = { ...last, text: last.text + one.text };
    else all.push(one);
  }
  return all;
}
