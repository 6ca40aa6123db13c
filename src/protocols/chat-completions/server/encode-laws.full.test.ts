import {
  answer,
  dataOf,
  encodeStream,
  finish,
  head,
  type Json,
  messageOf,
  part,
  plainOf,
  type Said,
  start,
  USAGE,
} from "../../../../test/protocols/chat-events.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
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
import type { ChatEvent } from "../../../core/chat.ts";
import { readRequest } from "../request.ts";
import { chatCompletionsServer } from "./index.ts";

const RUNS = runsOf(150, 5_000);

describe("laws", () => {
  const issuer = fc.constantFrom("anthropic" as const, "google" as const);
  const anyPart: fc.Arbitrary<Said> = fc.oneof(
    said(fc.constant({ type: "text" }), words, unsigned),
    said(
      issuer.map((by) => ({ type: "thinking", issuer: by })),
      words,
      signed,
    ),
    said(
      base64.map((data) => ({ type: "redacted_thinking", data, issuer: "anthropic" })),
      none,
      unsigned,
    ),
    said(
      fc.uuid().map((id) => ({ type: "tool_call", id, name: "f" })),
      input,
      signed,
    ),
    said(
      base64.map((data) => ({ type: "image", mediaType: "image/png", data })),
      none,
      signed,
    ),
  );
  /** Legal events of one to three choices, whose parts mix. */
  const events: fc.Arbitrary<ChatEvent[]> = fc
    .tuple(
      fc.array(fc.tuple(fc.array(anyPart, { maxLength: 5 }), reason), { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.nat()),
    )
    .map(([choices, picks]) => {
      const queues = choices.map(([parts, end], choice) => [
        ...parts.flatMap((one, i) => part(i, one, choice)),
        finish(end, choice),
      ]);
      const mixed: ChatEvent[] = [start];
      while (queues.some((queue) => queue.length > 0)) {
        const open = queues.filter((queue) => queue.length > 0);
        const queue = open[(picks.next().value ?? 0) % open.length];
        const next = queue?.shift();
        if (next !== undefined) mixed.push(next);
      }
      return mixed;
    });

  /** Joins chunks as the strictest of the official clients do; throws where one of them would. */
  function read(data: readonly Json[]): Json[] {
    const choices: Json[] = [];
    expect(data.at(-1)).toBe("[DONE]");
    for (const chunk of data.slice(0, -1)) {
      expect(chunk).toMatchObject(head);
      expect(Array.isArray(chunk.choices)).toBe(true);
      for (const { index, delta, finish_reason: reason } of chunk.choices) {
        choices[index] ??= { index, message: { content: "" }, finish_reason: null };
        const choice = choices[index];
        expect(choice.finish_reason).toBeNull();
        choice.finish_reason = reason;
        for (const [name, value] of Object.entries<Json>(delta)) {
          if (name === "tool_calls") value.forEach((call: Json) => readFragment(choice.message, call));
          else if (name === "content" || name === "reasoning_content" || name === "refusal")
            choice.message[name] = (choice.message[name] ?? "") + value;
          else {
            // One that came before would be overwritten by one client, and make another throw.
            expect(choice.message[name]).toBeUndefined();
            choice.message[name] = value;
          }
        }
      }
    }
    for (const choice of choices) expect(choice.message.role).toBe("assistant");
    return choices;
  }

  function readFragment(message: Json, { index, function: called, ...more }: Json): void {
    message.tool_calls ??= [];
    expect(index).toBeLessThanOrEqual(message.tool_calls.length);
    const known = message.tool_calls[index];
    if (known === undefined) {
      expect(more).toMatchObject({ id: expect.any(String), type: "function" });
      message.tool_calls[index] = { ...more, function: { ...called } };
      return;
    }
    // A signature that came late is all that may come late, once.
    expect(Object.keys(more).filter((name) => name !== "extra_content" || "extra_content" in known)).toEqual(
      [],
    );
    Object.assign(known, more);
    expect(Object.keys(called)).toEqual(["arguments"]);
    known.function.arguments += called.arguments;
  }

  /** What a stream cannot tell from a plain answer: no text, and a text of nothing. */
  const normal = (choices: readonly Json[]): Json[] =>
    choices.map(({ index, message, finish_reason }) => ({
      index,
      finish_reason,
      message: { ...message, content: message.content || null, refusal: message.refusal || null },
    }));

  test("a stream read back is the plain answer", () => {
    fc.assert(
      fc.property(events, (said) => {
        const data = dataOf(encodeStream(said));
        expect(normal(read(data))).toEqual(normal(plainOf(said).choices));
      }),
      RUNS,
    );
  });

  test("the official helper reads the same", async () => {
    await fc.assert(
      fc.asyncProperty(events, async (said) => {
        const lines = dataOf(encodeStream(said))
          .filter((chunk) => chunk !== "[DONE]")
          .map((chunk) => `${JSON.stringify(chunk)}\n`);
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const writer = writable.getWriter();
        const written = writer.write(new TextEncoder().encode(lines.join(""))).then(() => writer.close());
        const stream = ChatCompletionStream.fromReadableStream(readable as Json);
        const [completion] = await Promise.all([stream.finalChatCompletion(), written]);
        const plain = plainOf(said);
        // Of fields that it does not know this client keeps the last piece.
        const known = (choices: Json[]) =>
          normal(choices).map((choice) => {
            delete choice.message.reasoning_content;
            delete choice.message.parsed;
            return choice;
          });
        expect(known(JSON.parse(JSON.stringify(completion.choices)))).toEqual(known(plain.choices));
        expect(completion.usage as Json).toEqual(USAGE);
        expect(completion).toHaveProperty("credit", 1.5);
      }),
      { ...RUNS, numRuns: Math.min(RUNS.numRuns, 500) },
    );
  });

  test("however the text of a part is cut, the answer is the same", () => {
    fc.assert(
      fc.property(events, (said) => {
        expect(plainOf(apart(said))).toEqual(plainOf(said));
        expect(normal(read(dataOf(encodeStream(apart(said)))))).toEqual(normal(plainOf(said).choices));
      }),
      RUNS,
    );
  });

  test("wherever a stream breaks, no choice that was open looks whole, and every client is told", () => {
    fc.assert(
      fc.property(events, fc.nat(), (said, at) => {
        const cut = said.slice(0, at % said.length);
        const data = dataOf(encodeStream(cut, "broken"));
        const ended = new Set(cut.flatMap((event) => (event.type === "finish" ? [event.choice] : [])));
        const ends = data
          .flatMap((chunk) => chunk.choices ?? [])
          .filter((choice: Json) => choice.finish_reason);
        for (const { index, finish_reason: word } of ends) if (!ended.has(index)) expect(word).toBe("error");
        expect(ends.some((choice: Json) => choice.finish_reason === "error")).toBe(true);
        expect(data.at(-2)).toHaveProperty("error.message", "It broke.");
        expect(data.at(-1)).toBe("[DONE]");
      }),
      RUNS,
    );
  });

  test("what an answer says comes back with the next request, signatures and order and all", () => {
    const round = fc
      .array(anyPart, { minLength: 1, maxLength: 7 })
      .map((parts) => parts.filter((one) => !isEmpty(one)))
      .filter((parts) => parts.length > 0);
    fc.assert(
      fc.property(round, (parts) => {
        const ordered = inWireOrder(parts);
        const message = messageOf([...answer(...ordered), finish("stop")]);
        const results = (message.tool_calls ?? []).map(({ id }: Json) => ({
          role: "tool",
          tool_call_id: id,
          content: "x",
        }));
        const messages = [{ role: "user", content: "hi" }, message, ...results];
        const wire = wireRequest({ model: "v/m", messages });
        const { chat, warnings } = chatCompletionsServer.decodeRequest(readRequest(wire));
        expect(warnings).toEqual([]);
        // Where the request has an image was not said by the answer.
        const said = chat.turns[1]?.parts.map(({ at: _at, ...part }: Json) => part);
        expect(said as Json).toEqual(ordered.map(partOf));
      }),
      RUNS,
    );
  });

  /** Whether a part says nothing, so that nothing comes back of it. */
  function isEmpty({ begun, deltas = [], signature }: Said): boolean {
    const silent = begun.type === "text" || begun.type === "thinking";
    return silent && deltas.join("") === "" && signature === undefined;
  }

  /**
   * The interface has text, images and calls in this order, and reasoning anywhere between; texts with nothing
   * between them are one.
   */
  function inWireOrder(parts: readonly Said[]): Said[] {
    const rank = new Map([
      ["text", 0],
      ["image", 1],
      ["tool_call", 2],
    ]);
    const rankOf = ({ begun }: Said): number | undefined => rank.get(begun.type);
    const rest = parts
      .filter((one) => rankOf(one) !== undefined)
      .sort((a, b) => (rankOf(a) ?? 0) - (rankOf(b) ?? 0));
    const ordered = parts.map((one) => (rankOf(one) === undefined ? one : (rest.shift() ?? one)));
    return ordered.filter((one, i) => one.begun.type !== "text" || ordered[i - 1]?.begun.type !== "text");
  }

  function partOf({ begun, deltas = [], signature }: Said): object {
    const signed = signature === undefined ? {} : { signature };
    const whole = deltas.join("");
    switch (begun.type) {
      case "text":
      case "refusal":
        return { type: "text", text: whole, ...signed };
      case "thinking":
        return { ...begun, text: whole, ...signed };
      case "redacted_thinking":
        return begun;
      case "tool_call":
        return { ...begun, input: whole === "" ? "{}" : whole, ...signed };
      case "image":
        return {
          type: "image",
          source: { kind: "data", mediaType: begun.mediaType, data: begun.data },
          ...signed,
        };
    }
  }
});
