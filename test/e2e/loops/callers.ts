import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { ContentFilterFinishReasonError, LengthFinishReasonError } from "openai/error";
import type { Json, TestGateway } from "../../gateway/gateway.ts";

/** A call as its caller read it. */
export interface ReadCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly input: Json;
}

/** What a caller read of one answer, and what it keeps of it for the next request. */
export interface ReadAnswer {
  readonly text: string;
  /** Thinking that it was shown; `undefined` where the SDK does not join the pieces of it. */
  readonly thinking: string | undefined;
  readonly calls: readonly ReadCall[];
  readonly kept: readonly Json[];
}

/** A client of one format, by that format's official SDK, that keeps its conversation as the SDK has it. */
export interface Caller {
  readonly name: string;
  readonly begin: (prompt: string) => Json[];
  /** `tools` are the names of functions that the model may call. */
  ask(gateway: TestGateway, asked: Asked): Promise<ReadAnswer>;
  /** What goes into the conversation for the results of one answer's calls. */
  results(calls: readonly ReadCall[], outputs: readonly string[]): readonly Json[];
}

/** A request of a caller. */
export interface Asked {
  readonly model: string;
  readonly history: readonly Json[];
  readonly tools: readonly string[];
  readonly streamed: boolean;
  /** By the SDK's other way: a stream event by event instead of by its helper, a plain answer by a helper. */
  readonly isOtherWay?: boolean;
}

const PARAMETERS: Json = {
  type: "object",
  properties: { word: { type: "string" }, depth: { type: "integer" } },
  required: ["word"],
};

const CHAT: Caller = {
  name: "chat completions",
  begin: (prompt) => [{ role: "user", content: prompt }],
  async ask({ url, key }, { model, history: messages, tools, streamed, isOtherWay = false }) {
    const client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      messages,
      tools: tools.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
      reasoning_effort: "medium",
    };
    const { tools: _lax, ...untyped } = body;
    const completion: Json = streamed
      ? await (isOtherWay
          ? foldedChat(await client.chat.completions.create({ ...body, stream: true }))
          : client.chat.completions.stream(body).finalChatCompletion())
      : await (isOtherWay ? parsedChat(client, untyped) : client.chat.completions.create(body));
    const { message } = completion.choices[0];
    return {
      text: (message.content ?? "") + (message.refusal ?? ""),
      thinking: streamed ? undefined : (message.reasoning_content ?? message.reasoning ?? ""),
      calls: [
        ...(message.tool_calls ?? []),
        ...(message.function_call ? [{ function: message.function_call }] : []),
      ].map(({ id, function: called }: Json) => ({
        id,
        name: called.name,
        input: JSON.parse(called.arguments),
      })),
      kept: [message],
    };
  },
  results: (calls, outputs) =>
    calls.map(({ id }, i) => ({ role: "tool", tool_call_id: id, content: outputs[i] })),
};

