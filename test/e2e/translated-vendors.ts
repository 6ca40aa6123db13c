import type { Json } from "../gateway/gateway.ts";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import type { UpstreamDouble } from "../upstream/double.ts";
import { type GeminiForm, geminiAnswer, geminiChunks } from "../upstream/gemini-bytes.ts";
import { type MessageForm, message, messageStream } from "../upstream/messages-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sse } from "../upstream/sse-bytes.ts";
import type { StrictCheck } from "../upstream/strict.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";

/** A call of a tool, as an answer of either vendor has it. */
export interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}

/** What a vendor answers; each says it in its own format. */
export interface Said {
  readonly thinking?: string;
  readonly signature?: string;
  readonly text?: string;
  readonly calls?: readonly SaidCall[];
  /** Disjoint counts: thinking is beside the output. */
  readonly input: number;
  readonly output: number;
  readonly thought?: number;
}

/** A vendor that speaks another format than chat completions, as strict as it is. */
export interface Vendor {
  readonly model: string;
  /** Credits for a token of input, and of output. */
  readonly prices: readonly [input: number, output: number];
  readonly strict: StrictCheck;
  isStreamed(request: SeenRequest): boolean;
  plain(said: Said): Answer;
  /** The bytes of the same in a stream. */
  stream(said: Said): Uint8Array;
  /** How many events of a stream there are until the first word has come. */
  readonly eventsToFirstWord: number;
  /** The model's turns of a request, in the vendor's own pieces. */
  answersIn(body: Json): readonly Json[];
  /** The ids of the calls that the other turns answer. */
  resultsIn(body: Json): readonly (readonly string[])[];
  /** What of an answer must be sent back: all pieces as the vendor gave them, but for what it does not want back. */
  sentBack(said: Said): readonly Json[];
  readonly refusal: Answer;
  readonly overloaded: Answer;
}

const blocksOf = ({ thinking, signature, text, calls = [] }: Said): MessageForm["blocks"] => [
  ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: signature ?? "" }]),
  ...(text === undefined ? [] : [{ type: "text", text }]),
  ...calls.map((call) => ({ type: "tool_use", ...call })),
];

function messageForm(said: Said): MessageForm {
  const thought = said.thought ?? 0;
  return {
    blocks: blocksOf(said) ?? [],
    usage: {
      input_tokens: said.input,
      output_tokens: said.output + thought,
      output_tokens_details: { thinking_tokens: thought },
    },
  };
}

const ANTHROPIC: Vendor = {
  model: "anthropic/claude-haiku-4.5",
  prices: [0.01, 0.05],
  strict: strictMessages({ keys: [UPSTREAM_KEY], models: ["claude-haiku-4-5"] }),
  isStreamed: (request) => (request.json() as Json).stream === true,
  plain: (said) => jsonAnswer(200, message(messageForm(said))),
  stream: (said) => messageStream({ ...messageForm(said), ping: true }),
  eventsToFirstWord: 4,
  answersIn: ({ messages }) =>
    messages.filter(({ role }: Json) => role === "assistant").map(({ content }: Json) => content),
  resultsIn: ({ messages }) =>
    messages
      .map(({ content }: Json) =>
        [content].flat().flatMap(({ tool_use_id: id }: Json) => (id === undefined ? [] : [id])),
      )
      .filter((ids: readonly string[]) => ids.length > 0),
  sentBack: (said) => blocksOf(said) as Json,
  refusal: jsonAnswer(400, {
    type: "error",
    error: { type: "invalid_request_error", message: "messages.0: too odd" },
  }),
  overloaded: jsonAnswer(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
};

function partsOf({ thinking, signature, text, calls = [] }: Said): Json[] {
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  return [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, input }, i) => ({
      functionCall: { id, name, args: input },
      ...(i === 0 ? signed : {}),
    })),
  ];
}

function geminiForm(said: Said): GeminiForm {
  const thought = said.thought ?? 0;
  return {
    parts: partsOf(said),
    usage: {
      promptTokenCount: said.input,
      candidatesTokenCount: said.output,
      thoughtsTokenCount: thought,
      totalTokenCount: said.input + said.output + thought,
    },
  };
}

const soFar = ({ input }: Said, output: number): Json => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: input + output,
});

const GEMINI: Vendor = {
  model: "google/gemini-3.8-flash",
  prices: [0.0075, 0.0375],
  strict: strictGenerateContent({ keys: [UPSTREAM_KEY], models: ["gemini-3.8-flash", "gemini-3-pro-image"] }),
  isStreamed: (request) => request.target.includes(":stream"),
  plain: (said) => jsonAnswer(200, geminiAnswer(geminiForm(said))),
  // The usage runs along with the answer: all of it is told at the end.
  stream: (said) =>
    sse(
      geminiChunks(geminiForm(said)).map((chunk, i, all) =>
        i === all.length - 1 ? chunk : Object.assign({}, chunk, { usageMetadata: soFar(said, i + 1) }),
      ),
    ),
  eventsToFirstWord: 1,
  answersIn: ({ contents }) =>
    contents.filter(({ role }: Json) => role === "model").map(({ parts }: Json) => parts),
  resultsIn: ({ contents }) =>
    contents
      .map(({ parts }: Json) =>
        parts.flatMap(({ functionResponse: given }: Json) => (given === undefined ? [] : [given.id])),
      )
      .filter((ids: readonly string[]) => ids.length > 0),
  sentBack: ({ thinking: _shown, ...said }) => partsOf(said),
  refusal: jsonAnswer(400, {
    error: { code: 400, message: "contents[0]: too odd", status: "INVALID_ARGUMENT" },
  }),
  overloaded: jsonAnswer(503, {
    error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" },
  }),
};

/** The vendors by name. */
export const VENDORS = [
  ["Anthropic", ANTHROPIC],
  ["Gemini", GEMINI],
] as const;

/** What a strict vendor answers to a request. */
export function answerOf(vendor: Vendor, request: SeenRequest, said: Said): Answer {
  return (
    vendor.strict(request) ??
    (vendor.isStreamed(request) ? sseAnswer(vendor.stream(said)) : vendor.plain(said))
  );
}

/** Has the double answer as the vendor does: the first request by the first of `saids`, further ones by the last. */
export function answerInTurn(double: UpstreamDouble, vendor: Vendor, saids: readonly Said[]): void {
  double.handle((request) => {
    const said = saids[Math.min(double.requests.length, saids.length) - 1]!;
    return answerOf(vendor, request, said);
  });
}

/** Whole micro-credits as they are booked: the price of each token times their number. */
export function creditOf({ prices: [input, output] }: Vendor, said: Said): number {
  return Math.round((said.input * input + (said.output + (said.thought ?? 0)) * output) * 1e6) / 1e6;
}

export const HELLO: Said = { text: "Hello there.", input: 11, output: 4 };

/** An answer that thought and calls two tools; the second says something too. */
export function roundOf(n: number): Said {
  return {
    thinking: `Round ${n}: \u2028 "two" cities 😀`,
    signature: btoa(`signature ${n} ~~~???`),
    ...(n === 2 ? { text: "I look on." } : {}),
    calls: [
      { id: `call_${n}a`, name: "weather", input: { city: "Oslo", n } },
      { id: `call_${n}b`, name: "weather", input: { city: "Rome", at: { n } } },
    ],
    input: 100 * n,
    output: 20 + n,
    thought: 7,
  };
}
