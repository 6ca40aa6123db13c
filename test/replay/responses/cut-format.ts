import { responses } from "../../../src/protocols/responses/index.ts";
import { sse, type SseData, type SseOptions } from "../../upstream/sse-bytes.ts";
import type { CutFormat, SourceStream } from "../cut-format.ts";
import type { Json } from "../wire-json.ts";
import { LAST, responsesEvents } from "./events.ts";
import { breachesOf, looksBroken } from "./stream-rules.ts";

/** Streams of Responses that are cut. */
export const responsesCutFormat: CutFormat = {
  protocol: "responses",
  stages: responses,
  ownStreams,
  choicesOf: () => 1,
  saysSomething: (text) => responsesEvents(text).some(({ value }) => isSaid(value)),
  contentOf,
  breachesOf,
  looksBroken,
  creditOf: (text) => responsesEvents(text).at(-1)?.value.response?.credit,
  settings: () => ({ protocol: "responses", dialect: "native" }),
  request: (modelId) => ({
    path: "/api/v1/responses",
    body: { model: modelId, input: "Say it.", stream: true },
  }),
};

/** An item that has begun says nothing yet, and one that has ended may have nothing in it. */
function isSaid({ type, delta, item }: Json): boolean {
  if (typeof delta === "string" && delta !== "") return true;
  const said = /"(text|encrypted_content|arguments|input)":"[^"]/;
  return type === "response.output_item.done" && said.test(JSON.stringify(item));
}

/** The answer as official clients put it together: the items that have ended, what came of each, and how it ended. */
function contentOf(text: string): Json {
  const items: Json[] = [];
  const deltas: Record<string, string> = {};
  let end: Json;
  for (const { value } of responsesEvents(text)) {
    const { type, output_index: index, delta, item, response } = value;
    if (type === "response.output_item.done") items[index] = item;
    if (typeof delta === "string") deltas[`${index} ${type}`] = (deltas[`${index} ${type}`] ?? "") + delta;
    if (LAST.test(type)) end = [response.status, response.output];
  }
  return { items, deltas, end };
}

const USAGE = {
  input_tokens: 21,
  input_tokens_details: { cached_tokens: 5, cache_write_tokens: 3 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 30,
};

const RESPONSE = { id: "resp_1", object: "response", created_at: 1, model: "up", store: false };

/** An item as it is told: its beginning, what comes of it, and its end. */
interface Told {
  readonly item: Json;
  readonly begun: Json;
  readonly between: readonly Json[];
}

function message(...words: readonly string[]): Told {
  const part = { type: "output_text", text: words.join(""), annotations: [], logprobs: [] };
  const item = { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [part] };
  const at = { item_id: "msg_1", content_index: 0 };
  return {
    item,
    begun: { ...item, status: "in_progress", content: [] },
    between: [
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      ...words.map((delta) => ({
        type: "response.output_text.delta",
        ...at,
        delta,
        logprobs: [],
        obfuscation: "xY",
      })),
      { type: "response.output_text.done", ...at, text: part.text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ],
  };
}

function call(id: string, ...pieces: readonly string[]): Told {
  const [item_id, args] = [`fc_${id}`, pieces.join("")];
  const item = {
    id: item_id,
    type: "function_call",
    status: "completed",
    call_id: `call_${id}`,
    name: "find",
  };
  return {
    item: { ...item, arguments: args },
    begun: { ...item, status: "in_progress", arguments: "" },
    between: [
      ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", item_id, delta })),
      { type: "response.function_call_arguments.done", item_id, arguments: args },
    ],
  };
}

const reasoning = { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
const at = { item_id: "rs_1", summary_index: 0 };
const THOUGHT: Told = {
  item: { ...reasoning, encrypted_content: "gAAAAB" },
  begun: { ...reasoning, summary: [], encrypted_content: "gAAAAA" },
  between: [
    { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
    { type: "response.reasoning_summary_text.delta", ...at, delta: "Hm." },
    { type: "response.reasoning_summary_text.done", ...at, text: "Hm." },
    { type: "response.reasoning_summary_part.done", ...at, part: reasoning.summary[0] },
  ],
};

function streamOf(items: readonly Told[]): Json[] {
  const begun = { ...RESPONSE, status: "in_progress", output: [], usage: null };
  const output = items.map(({ item }) => item);
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap(({ item, begun: first, between }, output_index) => [
      { type: "response.output_item.added", output_index, item: first },
      ...between.map((event) => ({ ...event, output_index })),
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: { ...RESPONSE, status: "completed", output, usage: USAGE } },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

const OWN: readonly (readonly [string, readonly Told[], SseOptions])[] = [
  ["plain words", [message("One", " two", " three.")], {}],
  ["characters of many bytes", [message("é", "ß中", "文 🎉", "🏳️‍🌈\u2028")], {}],
  ["reasoning, words, two calls", [THOUGHT, message("Well"), call("a", '{"x"', ":1}"), call("b", "{}")], {}],
  ["a long word", [message("x".repeat(9_000))], {}],
  ["CRLF, comments", [message("a", "b")], { lineEnding: "\r\n", comment: " quiet" }],
  ["no space after the colon", [message("a", "b")], { space: false }],
  [
    "a byte order mark, no blank line at the end",
    [message("a")],
    { byteOrderMark: true, lastBlankLine: false },
  ],
];

function ownStreams(): readonly SourceStream[] {
  return OWN.map(([name, items, options]) => ({
    name: `responses: ${name}`,
    format: responsesCutFormat,
    bytes: sse(streamOf(items) as SseData[], {
      ...options,
      eventName: (event) => (typeof event === "string" ? undefined : String(event.type)),
    }),
    choices: 1,
    native: true,
    padding: [],
  }));
}
