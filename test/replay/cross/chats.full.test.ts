import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { geminiPlain } from "../../upstream/gemini-bytes.ts";
import { messageAnswer } from "../../upstream/messages-bytes.ts";
import { recordingsFor } from "../../upstream/recordings.ts";
import { selectCases } from "../cases.ts";
import type { Json } from "../wire-json.ts";
import { type Cross, startCross } from "./cross-gateway.ts";
import type { Meaning } from "./meaning.ts";
import { meaningOfChat } from "./meaning-of-chat.ts";
import { meaningOfGemini } from "./meaning-of-gemini.ts";
import { meaningOfMessages } from "./meaning-of-messages.ts";
import { TARGETS, type Target } from "./wanted.ts";

// Every request that any vendor of chat completions was recorded with, sent to models of other wires. A strict provider
// takes it, with the same turns, calls, results, media, tools and choice. Or we say which field cannot be had.

const available = recordingsFor("recorded chats");

const chats = available
  ? selectCases("chat-completions").cases.filter(({ ownRefusal }) => ownRefusal === undefined)
  : [];
const outcomes = new Map<string, number>();
let cross: Cross;

describe.skipIf(!available)("recorded chats of all vendors", () => {
  beforeAll(async () => {
    cross = await startCross();
  });
  afterAll(async () => {
    const lines = [...outcomes].map(([name, times]) => `  ${name}: ${times}`).toSorted(byText);
    console.log(
      ["", `Recorded chats of all vendors (${chats.length}) sent to other wires:`, ...lines].join("\n"),
    );
    await cross.close();
  });

  for (const { recording, body } of chats) {
    for (const target of TARGETS)
      test(`${recording.path} to ${target.id}`, async () => {
        cross.answers(target.vendor === "claude" ? messageAnswer() : geminiPlain());
        const { stream: _, stream_options: __, ...plain } = body;
        const response = await cross.gateway.chat({ ...plain, model: target.id });
        const answer: Json = await response.json();
        const field = refusedField(body, target);
        count(`${target.vendor}: ${field === undefined ? "the same" : `400, ${field}`}`);
        if (field === undefined) {
          expect({ status: response.status, error: answer.error }).toEqual({ status: 200, error: undefined });
          const sent: Json = cross.received().json();
          const read = target.vendor === "claude" ? meaningOfMessages : meaningOfGemini;
          expect(gistOf(read(sent))).toEqual(gistOf(meaningOfChat(body)));
        } else {
          expect([response.status, answer.error.type]).toEqual([400, "invalid_request_error"]);
          expect(answer.error.message).toContain(field);
          expect(cross.double.requests).toEqual([]);
        }
      });
  }
});

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function count(name: string): void {
  outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
}

/** The field that no other wire, or not this one, has a place for. */
function refusedField({ messages, n = 1, audio, functions }: Json, { vendor }: Target): string | undefined {
  const parts: Json[] = messages.flatMap(({ content }: Json) => (Array.isArray(content) ? content : []));
  const has = (type: RegExp): boolean => parts.some((part) => type.test(part.type));
  if (audio !== undefined) return "audio";
  if (functions !== undefined) return "functions";
  // A vendor's own kind of part.
  if (has(/^document_url$/)) return "type must be one of";
  if (messages.every(({ content, tool_calls: calls }: Json) => content === "" && calls === undefined))
    return "messages must have one that is not empty";
  if (vendor === "gemini") return undefined;
  if (n > 1) return "n must be 1";
  if (has(/^(input_audio|audio_url)$/)) return "input_audio";
  return has(/^video_url$/) ? "video_url" : undefined;
}

/** What must never differ: who said what, which tools there are, and whether they must be called. */
function gistOf({ system, turns, tools, choice, form }: Meaning): Json {
  const texts = (items: Meaning["system"]): Json[] => items.map(({ is, text }) => [is, text?.trimEnd()]);
  return {
    // An instruction of ours stands where a wire has no word for any JSON at all.
    system: texts(system).filter(
      ([, text]: Json) => text?.startsWith("Answer with one valid JSON object") !== true,
    ),
    turns: turns.map(({ role, items }) => ({
      role,
      items: items.map(({ is, text, name, args, of, value, data, url }) => {
        if (is === "text") return [is, text.trimEnd()];
        return is === "call" ? [is, name, args] : is === "result" ? [is, of, value] : [is, data ?? url];
      }),
    })),
    tools: tools.map(({ name, description }) => [name, description]),
    choice: choice === "auto" ? undefined : choice,
    form: form?.schema === undefined ? undefined : "schema",
  };
}
