import type { Environment } from "../../src/environment.ts";
import { type Json, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { toBytes, toText } from "../upstream/bytes.ts";
import { chatAnswer, type ChatForm, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { geminiPlain, geminiStream } from "../upstream/gemini-bytes.ts";
import { messageAnswer, type MessageForm, messageStreamAnswer } from "../upstream/messages-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";
import { STRICT } from "../upstream/strict-profiles.ts";
import { strictChatCompletions, type StrictCheck } from "../upstream/strict.ts";

/** The one thing that a model does here before it says that it is done: it calls a tool with this input. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input: Json;
}

/** Chooses the call by the names of the tools that the model is offered; `undefined` for a request that asks for none. */
export type Script = (tools: readonly string[]) => ScriptedCall | undefined;

/** Doubles of four vendors, as strict as they are, whose models do what a script says. */
export interface ScriptedVendors {
  readonly environment: Environment;
  /** What vendors refused so far, and the requests that they were sent. */
  readonly refusals: readonly string[];
  readonly requests: () => number;
  close(): Promise<void>;
}

/** How a vendor's format says what the script needs. */
interface Format {
  tools(body: Json): readonly string[];
  hasResult(body: Json): boolean;
  isStreamed(request: SeenRequest): boolean;
  call(call: ScriptedCall, streamed: boolean): Answer;
  done(streamed: boolean): Answer;
}

const DONE = "It is done.";

const CHAT: Format = {
  tools: ({ tools = [] }) => tools.map((tool: Json) => tool.function?.name ?? tool.custom?.name),
  hasResult: ({ messages }) => messages.some(({ role }: Json) => role === "tool"),
  isStreamed: (request) => (request.json() as Json).stream === true,
  call({ tool, input }, streamed) {
    const text = JSON.stringify(input);
    const pieces = streamed ? (text.match(/.{1,7}/gsu) ?? []) : [text];
    return chat(
      { reasoning: ["Hm. ", "So."], toolCalls: [{ id: "call_abc123DEF", name: tool, arguments: pieces }] },
      streamed,
    );
  },
  done: (streamed) => chat({ words: [DONE] }, streamed),
};

function chat(form: ChatForm, streamed: boolean): Answer {
  return streamed ? chatStreamAnswer(form) : chatAnswer(form);
}

const MESSAGES: Format = {
  tools: ({ tools = [] }) => tools.map(({ name }: Json) => name),
  hasResult: ({ messages }) =>
    messages.some(
      ({ content }: Json) =>
        Array.isArray(content) && content.some(({ type }: Json) => type === "tool_result"),
    ),
  isStreamed: CHAT.isStreamed,
  call: ({ tool, input }, streamed) =>
    message(
      [
        { type: "thinking", thinking: "Hm. So.", signature: "EqQBCgIYAhIM" },
        { type: "tool_use", id: "toolu_01AbCdEf", name: tool, input },
      ],
      streamed,
    ),
  done: (streamed) => message([{ type: "text", text: DONE }], streamed),
};

function message(blocks: NonNullable<MessageForm["blocks"]>, streamed: boolean): Answer {
  return streamed ? messageStreamAnswer({ blocks }) : messageAnswer({ blocks });
}

const GEMINI: Format = {
  tools: ({ tools = [] }) =>
    tools.flatMap(({ functionDeclarations = [] }: Json) =>
      functionDeclarations.map(({ name }: Json) => name),
    ),
  hasResult: ({ contents }) =>
    contents.some(({ parts }: Json) => parts.some((part: Json) => part.functionResponse !== undefined)),
  isStreamed: ({ target }) => target.includes(":stream"),
  call: ({ tool, input }, streamed) =>
    gemini([{ functionCall: { name: tool, args: input }, thoughtSignature: "EsQBCsEBAdHtim9z" }], streamed),
  done: (streamed) => gemini([{ text: DONE }], streamed),
};

/** The vendor writes the line ends of Unicode as escapes, and its own SDK reads no stream that has them plain. */
function gemini(parts: readonly Json[], streamed: boolean): Answer {
  if (!streamed) return geminiPlain({ parts });
  const answer = geminiStream({ parts });
  return { ...answer, body: toBytes(toText(answer.body as Uint8Array).replaceAll("\u2028", "\\u2028")) };
}

interface Vendor {
  readonly variable: string;
  readonly path: string;
  readonly format: Format;
  readonly strict: StrictCheck;
}

const KEYS = { keys: [UPSTREAM_KEY] };

const VENDORS: readonly Vendor[] = [
  {
    variable: "OPENAI",
    path: "/v1",
    format: CHAT,
    strict: strictChatCompletions({ ...STRICT.openai, ...KEYS }),
  },
  {
    variable: "DEEPSEEK",
    path: "/v1",
    format: CHAT,
    strict: strictChatCompletions({ ...STRICT.deepseek, ...KEYS }),
  },
  { variable: "ANTHROPIC", path: "", format: MESSAGES, strict: strictMessages(KEYS) },
  { variable: "GEMINI", path: "", format: GEMINI, strict: strictGenerateContent(KEYS) },
];

/** Starts the four. */
export async function startScriptedVendors(script: Script): Promise<ScriptedVendors> {
  const doubles: UpstreamDouble[] = [];
  const environment: Record<string, string> = {};
  const refusals: string[] = [];
  for (const { variable, path, format, strict } of VENDORS) {
    const double = await startUpstreamDouble();
    double.handle((request) => {
      const refusal = counted(request) ?? strict(request);
      if (refusal === undefined) return play(format, script, request);
      if (refusal.status !== 200) refusals.push(`${variable}: ${String(refusal.body)}`);
      return refusal;
    });
    doubles.push(double);
    environment[`${variable}_API_KEY`] = UPSTREAM_KEY;
    environment[`${variable}_BASE_URL`] = `${double.url}${path}`;
  }
  return {
    environment,
    refusals,
    requests: () => doubles.reduce((sum, { requests }) => sum + requests.length, 0),
    close: async () => void (await Promise.all(doubles.map((double) => double.close()))),
  };
}

function play(format: Format, script: Script, request: SeenRequest): Answer {
  const body = request.json() as Json;
  const streamed = format.isStreamed(request);
  const call = format.hasResult(body) ? undefined : script(format.tools(body));
  return call === undefined ? format.done(streamed) : format.call(call, streamed);
}

function counted({ target }: SeenRequest): Answer | undefined {
  if (target.includes("/count_tokens")) return jsonAnswer(200, { input_tokens: 9 });
  return target.includes(":countTokens") ? jsonAnswer(200, { totalTokens: 9 }) : undefined;
}
