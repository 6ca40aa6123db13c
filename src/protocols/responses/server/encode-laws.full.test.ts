import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ResponseStream } from "openai/lib/responses/ResponseStream";
import { finish, type Json, part, type Said, start } from "../../../../test/protocols/chat-events.ts";
import { eventsIn, KEY, responseStream, wholeResponse } from "../../../../test/protocols/response-events.ts";
import {
  apart,
  base64,
  input,
  none,
  reason,
  said,
  signed,
  words,
} from "../../../../test/protocols/made-answers.ts";
import { runsOf } from "../../../../test/runs.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { decodeRequest } from "./decode-request.ts";

const RUNS = runsOf(150, 5_000);
const BROKEN = new GatewayError("upstream_error", "It broke.");

const anyPart: fc.Arbitrary<Said> = fc.oneof(
  said(fc.constant({ type: "text" }), words, signed),
  said(
    fc.constantFrom("anthropic", "google").map((issuer) => ({ type: "thinking", issuer })),
    words,
    signed,
  ),
  said(
    base64.map((data) => ({ type: "redacted_thinking", data, issuer: "anthropic" })),
    none,
    fc.constant(undefined),
  ),
  said(
    fc.uuid().map((id) => ({ type: "tool_call", id, name: "f" })),
    input,
    signed,
  ),
  said(
    fc.uuid().map((id) => ({ type: "tool_call", id, name: "c", custom: true })),
    words,
    signed,
  ),
  said(
    base64.map((data) => ({ type: "image", mediaType: "image/png", data })),
    none,
    signed,
  ),
);
const parts = fc.array(anyPart, { maxLength: 6 });
const events: fc.Arbitrary<ChatEvent[]> = fc
  .tuple(parts, reason)
  .map(([list, end]) => [[start], ...list.map((one, i) => part(i, one)), [finish(end)]].flat());

const TERMINAL = /^response\.(completed|incomplete|failed)$/;

