import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { foldRecorded, type FoldedChoice as RecordedChoice } from "../../../../test/replay/chat/fold.ts";
import { type FoldedChoice, foldEvents } from "../../../../test/protocols/folded-events.ts";
import { streamedEvents } from "../../../../test/protocols/streamed-events.ts";
import { seededRandom } from "../../../../test/upstream/cuts.ts";
import { loadRecordings, type Recording, recordingsAvailable } from "../../../../test/upstream/recordings.ts";
import type { ChatEvent } from "../../../core/chat.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import type { AnswerContext } from "../../protocol.ts";
import { chatCompletionsServer } from "../server/index.ts";
import { chatCompletionsClient } from "./index.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const encoder = new TextEncoder();

function contextOf({ provider }: Recording, choices: number): AnswerContext {
  return { ...ANSWER_CONTEXT, native: provider === "openai", choices, expectedInput: 9 };
}

/** Recorded answers that are good, each with what a tolerant reader makes of it. */
function recordedAnswers() {
  return [...loadRecordings("chat-completions"), ...loadRecordings("cross-protocol")].flatMap((recording) => {
    const { protocol, response } = recording;
    const body: Json = response.body;
    if (protocol !== "chat-completions" || response.status !== 200) return [];
    if (typeof body !== "string" && !Array.isArray(body?.choices)) return [];
    const folded = foldRecorded(body, []);
    const choices = Object.values(folded.choices);
    if (folded.error !== undefined || choices.length === 0) return [];
    return [{ recording, body, choices, context: contextOf(recording, choices.length) }];
  });
}

/** The events of an answer by the way that it came; `undefined` where the relay finds that it is not whole. */
function told(body: Json, context: AnswerContext, size?: () => number): readonly ChatEvent[] | undefined {
  if (typeof body === "string")
    return streamedEvents(chatCompletionsClient, encoder.encode(body), context, size);
  return wholeEvents(body, context);
}

function wholeEvents(body: Json, context: AnswerContext): readonly ChatEvent[] | undefined {
  const bytes = encoder.encode(JSON.stringify(body));
  const answer = chatCompletionsClient.protocol.readAnswer(bytes, context);
  return chatCompletionsClient.decodeAnswer(answer.said(), context);
}

/** The answer of a stream as if it had come whole. */
function whole(choices: readonly RecordedChoice[]): Json {
  return {
    id: "x",
    object: "chat.completion",
    choices: choices.map(({ texts, calls, parts, finish, functionCall }, index) => ({
      index,
      message: {
        role: "assistant",
        content: null,
        ...texts,
        ...Object.fromEntries(Object.entries(parts).map(([name, lists]) => [name, lists.flat()])),
        ...(functionCall.name === "" ? {} : { function_call: functionCall }),
        tool_calls: calls.map(({ id, type, name, arguments: text, others }) => ({
          id,
          type,
          [type]: { name, [type === "custom" ? "input" : "arguments"]: text },
          ...Object.fromEntries(Object.entries(others).map(([key, [value]]) => [key, value])),
        })),
      },
      finish_reason: finish,
    })),
  };
}

const textOf = ({ parts }: FoldedChoice, type: string): string =>
  parts.map(({ part, text }) => (part.type === type ? text : "")).join("");

/** What a choice says, however it is parted. Ids that a vendor did not send are ours. */
const meaning = (choice: FoldedChoice | undefined) =>
  choice && {
    text: textOf(choice, "text"),
    thinking: textOf(choice, "thinking"),
    refusal: textOf(choice, "refusal"),
    calls: choice.parts.flatMap(({ part, text, signature }) =>
      part.type === "tool_call" ? [[part.name, text === "" ? "{}" : text, signature]] : [],
    ),
    images: choice.parts.filter(({ part }) => part.type === "image").length,
    citations: choice.parts.flatMap(({ citations = [] }) => citations.map(({ url }) => url)),
    finish: choice.finish,
  };

