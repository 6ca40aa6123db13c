import { expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../../test/protocols/answer-context.ts";
import { type FoldedChoice, foldEvents } from "../../../../test/protocols/folded-events.ts";
import { chatOf, FLASH, IMAGE, sentToGemini } from "../../../../test/protocols/gemini-sent.ts";
import { streamedEvents } from "../../../../test/protocols/streamed-events.ts";
import { seededRandom } from "../../../../test/upstream/cuts.ts";
import {
  loadRecordings,
  recordedBytes,
  type Recording,
  recordingsAvailable,
} from "../../../../test/upstream/recordings.ts";
import type { ChatEvent, Part } from "../../../core/chat.ts";
import type { AnswerContext } from "../../protocol.ts";
import { readAnswer } from "../answer.ts";
import { generateContentClient } from "./index.ts";
import { decodeAnswer } from "./decode-answer.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const CONTEXT: AnswerContext = { ...ANSWER_CONTEXT, model: "google/gemini-3.8-flash", expectedInput: 9 };
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Recorded answers with candidates, as the chunks they came in: one for those that came whole. */
function recordedAnswers(): { readonly recording: Recording; readonly chunks: readonly Json[] }[] {
  const all = [
    ...loadRecordings("generate-content"),
    ...loadRecordings("cross-protocol").filter(({ provider }) => provider === "google"),
  ];
  return all.flatMap((recording) => {
    if (recording.response.status !== 200) return [];
    const body = recordedBytes(recording.response.body);
    const text = typeof body === "string" ? body : decoder.decode(body);
    const lines = text.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    const chunks: Json[] = lines.length > 0 ? lines.map((line) => JSON.parse(line.slice(5))) : [read(text)];
    return chunks.some((chunk) => chunk?.candidates?.length > 0) ? [{ recording, chunks }] : [];
  });
}

function read(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The events of the chunks; `undefined` where the reader finds that the recording is cut. */
function streamed(chunks: readonly Json[], size?: () => number): readonly ChatEvent[] | undefined {
  const from = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  return streamedEvents(generateContentClient, encoder.encode(from), CONTEXT, size);
}

/** The same answer as if it had come whole, through the relay and the decoder. */
function whole(chunks: readonly Json[]): readonly ChatEvent[] {
  const candidates = new Map<number, Json>();
  for (const candidate of chunks.flatMap((chunk) => chunk.candidates ?? [])) {
    const index = candidate.index ?? 0;
    const known = candidates.get(index);
    const parts = [...(known?.content.parts ?? []), ...(candidate.content?.parts ?? [])];
    candidates.set(index, { ...known, ...candidate, content: { role: "model", parts } });
  }
  const answer = { ...chunks.at(-1), ...chunks[0], candidates: [...candidates.values()] };
  const relayed = readAnswer(encoder.encode(JSON.stringify(answer)), CONTEXT).encode(0n);
  return decodeAnswer(JSON.parse(decoder.decode(relayed)));
}

const partsOf = (chunks: readonly Json[]): Json[] =>
  chunks.flatMap((chunk) => chunk.candidates ?? []).flatMap(({ content }: Json) => content?.parts ?? []);

test.skipIf(!recordingsAvailable())(
  "recorded answers say the same streamed and whole, however they are cut",
  () => {
    let held = 0;
    for (const { recording, chunks } of recordedAnswers()) {
      const told = whole(chunks);
      // One chunk for each part: what came whole, too, could have been streamed.
      const cut = chunks.flatMap((chunk: Json) =>
        chunk.candidates?.length === 1 && chunk.candidates[0].content?.parts?.length > 1
          ? split(chunk)
          : [chunk],
      );
      for (const form of [chunks, cut]) {
        const events = streamed(form);
        if (events === undefined) continue;
        held += 1;
        expect([recording.path, foldEvents(events)]).toEqual([recording.path, foldEvents(told)]);
        const random = seededRandom(held);
        expect(streamed(form, () => 1 + Math.floor(random() * 300))).toEqual([...events]);
      }
    }
    expect(held).toBeGreaterThan(300);
  },
);

function split(chunk: Json): Json[] {
  const [candidate] = chunk.candidates;
  const { parts } = candidate.content;
  return parts.map((part: Json, i: number) => {
    const content = { role: "model", parts: [part] };
    const last = Object.assign({}, candidate, { content });
    const piece = i === parts.length - 1 ? last : { index: candidate.index, content };
    return Object.assign({}, chunk, { candidates: [piece] });
  });
}

test.skipIf(!recordingsAvailable())(
  "of a recorded answer all text, thoughts, calls and signatures are told",
  () => {
    let signed = 0;
    for (const { recording, chunks } of recordedAnswers()) {
      const parts = partsOf(chunks);
      const { choices } = foldEvents(whole(chunks));
      const told = [...choices.values()].flatMap((choice) => choice.parts);
      const textOf = (type: string) =>
        told.flatMap(({ part, text }) => (part.type === type ? [text] : [])).join("");
      const written = (thought: boolean) =>
        parts
          .filter((part) => (part.thought ?? false) === thought)
          .map(({ text }) => text ?? "")
          .join("");
      const ran = parts.some((part) => part.executableCode !== undefined);
      expect([recording.path, textOf("thinking")]).toEqual([recording.path, written(true)]);
      if (!ran) expect([recording.path, textOf("text")]).toEqual([recording.path, written(false)]);
      const calls = parts.flatMap(({ functionCall, thoughtSignature }) =>
        functionCall === undefined
          ? []
          : [[functionCall.name, functionCall.args ?? {}, thoughtSignature] as const],
      );
      const toldCalls = told.flatMap(({ part, text, signature }) =>
        part.type === "tool_call" ? [[part.name, JSON.parse(text), signature] as const] : [],
      );
      expect([recording.path, toldCalls]).toEqual([recording.path, calls as never]);
      const signatures = ownSignatures(parts);
      signed += signatures.length;
      expect([recording.path, told.flatMap(({ signature }) => signature ?? [])]).toEqual([
        recording.path,
        signatures,
      ]);
    }
    expect(signed).toBeGreaterThan(70);
  },
);

/** Signatures of parts that a chat has a place for; a search that the provider ran itself is not one. */
function ownSignatures(parts: readonly Json[]): string[] {
  return parts
    .filter((part) => part.toolCall === undefined && part.toolResponse === undefined)
    .flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
}

function sorted(texts: readonly string[]): string[] {
  return texts.toSorted((a, b) => (a < b ? -1 : 1));
}

/** The answer as a turn: its parts in their order. */
function inOrder({ parts }: FoldedChoice): Part[] {
  return parts.map(({ part, text, signature }): Part => {
    const signed = signature === undefined ? {} : { signature };
    switch (part.type) {
      case "text":
        return { type: "text", text };
      case "thinking":
        return { ...part, text, ...signed };
      case "tool_call":
        return { type: "tool_call", id: part.id, name: part.name, input: text, ...signed };
      case "image": {
        const { mediaType, data } = part;
        return { type: "image", source: { kind: "data", mediaType, data }, ...signed };
      }
      case "redacted_thinking":
      case "refusal":
        throw new Error("This format has no such part.");
    }
  });
}

/** The same as a chat message has it: thinking first, one text, images, calls. */
function byKind(choice: FoldedChoice): Part[] {
  const parts = inOrder(choice);
  const of = (type: Part["type"]): Part[] => parts.filter((part) => part.type === type);
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const said: readonly Part[] = text === "" ? [] : [{ type: "text", text }];
  return [...of("thinking"), ...said, ...of("image"), ...of("tool_call")];
}

test.skipIf(!recordingsAvailable())(
  "a recorded answer goes back with each signature on the part it came with",
  () => {
    let back = 0;
    for (const { recording, chunks } of recordedAnswers()) {
      const parts = partsOf(chunks);
      const signatures = ownSignatures(parts);
      const [choice] = foldEvents(whole(chunks)).choices.values();
      if (signatures.length === 0 || choice === undefined) continue;
      back += 1;
      const ordered = inOrder(choice);
      for (const turn of [ordered, byKind(choice)]) {
        const results = turn.flatMap((part): Part[] =>
          part.type === "tool_call"
            ? [
                {
                  type: "tool_result",
                  callId: part.id,
                  parts: [{ type: "text", text: "ok" }],
                  isError: false,
                },
              ]
            : [],
        );
        const ask = { role: "user", parts: [{ type: "text", text: "hi" }] } as const;
        const { body, warnings } = sentToGemini(
          chatOf([ask, { role: "assistant", parts: turn }, { role: "tool", parts: results }, ask]),
          recording.model.includes("image") ? IMAGE : FLASH,
        );
        const sent: readonly Json[] = body.contents[1].parts;
        expect([recording.path, warnings]).toEqual([recording.path, []]);
        const sentSignatures = sent.flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
        expect([recording.path, sorted(sentSignatures)]).toEqual([recording.path, sorted(signatures)]);
        for (const { functionCall, inlineData, thoughtSignature } of parts) {
          const data = functionCall ?? inlineData;
          if (data === undefined || thoughtSignature === undefined) continue;
          const same = sent.find((part) => part.thoughtSignature === thoughtSignature);
          expect(same.functionCall ?? same.inlineData).toMatchObject(data);
        }
        const signedText = parts.findLast(
          (part) => part.text !== undefined && part.thoughtSignature !== undefined,
        );
        const texts = sent.filter((part) => part.text !== undefined && part.text !== "");
        if (signedText === undefined || texts.length === 0) continue;
        const carrier = sent.find((part) => part.thoughtSignature === signedText.thoughtSignature);
        // A chat has one text for all there was; in order the piece that was signed is told from the others.
        if (turn !== ordered) expect([recording.path, carrier]).toEqual([recording.path, texts.at(-1)]);
        else if (signedText.text !== "") expect(carrier.text).toEndWith(signedText.text);
      }
    }
    expect(back).toBeGreaterThan(50);
  },
);
