import type { Environment } from "../../src/environment.ts";
import { type Json, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "./answer.ts";
import { toBytes, toText } from "./bytes.ts";
import { chatAnswer, type ChatForm, chatStreamAnswer } from "./chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "./double.ts";
import { geminiPlain, geminiStream } from "./gemini-bytes.ts";
import { messageAnswer, type MessageForm, messageStreamAnswer } from "./messages-bytes.ts";
import { sse } from "./sse-bytes.ts";
import type { SeenRequest } from "./seen-request.ts";
import { strictGenerateContent } from "./strict-gemini.ts";
import { strictMessages } from "./strict-messages-format.ts";
import { STRICT } from "./strict-profiles.ts";
import { strictResponses } from "./strict-responses.ts";
import { strictChatCompletions, type StrictCheck } from "./strict.ts";

/** A call of a tool by a model. */
export interface ScriptedCall {
  readonly tool: string;
  /** Of a custom tool the text itself. */
  readonly input: Json;
}

/** What a model says once. */
export interface Scripted {
  /** Signed by vendors that sign; left out by those that show none. */
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
}

/** What a model says next, by the names of the tools that it is offered and how many results of calls it was given. */
export type Script = (tools: readonly string[], results: number) => Scripted;

/** Doubles of four vendors, as strict as they are, whose models do what a script says. */
export interface ScriptedVendors {
  readonly environment: Environment;
  /** What vendors refused so far, each with the vendor's name. */
  readonly refusals: readonly string[];
  /** What vendors were sent so far, in order. */
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** A request that a vendor got. */
export interface Received {
  readonly vendor: VendorName;
  readonly body: Json;
}

/** How a vendor's format says what the script needs. */
interface Format {
  tools(body: Json): readonly string[];
  results(body: Json): number;
  isStreamed(request: SeenRequest): boolean;
  /** `round` names calls and signatures; `body` is what was asked. */
  say(said: Scripted, round: number, streamed: boolean, body: Json): Answer;
}

const CHAT: Format = {
  tools: ({ tools = [] }) => tools.map((tool: Json) => tool.function?.name ?? tool.custom?.name),
  results: ({ messages }) => messages.filter(({ role }: Json) => role === "tool").length,
  isStreamed: (request) => (request.json() as Json).stream === true,
  say({ thinking, text, calls }, round, streamed) {
    const form: ChatForm = {
      ...(thinking === undefined ? {} : { reasoning: pieces(thinking) }),
      ...(text === undefined ? {} : { words: pieces(text) }),
      ...(calls === undefined
        ? {}
        : {
            toolCalls: calls.map(({ tool, input }, i) => ({
              id: callId(round, i),
              name: tool,
              arguments: pieces(JSON.stringify(asObject(input))),
            })),
          }),
    };
    return streamed ? chatStreamAnswer(form) : chatAnswer(form);
  },
};

const MESSAGES: Format = {
  tools: ({ tools = [] }) => tools.map(({ name }: Json) => name),
  results: ({ messages }) =>
    messages
      .flatMap(({ content }: Json) => (Array.isArray(content) ? content : []))
      .filter(({ type }: Json) => type === "tool_result").length,
  isStreamed: CHAT.isStreamed,
  say({ thinking, text, calls = [] }, round, streamed) {
    const blocks: NonNullable<MessageForm["blocks"]> = [
      ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: signatureOf(round) }]),
      ...(text === undefined ? [] : [{ type: "text", text }]),
      ...calls.map(({ tool, input }, i) => ({
        type: "tool_use",
        id: callId(round, i),
        name: tool,
        input: asObject(input),
      })),
    ];
    return streamed ? messageStreamAnswer({ blocks }) : messageAnswer({ blocks });
  },
};

const GEMINI: Format = {
  tools: ({ tools = [] }) =>
    tools.flatMap(({ functionDeclarations = [] }: Json) =>
      functionDeclarations.map(({ name }: Json) => name),
    ),
  results: ({ contents }) =>
    contents.flatMap(({ parts }: Json) => parts).filter((part: Json) => part.functionResponse !== undefined)
      .length,
  isStreamed: ({ target }) => target.includes(":stream"),
  say({ thinking, text, calls = [] }, round, streamed) {
    const parts: Json[] = [
      ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(({ tool, input }, i) => ({
        functionCall: { id: callId(round, i), name: tool, args: asObject(input) },
        ...(i === 0 ? { thoughtSignature: signatureOf(round) } : {}),
      })),
    ];
    // Last words are signed too, of a stream in an empty part behind them.
    const thoughtSignature = signatureOf(round);
    if (calls.length === 0 && text !== undefined)
      if (streamed) parts.push({ text: "", thoughtSignature });
      else parts[parts.length - 1] = { text, thoughtSignature };
    if (!streamed) return geminiPlain({ parts });
    // The vendor writes the line ends of Unicode as escapes, and its own SDK reads no stream that has them plain.
    const answer = geminiStream({ parts });
    return { ...answer, body: toBytes(toText(answer.body as Uint8Array).replaceAll("\u2028", "\\u2028")) };
  },
};