const MESSAGES: Caller = {
  name: "messages",
  begin: (prompt) => [{ role: "user", content: prompt }],
  async ask({ url, key }, { model, history: messages, tools, streamed, isOtherWay = false }) {
    const client = new Anthropic({ baseURL: `${url}/api`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      max_tokens: 8_000,
      messages,
      tools: tools.map((name) => ({ name, input_schema: PARAMETERS })),
      thinking: { type: "enabled", budget_tokens: 4_000 },
    };
    const message: Json = streamed
      ? await (isOtherWay
          ? foldedMessage(await client.messages.create({ ...body, stream: true }))
          : client.messages.stream(body).finalMessage())
      : await client.messages.create(body);
    const of = (type: string): Json[] => message.content.filter((block: Json) => block.type === type);
    const joined = (type: string): string =>
      of(type)
        .map((block) => block[type])
        .join("");
    return {
      text: joined("text"),
      thinking: joined("thinking"),
      calls: of("tool_use").map(({ id, name, input }) => ({ id, name, input })),
      kept: [{ role: "assistant", content: message.content }],
    };
  },
  results: (calls, outputs) => [
    {
      role: "user",
      content: calls.map(({ id }, i) => ({ type: "tool_result", tool_use_id: id, content: outputs[i] })),
    },
  ],
};

const GENERATE: Caller = {
  name: "generateContent",
  begin: (prompt) => [{ role: "user", parts: [{ text: prompt }] }],
  async ask({ url, key }, { model, history: contents, tools, streamed, isOtherWay = false }) {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/api`, apiVersion: "v1" } });
    const request: Json = {
      model,
      contents,
      config: {
        tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: PARAMETERS })) }],
        thinkingConfig: { includeThoughts: true },
      },
    };
    const chat = client.chats.create({
      model,
      config: request.config,
      history: contents.slice(0, -1) as Json,
    });
    const said: Json = { message: contents.at(-1).parts };
    const answers = streamed
      ? await (isOtherWay ? chat.sendMessageStream(said) : client.models.generateContentStream(request))
      : [await (isOtherWay ? chat.sendMessage(said) : client.models.generateContent(request))];
    const parts: Json[] = [];
    for await (const answer of answers) parts.push(...(answer.candidates?.[0]?.content?.parts ?? []));
    const joined = (thoughts: boolean): string =>
      parts
        .filter(({ thought = false }) => thought === thoughts)
        .map(({ text = "" }) => text)
        .join("");
    return {
      text: joined(false),
      thinking: joined(true),
      calls: parts.flatMap(({ functionCall: call }) =>
        call === undefined ? [] : [{ id: call.id, name: call.name, input: call.args ?? {} }],
      ),
      kept: [{ role: "model", parts }],
    };
  },
  results: (calls, outputs) => [
    {
      role: "user",
      parts: calls.map(({ id, name }, i) => ({
        functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: outputs[i] } },
      })),
    },
  ],
};

const RESPONSES: Caller = {
  name: "Responses",
  begin: (prompt) => [{ role: "user", content: prompt }],
  async ask({ url, key }, { model, history: input, tools, streamed, isOtherWay = false }) {
    const client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      input,
      store: false,
      tools: tools.map((name) => ({ type: "function", name, parameters: PARAMETERS, strict: false })),
      reasoning: { effort: "medium", summary: "auto" },
    };
    const response: Json = streamed
      ? await (isOtherWay
          ? foldedResponse(await client.responses.create({ ...body, stream: true }))
          : client.responses.stream(body).finalResponse())
      : await (isOtherWay ? client.responses.parse(body) : client.responses.create(body));
    const texts = (items: readonly Json[], member: string, between = ""): string =>
      items
        .map((item) => (item[member] ?? []).map(({ text, refusal }: Json) => text ?? refusal).join(between))
        .join("");
    const of = (type: string): Json[] => response.output.filter((item: Json) => item.type === type);
    return {
      text: texts(of("message"), "content"),
      // Some models show what they think itself, and no summary of it.
      thinking: texts(of("reasoning"), "summary", "\n\n") || texts(of("reasoning"), "content"),
      calls: of("function_call").map(({ call_id: id, name, arguments: text }) => ({
        id,
        name,
        input: JSON.parse(text),
      })),
      // The helper adds what it has parsed, which is no member of an item.
      kept: response.output.map(({ parsed_arguments: _parsed, ...item }: Json) => item),
    };
  },
  results: (calls, outputs) =>
    calls.map(({ id }, i) => ({ type: "function_call_output", call_id: id, output: outputs[i] })),
};

/**
 * What the helper makes of an answer. It takes no tools that are not strict, and refuses answers that have not come to
 * their own end. For those the answer itself is asked.
 */
async function parsedChat(client: OpenAI, body: Json): Promise<Json> {
  try {
    return await client.chat.completions.parse(body);
  } catch (error) {
    const refused: Json = {
      [LengthFinishReasonError.name]: "length",
      [ContentFilterFinishReasonError.name]: "content_filter",
    };
    const completion: Json = await client.chat.completions.create(body);
    if (refused[(error as Error).constructor.name] !== completion.choices[0].finish_reason) throw error;
    return completion;
  }
}

/** What a loop over the chunks makes of them. */
async function foldedChat(chunks: Json): Promise<Json> {
  const message: Json = {};
  const add = (to: Json, from: Json, names: readonly string[]): void => {
    for (const name of names) if (typeof from[name] === "string") to[name] = (to[name] ?? "") + from[name];
  };
  for await (const { choices } of chunks)
    for (const { delta } of choices) {
      add(message, delta, ["content", "refusal", "reasoning_content"]);
      if (delta.function_call)
        add((message.function_call ??= {}), delta.function_call, ["name", "arguments"]);
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        const call = ((message.tool_calls ??= [])[index] ??= { id, function: {} });
        add(call.function, called, ["name", "arguments"]);
      }
    }
  return { choices: [{ message }] };
}

/** What a loop over the events makes of them. */
async function foldedMessage(events: Json): Promise<Json> {
  const content: Json[] = [];
  let ended = false;
  for await (const event of events) {
    const block = content[event.index];
    if (event.type === "content_block_start") content[event.index] = { ...event.content_block, json: "" };
    else if (event.type === "message_stop") ended = true;
    else if (event.type === "content_block_stop") {
      if (block.json !== "") block.input = JSON.parse(block.json);
    } else if (event.delta?.type === "input_json_delta") block.json += event.delta.partial_json;
    else if (event.delta?.type === "text_delta") block.text += event.delta.text;
    else if (event.delta?.type === "thinking_delta") block.thinking += event.delta.thinking;
  }
  if (!ended) throw new Error("The stream ended without its last event.");
  return { content };
}

/** What a loop over the events makes of them; the response at the end must say the same as they did. */
async function foldedResponse(events: Json): Promise<Json> {
  const output: Json[] = [];
  let response: Json;
  for await (const event of events) {
    if (event.type === "response.output_item.done") output[event.output_index] = event.item;
    else if (event.type === "error") throw new Error(event.message);
    else if (/^response\.(completed|incomplete|failed)$/.test(event.type)) response = event.response;
  }
  if (!["completed", "incomplete"].includes(response?.status)) throw new Error("It failed.");
  return { ...response, output };
}

export const CALLERS: readonly Caller[] = [CHAT, MESSAGES, GENERATE, RESPONSES];
