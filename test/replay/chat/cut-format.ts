import { chatCompletions } from "../../../src/protocols/chat-completions/index.ts";
import { type ChatStreamForm, chatStreamEvents } from "../../upstream/chat-bytes.ts";
import { sse, type SseData } from "../../upstream/sse-bytes.ts";
import type { CutFormat, SourceStream } from "../cut-format.ts";
import type { Json } from "../wire-json.ts";
import { eventsOf, foldReceived } from "./fold.ts";
import { breachesOf } from "./stream-rules.ts";

/** Streams of chat completions that are cut. */
export const chatCutFormat: CutFormat = {
  protocol: "chat-completions",
  stages: chatCompletions,
  ownStreams,
  choicesOf(text) {
    const indexes = eventsOf(text).flatMap((event) =>
      (event.choices ?? []).map((choice: Json) => choice.index ?? 0),
    );
    return Math.max(0, ...indexes) + 1;
  },
  contentOf,
  breachesOf: (text) => breachesOf(eventsOf(text)),
  looksBroken,
  creditOf: (text) => eventsOf(text).find((event) => event.credit !== undefined)?.credit,
  settings: (name) => ({
    protocol: "chat_completions",
    dialect: name.startsWith("native") ? "native" : "compatible",
    padding: ["obfuscation", "p"],
  }),
  request: (modelId, choices) => ({
    path: "/api/v1/chat/completions",
    body: {
      model: modelId,
      messages: [{ role: "user", content: "Say it." }],
      stream: true,
      n: choices,
      max_completion_tokens: 4_000,
    },
  }),
};

/** Every choice with all that its deltas brought, and its reason to end. */
function contentOf(text: string): Json {
  const { choices } = foldReceived(eventsOf(text).filter((event) => event.credit === undefined));
  const said = Object.entries(choices).map(([index, { texts, calls, functionCall, finish, parts }]) => {
    const some = Object.entries(parts).map(([name, values]) => [
      name,
      values.filter((value) => !isEmpty(value)),
    ]);
    return [index, { texts, calls, functionCall, finish, parts: Object.fromEntries(some) }];
  });
  return Object.fromEntries(said);
}

function isEmpty(value: Json): boolean {
  return value === null || value.length === 0;
}

/** The end of an answer that broke: a finish of `error`, then an event that is an error, then `[DONE]`. */
function looksBroken(text: string): boolean {
  const [finish, usage, credit, error, done] = eventsOf(text).slice(-5);
  return (
    finish?.choices?.[0]?.finish_reason === "error" &&
    usage?.choices?.length === 0 &&
    credit?.credit !== undefined &&
    typeof error?.error?.message === "string" &&
    done === "[DONE]"
  );
}

const USAGE = {
  prompt_tokens: 21,
  completion_tokens: 9,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 5 },
};

const CALLS = [
  { id: "call_a", name: "find", arguments: ['{"x"', ':"é\\u0021', '"}'] },
  { id: "call_b", name: "now", arguments: ["{}"] },
];

const OWN: readonly (readonly [string, ChatStreamForm])[] = [
  ["plain words", { words: ["One", " two", " three."], usage: USAGE }],
  ["two and three and four bytes to a character", { words: ["é", "ß中", "文 🎉", "🏳️‍🌈\u2028"], usage: USAGE }],
  ["thinking, words, two tool calls", { reasoning: ["Hm. ", "So."], words: ["Well"], toolCalls: CALLS }],
  ["a long word", { words: ["x".repeat(9_000)], usage: USAGE }],
  ["no usage", { usage: null }],
  ["CRLF, comments", { lineEnding: "\r\n", comment: " quiet", usage: USAGE }],
  ["CR, no space after the colon", { lineEnding: "\r", space: false, usage: USAGE }],
  ["a byte order mark, no blank line at the end", { byteOrderMark: true, lastBlankLine: false }],
  ["named events", { eventName: () => "message", usage: USAGE }],
];

function ownStreams(): readonly SourceStream[] {
  const streams = OWN.map(([name, form]) => ({ name, bytes: sse(chatStreamEvents(form), form) }));
  const made = [
    ...streams,
    { name: "two choices, interleaved", bytes: sse(twoChoices(true)) },
    { name: "two choices, one after the other", bytes: sse(twoChoices(false)) },
    { name: "pretty JSON over many data lines", bytes: sse(pretty()) },
  ];
  return made.flatMap(({ name, bytes }) =>
    [true, false].map((native) => ({
      name: `${name} (${native ? "native" : "compatible"})`,
      format: chatCutFormat,
      bytes,
      choices: name.startsWith("two choices") ? 2 : 1,
      native,
      padding: ["obfuscation"],
    })),
  );
}

function twoChoices(interleaved: boolean): SseData[] {
  const events = chatStreamEvents({ words: ["a", "b"], usage: USAGE }) as Json[];
  const [usage, done] = events.slice(-2);
  const first = events.slice(0, -2);
  const second = first.map((event) => ({ ...event, choices: [{ ...event.choices[0], index: 1 }] }));
  const both = interleaved ? first.flatMap((event, i) => [event, second[i]]) : [...first, ...second];
  return [...both, usage, done];
}

function pretty(): SseData[] {
  return chatStreamEvents({ words: ["a", " b"], usage: USAGE }).map((event) =>
    typeof event === "string" ? event : JSON.stringify(event, null, 2),
  );
}