const RESPONSES: Format = {
  tools: ({ tools = [], input }) =>
    toolsIn([...tools, ...itemsOf(input).flatMap(({ tools: more = [] }) => more)]),
  results: ({ input }) => itemsOf(input).filter(({ type = "" }) => type.endsWith("_call_output")).length,
  isStreamed: CHAT.isStreamed,
  say({ thinking, text, calls = [] }, round, streamed, { tools = [], input: asked }) {
    const namespaces = [...tools, ...itemsOf(asked).flatMap(({ tools: more = [] }) => more)];
    const items: Json[] = [
      ...(thinking === undefined
        ? []
        : [
            {
              id: `rs_${round}`,
              type: "reasoning",
              summary: [{ type: "summary_text", text: thinking }],
              encrypted_content: signatureOf(round),
            },
          ]),
      ...(text === undefined
        ? []
        : [
            {
              id: `msg_${round}`,
              type: "message",
              status: "completed",
              role: "assistant",
              content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
            },
          ]),
      ...calls.map(({ tool, input }, i) => {
        const called = { status: "completed", call_id: callId(round, i), name: tool };
        return typeof input === "string"
          ? {
              id: `ctc_${round}_${i}`,
              type: "custom_tool_call",
              ...called,
              ...namespaceOf(tool, namespaces),
              input,
            }
          : { id: `fc_${round}_${i}`, type: "function_call", ...called, arguments: JSON.stringify(input) };
      }),
    ];
    const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
    const response = (status: string, output: readonly Json[]): Json => ({
      id: `resp_${round}`,
      object: "response",
      created_at: 1,
      model: "gpt",
      status,
      output,
      usage: status === "completed" ? usage : null,
    });
    if (!streamed) return jsonAnswer(200, response("completed", items));
    const events: Json[] = [
      { type: "response.created", response: response("in_progress", []) },
      ...items.flatMap(itemEvents),
      { type: "response.completed", response: response("completed", items) },
    ].map((event, i) => ({ ...event, sequence_number: i }));
    return sseAnswer(sse(events, { eventName: (event) => (event as Json).type }));
  },
};

function itemsOf(input: Json): Json[] {
  return Array.isArray(input) ? input : [];
}

/** The names of tools, those within a namespace among them. */
function toolsIn(tools: readonly Json[]): string[] {
  return tools.flatMap(({ type, name, tools: inner }) => (type === "namespace" ? toolsIn(inner) : [name]));
}

/** The namespace that a tool stands in, if any. */
function namespaceOf(tool: string, tools: readonly Json[]): Json {
  const found = tools.find(({ tools: inner = [] }) => inner.some(({ name }: Json) => name === tool));
  return found === undefined ? {} : { namespace: found.name };
}

/** The text for a custom tool, as models call the function that stands for one. */
function asObject(input: Json): Json {
  return typeof input === "string" ? { input } : input;
}

function itemEvents(item: Json, index: number): Json[] {
  const at = { item_id: item.id, output_index: index };
  const done = { type: "response.output_item.done", output_index: index, item };
  const added = (begun: Json): Json => ({
    type: "response.output_item.added",
    output_index: index,
    item: begun,
  });
  if (item.type === "reasoning") {
    const [{ text }] = item.summary;
    const part = { ...at, summary_index: 0 };
    const { encrypted_content: _sealed, ...begun } = item;
    return [
      added({ ...begun, summary: [] }),
      { type: "response.reasoning_summary_part.added", ...part, part: { type: "summary_text", text: "" } },
      ...pieces(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...part, delta })),
      { type: "response.reasoning_summary_text.done", ...part, text },
      { type: "response.reasoning_summary_part.done", ...part, part: { type: "summary_text", text } },
      done,
    ];
  }
  if (item.type === "message") {
    const [{ text }] = item.content;
    const part = { ...at, content_index: 0 };
    const begun = { type: "output_text", text: "", annotations: [], logprobs: [] };
    return [
      added({ ...item, status: "in_progress", content: [] }),
      { type: "response.content_part.added", ...part, part: begun },
      ...pieces(text).map((delta) => ({ type: "response.output_text.delta", ...part, delta, logprobs: [] })),
      { type: "response.output_text.done", ...part, text, logprobs: [] },
      { type: "response.content_part.done", ...part, part: item.content[0] },
      done,
    ];
  }
  if (item.type === "custom_tool_call")
    return [
      added({ ...item, status: "in_progress", input: "" }),
      ...pieces(item.input).map((delta) => ({ type: "response.custom_tool_call_input.delta", ...at, delta })),
      { type: "response.custom_tool_call_input.done", ...at, input: item.input },
      done,
    ];
  return [
    added({ ...item, status: "in_progress", arguments: "" }),
    ...pieces(item.arguments).map((delta) => ({
      type: "response.function_call_arguments.delta",
      ...at,
      delta,
    })),
    { type: "response.function_call_arguments.done", ...at, arguments: item.arguments },
    done,
  ];
}

