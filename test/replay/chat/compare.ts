import { expect } from "bun:test";
import { sseData } from "../../upstream/sse-bytes.ts";
import {
  eventsOf,
  type Folded,
  type FoldedChoice,
  foldReceived,
  foldReceivedPlain,
  foldRecorded,
} from "./fold.ts";
import { tokensOf } from "./tokens.ts";
import { COMPACT, type Json, textOf, writeObject } from "../wire-json.ts";

/** The bytes of a native stream: each event with our model id and without padding, then the usage and the credit. */
export function nativeStreamText(
  recorded: string,
  modelId: string,
  padding: readonly string[],
): WantedStream {
  let body = "";
  let usageChunk: Json;
  for (const data of sseData(recorded)) {
    if (data === "[DONE]") continue;
    const chunk = JSON.parse(data);
    // The expected bytes are made by JSON.stringify: that is only right where the vendor writes like it.
    expect(JSON.stringify(chunk)).toBe(data);
    chunk.model = modelId;
    for (const name of padding) delete chunk[name];
    if (chunk.choices.length === 0 && chunk.usage) usageChunk = chunk;
    else body += event(chunk);
  }
  return { body, tail: (credit) => (usageChunk === undefined ? undefined : tailText(usageChunk, credit)) };
}

/** What a client gets of a native stream: chunks, and the tail where upstream told its usage. */
export interface WantedStream {
  readonly body: string;
  tail(credit: string): string | undefined;
}

function tailText(usageChunk: Json, credit: string): string {
  const { id, object, created, model, usage } = usageChunk;
  const last = JSON.stringify({ id, object, created, model, choices: [], usage });
  return `${event(usageChunk)}data: ${last.slice(0, -1)},"credit":${credit}}\n\ndata: [DONE]\n\n`;
}

function event(chunk: Json): string {
  return `data: ${writeFlat(chunk)}\n\n`;
}

function writeFlat(chunk: Json): string {
  return textOf(writeObject(chunk, COMPACT));
}

/** Compares what a plain answer says with what was recorded. */
export function expectSamePlain(recorded: Json, answer: Json, padding: readonly string[]): Folded {
  const wanted = foldRecorded(recorded, padding);
  expectSame(wanted, foldReceivedPlain(answer));
  return wanted;
}

/** Compares what a stream says with what was recorded; the credit chunk is only ours. */
export function expectSameStream(recorded: string, text: string, padding: readonly string[]): Folded {
  const wanted = foldRecorded(recorded, padding);
  const received = foldReceived(eventsOf(text).filter((chunk) => chunk.credit === undefined));
  expectSame(wanted, received);
  expect(commentsOf(text)).toEqual(commentsOf(recorded));
  return wanted;
}

function commentsOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/).filter((line) => line.startsWith(":") && line !== ": keep-alive");
}

function expectSame(wanted: Folded, received: Folded): void {
  expect(Object.keys(received.choices)).toEqual(Object.keys(wanted.choices));
  for (const [index, choice] of Object.entries(wanted.choices)) {
    expect(comparable(received.choices[Number(index)] as FoldedChoice, choice)).toEqual(
      comparable(choice, choice),
    );
  }
  const { id, created, ...others } = received.others;
  expect(withoutRepeats(others)).toEqual(withoutRepeats({ ...wanted.others, id: [], created: [] }));
  // Chunks that only the gateway adds repeat the first of these.
  for (const value of id ?? []) expect(wanted.others.id).toContain(value);
  for (const value of created ?? []) expect(wanted.others.created).toContain(value);
}

/** A choice as it is compared: a call that came without an id may have any. */
function comparable(choice: FoldedChoice, wanted: FoldedChoice): Json {
  const finish = wanted.finish === null ? {} : { finish: choice.finish };
  return {
    texts: choice.texts,
    functionCall: choice.functionCall,
    parts: choice.parts,
    others: choice.others,
    ...finish,
    calls: choice.calls.map((call, i) => {
      if (wanted.calls[i]?.id !== "") return call;
      if (choice !== wanted) expect(call.id).not.toBe("");
      return { ...call, id: "" };
    }),
  };
}

/** Members that stand in every chunk may stand in one more or less. */
function withoutRepeats(others: Readonly<Record<string, Json[]>>): Json {
  const some = Object.entries(others).filter(([, values]) => values.length > 0);
  const distinct = some.map(([name, values]) => [
    name,
    values.filter((value, i) => i === 0 || JSON.stringify(value) !== JSON.stringify(values[i - 1])),
  ]);
  return Object.fromEntries(distinct);
}

/** The usage a client reads: what was recorded where it adds up, else totals that do and agree with the charge. */
export function expectShownUsage(recorded: Json, shown: Json): void {
  const { tokens, flags } = tokensOf(recorded);
  const input =
    tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.audio_input + tokens.image_input;
  const output = tokens.output + tokens.reasoning + tokens.audio_output + tokens.image_output;
  expect({
    prompt_tokens: shown.prompt_tokens,
    completion_tokens: shown.completion_tokens,
    total_tokens: shown.total_tokens,
  }).toEqual({ prompt_tokens: input, completion_tokens: output, total_tokens: input + output });
  const asRecorded =
    flags === undefined && recorded.total_tokens === recorded.prompt_tokens + recorded.completion_tokens;
  if (asRecorded) expect(shown).toEqual(recorded);
}