/** Folds events as the strictest clients do, one item open at a time; throws where one of them would. */
function fold(seen: readonly Json[]): Json[] {
  const items: Json[] = [];
  let open: Json;
  expect(seen.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
  for (const event of seen.slice(2)) {
    const { type } = event;
    if (type === "error" || TERMINAL.test(type)) continue;
    expect(event.output_index).toBe(items.length);
    if (type === "response.output_item.added") {
      expect(open).toBeUndefined();
      open = structuredClone(event.item);
      expect(open.status ?? "in_progress").toBe("in_progress");
      expect(open).not.toHaveProperty("encrypted_content");
    } else if (type === "response.output_item.done") {
      expect(event.item.id).toBe(open.id);
      // What was streamed of it is what it says at its end.
      for (const name of ["content", "summary", "arguments", "input"])
        if (open[name] !== undefined) expect(open[name]).toEqual(event.item[name]);
      items.push(event.item);
      open = undefined;
    } else {
      expect(event.item_id).toBe(open.id);
      foldInto(open, event);
    }
  }
  return items;
}

function foldInto(item: Json, event: Json): void {
  const { type, delta } = event;
  const content = item.content?.[event.content_index];
  const summary = item.summary?.[event.summary_index];
  switch (type.slice("response.".length)) {
    case "content_part.added":
      expect(event.content_index).toBe(item.content.length);
      return void item.content.push(structuredClone(event.part));
    case "content_part.done":
      return expect(content).toEqual(event.part);
    case "output_text.delta":
      return void (content.text += delta);
    case "output_text.done":
      return expect(content.text).toBe(event.text);
    case "reasoning_summary_part.added":
      return void item.summary.push(structuredClone(event.part));
    case "reasoning_summary_text.delta":
      return void (summary.text += delta);
    case "reasoning_summary_text.done":
      return expect(summary.text).toBe(event.text);
    case "reasoning_summary_part.done":
      return expect(summary).toEqual(event.part);
    case "function_call_arguments.delta":
      return void (item.arguments += delta);
    case "function_call_arguments.done":
      return expect({ arguments: item.arguments, name: item.name }).toEqual({
        arguments: event.arguments,
        name: event.name,
      });
    case "custom_tool_call_input.delta":
      return void (item.input += delta);
    case "custom_tool_call_input.done":
      return expect(item.input).toBe(event.input);
    default:
      throw new Error(`${type} is no event of an item.`);
  }
}

describe("laws", () => {
  test("a stream folded is its last event, and that is the plain answer", () => {
    fc.assert(
      fc.property(events, (list) => {
        const seen = eventsIn(responseStream(list));
        const { response } = seen.at(-1);
        expect(seen.filter(({ type }) => TERMINAL.test(type))).toHaveLength(1);
        expect(fold(seen)).toEqual(response.output);
        const { credit, ...rest } = response;
        expect(credit).toBe(12);
        expect(rest).toEqual(JSON.parse(JSON.stringify(wholeResponse(list))));
      }),
      RUNS,
    );
  });

  test("the official helper reads the same", async () => {
    await fc.assert(
      fc.asyncProperty(events, async (list) => {
        const seen = eventsIn(responseStream(list));
        const lines = seen.map((event) => `${JSON.stringify(event)}\n`).join("");
        const body = new Response(lines).body as Json;
        const stream = ResponseStream.fromReadableStream(body);
        const { output, status, output_parsed: _parsed } = (await stream.finalResponse()) as Json;
        const { response } = seen.at(-1);
        for (const item of output) {
          delete item.parsed_arguments;
          for (const one of item.content ?? []) delete one.parsed;
        }
        expect({ output, status }).toEqual({ output: response.output, status: response.status });
      }),
      { ...RUNS, numRuns: Math.min(RUNS.numRuns, 500) },
    );
  });

  test("however the text of a part is cut, the answer is the same", () => {
    fc.assert(
      fc.property(
        // A signature that comes behind more than one piece of a call can no longer stand before it.
        events.filter((list) => !list.some(({ type }) => type === "signature")),
        (list) => {
          expect(wholeResponse(apart(list))).toEqual(wholeResponse(list));
          expect(eventsIn(responseStream(apart(list))).at(-1).response.output).toEqual(
            wholeResponse(list).output,
          );
        },
      ),
      RUNS,
    );
  });

  test("wherever a stream breaks, it never looks whole, and every client is told", () => {
    fc.assert(
      fc.property(events, fc.nat(), (list, at) => {
        const seen = eventsIn(responseStream(list.slice(0, at % list.length), { broken: BROKEN }));
        const types = seen.map(({ type }) => type);
        expect(types.slice(-2)).toEqual(["error", "response.failed"]);
        expect(types.filter((type) => type === "response.completed")).toEqual([]);
        const { output } = seen.at(-1).response;
        const done = fold(seen);
        expect(output.slice(0, done.length)).toEqual(done);
        for (const item of output.slice(done.length)) expect(item.status).toBe("incomplete");
        expect(output.length - done.length).toBeLessThan(2);
      }),
      RUNS,
    );
  });

  test("what an answer says comes back with the next request, signatures and order and all", () => {
    fc.assert(
      fc.property(parts.map(merged), (list) => {
        const { output } = wholeResponse([start, ...list.flatMap((one, i) => part(i, one)), finish("stop")]);
        const results = output
          .filter((item: Json) => item.call_id !== undefined)
          .map((item: Json) => ({ type: `${item.type}_output`, call_id: item.call_id, output: "x" }));
        const asked = { type: "message", role: "user", content: "hi" };
        const body = { model: "v/m", input: [asked, ...output, ...results] };
        const { chat, warnings } = decodeRequest({ body, stream: false, carrier: KEY });
        expect(warnings).toEqual([]);
        // Where the request has an image was not said by the answer.
        const back = chat.turns[1]?.parts.map(({ at: _at, ...one }: Json) => one) ?? [];
        expect(back as Json).toEqual(list.map(partOf));
      }),
      RUNS,
    );
  });
});

/** Parts that say something, texts with nothing between them as one; Google's models sign what is no thinking. */
function merged(list: readonly Said[]): Said[] {
  const saying = list.filter(({ begun, deltas = [], signature }) => {
    const canBeSilent = begun.type === "text" || begun.type === "thinking";
    return !canBeSilent || deltas.join("") !== "" || (signature !== undefined && begun.type === "thinking");
  });
  const out: Said[] = [];
  for (const one of saying) {
    const before = out.at(-1);
    if (one.begun.type !== "text" || before?.begun.type !== "text" || before.signature !== undefined)
      out.push(one);
    else out[out.length - 1] = { ...one, deltas: [...(before.deltas ?? []), ...(one.deltas ?? [])] };
  }
  return out;
}

function partOf({ begun, deltas = [], signature }: Said): object {
  const sign = signature === undefined ? {} : { signature };
  const whole = deltas.join("");
  switch (begun.type) {
    case "text":
    case "refusal":
      return { type: "text", text: whole, ...sign };
    case "thinking":
      return { ...begun, text: whole, ...sign };
    case "redacted_thinking":
      return begun;
    case "tool_call":
      return { ...begun, input: whole === "" && begun.custom !== true ? "{}" : whole, ...sign };
    case "image":
      return { type: "image", source: { kind: "data", mediaType: "image/png", data: begun.data }, ...sign };
  }
}