/** The id of a call, as the vendors of these formats write them. */
export function callId(round: number, call: number): string {
  return `call_r${round}c${call}AbCdEf`;
}

/** What signs the thinking of a round: base64, as both vendors that sign have it. */
export function signatureOf(round: number): string {
  return Buffer.from(`the signature of round ${round}, whatever is in it`).toString("base64");
}

function pieces(text: string): string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}

interface Vendor {
  readonly variable: string;
  readonly path: string;
  readonly format: Format;
  readonly strict: StrictCheck;
}

const KEYS = { keys: [UPSTREAM_KEY] };
const RESPONSES_STRICT = strictResponses(KEYS);

const VENDORS = {
  openai: {
    variable: "OPENAI",
    path: "/v1",
    format: CHAT,
    strict: strictChatCompletions({ ...STRICT.openai, ...KEYS }),
  },
  deepseek: {
    variable: "DEEPSEEK",
    path: "/v1",
    format: CHAT,
    strict: strictChatCompletions({ ...STRICT.deepseek, ...KEYS }),
  },
  anthropic: { variable: "ANTHROPIC", path: "", format: MESSAGES, strict: strictMessages(KEYS) },
  google: { variable: "GEMINI", path: "", format: GEMINI, strict: strictGenerateContent(KEYS) },
} satisfies Readonly<Record<string, Vendor>>;

export type VendorName = keyof typeof VENDORS;

/** What a vendor says to a request in place of what the script has. */
export type Refuse = (vendor: VendorName, body: Json) => Answer | undefined;

/** Starts the four. */
export async function startScriptedVendors(
  script: Script,
  refuse: Refuse = () => undefined,
): Promise<ScriptedVendors> {
  const doubles: UpstreamDouble[] = [];
  const environment: Record<string, string> = {};
  const refusals: string[] = [];
  const received: Received[] = [];
  for (const [name, { variable, path, format, strict }] of Object.entries<Vendor>(VENDORS)) {
    const vendor = name as VendorName;
    const double = await startUpstreamDouble();
    double.handle((request) => {
      const isResponses = request.target.endsWith("/responses");
      const refusal = counted(request) ?? (isResponses ? RESPONSES_STRICT : strict)(request);
      if (refusal === undefined) {
        const body = request.json() as Json;
        received.push({ vendor, body });
        return refuse(vendor, body) ?? play(isResponses ? RESPONSES : format, vendor, script, request);
      }
      if (refusal.status !== 200) refusals.push(`${vendor}: ${String(refusal.body)}`);
      return refusal;
    });
    doubles.push(double);
    environment[`${variable}_API_KEY`] = UPSTREAM_KEY;
    environment[`${variable}_BASE_URL`] = `${double.url}${path}`;
  }
  return {
    environment,
    refusals,
    received,
    close: async () => void (await Promise.all(doubles.map((double) => double.close()))),
  };
}

function play(format: Format, vendor: VendorName, script: Script, request: SeenRequest): Answer {
  const body = request.json() as Json;
  const results = format.results(body);
  const { thinking, ...said } = script(format.tools(body), results);
  // OpenAI shows no thinking in chat completions.
  const isHidden = vendor === "openai" && format === CHAT;
  const shown = thinking === undefined || isHidden ? said : { thinking, ...said };
  return format.say(shown, results, format.isStreamed(request), body);
}

function counted({ target }: SeenRequest): Answer | undefined {
  if (target.includes("/count_tokens")) return jsonAnswer(200, { input_tokens: 9 });
  return target.includes(":countTokens") ? jsonAnswer(200, { totalTokens: 9 }) : undefined;
}