/** The same by the tolerant reader. */
function recordedMeaning({ texts, calls, functionCall, parts, finish }: RecordedChoice): Json {
  const details: Json[] = (parts.reasoning_details ?? []).flat().filter(Boolean);
  const detailed = details.map(({ text, summary }) => text ?? summary ?? "").join("");
  const all = functionCall.name === "" ? calls : [...calls, { ...functionCall, others: {} }];
  return {
    text: texts.content ?? "",
    thinking: texts.reasoning_content ?? texts.reasoning ?? detailed,
    refusal: texts.refusal ?? "",
    calls: all.map(({ name, arguments: text, others }: Json) => [
      name,
      text === "" ? "{}" : text,
      others.extra_content?.[0]?.google?.thought_signature,
    ]),
    images: (parts.images ?? []).flat().filter(Boolean).length,
    citations: (parts.annotations ?? [])
      .flat()
      .filter(Boolean)
      .flatMap(({ url_citation: page }: Json) => page?.url ?? []),
    finish: finish === "function_call" ? "tool_calls" : finish,
  };
}

describe.skipIf(!recordingsAvailable())("recorded answers", () => {
  const table = new Map<string, { all: number; cut: number; streams: number }>();

  test("say in no format what they said: text, thinking, calls, refusals, images, pages and finish", () => {
    for (const { recording, body, choices, context } of recordedAnswers()) {
      const row = table.getOrInsertComputed(recording.provider, () => ({ all: 0, cut: 0, streams: 0 }));
      row.all += 1;
      if (typeof body === "string") row.streams += 1;
      const events = told(body, context);
      if (events === undefined) {
        row.cut += 1;
        continue;
      }
      const folded = foldEvents(events).choices;
      expect([recording.path, ...choices.map((_, i) => meaning(folded.get(i)))]).toEqual([
        recording.path,
        ...choices.map(recordedMeaning),
      ]);
    }
    console.table(Object.fromEntries(table));
    const sum = (name: "all" | "cut" | "streams"): number =>
      [...table.values()].reduce((total, row) => total + row[name], 0);
    expect(sum("all")).toBeGreaterThan(150);
    expect(sum("streams")).toBeGreaterThan(80);
    expect(sum("cut")).toBeLessThan(12);
  });

  test("say the same streamed and whole", () => {
    for (const { recording, body, choices, context } of recordedAnswers()) {
      const events = typeof body === "string" ? told(body, context) : undefined;
      if (events === undefined) continue;
      const plain = wholeEvents(whole(choices), context) ?? [];
      const [streamed, once] = [foldEvents(events).choices, foldEvents(plain).choices];
      expect([recording.path, ...choices.map((_, i) => meaning(streamed.get(i)))]).toEqual([
        recording.path,
        ...choices.map((_, i) => meaning(once.get(i))),
      ]);
    }
  });

  test("written again for clients of the format they hold the same", () => {
    for (const { recording, body, choices, context } of recordedAnswers()) {
      const events = told(body, context);
      if (events === undefined) continue;
      const again: Json = chatCompletionsServer.encodeAnswer(events, { usage: NO_USAGE, flags: [] }, context);
      const folded = Object.values(foldRecorded(again, []).choices);
      const bare = (choice: RecordedChoice) => {
        const { text, thinking, refusal, calls, images, finish } = recordedMeaning(choice);
        return { text, thinking, refusal, calls, images, finish };
      };
      expect([recording.path, ...folded.map(bare)]).toEqual([recording.path, ...choices.map(bare)]);
    }
  });

  test("any cut of the bytes gives the same events", () => {
    let streams = 0;
    for (const { recording, body, context } of recordedAnswers()) {
      if (typeof body !== "string" || body.length > 60_000) continue;
      const random = seededRandom((streams += 1));
      const events = told(body, context);
      const sizes = [() => 1 + Math.floor(random() * 300), ...(body.length < 6_000 ? [() => 1] : [])];
      for (const size of sizes)
        expect([recording.path, told(body, context, size)]).toEqual([recording.path, events]);
    }
    expect(streams).toBeGreaterThan(60);
  });
});
