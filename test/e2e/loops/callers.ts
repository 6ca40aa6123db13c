import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
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
}

const PARAMETERS: Json = {
  type: "object",
  properties: { word: { type: "string" }, depth: { type: "integer" } },
  required: ["word"],
};

const CHAT: Caller = {
  name: "chat completions",
  begin: (prompt) => [{ role: "user", content: prompt }],
  async ask({ url, key }, { model, history: messages, tools, streamed }) {
    const client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      messages,
      tools: tools.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
      reasoning_effort: "medium",
    };
    const completion: Json = streamed
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body);
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
  async ask({ url, key }, { model, history: messages, tools, streamed }) {
    const client = new Anthropic({ baseURL: `${url}/api`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      max_tokens: 8_000,
      messages,
      tools: tools.map((name) => ({ name, input_schema: PARAMETERS })),
      thinking: { type: "enabled", budget_tokens: 4_000 },
    };
    const message: Json = streamed
      ? await client.messages.stream(body).finalMessage()
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
  async ask({ url, key }, { model, history: contents, tools, streamed }) {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/api`, apiVersion: "v1" } });
    const request: Json = {
      model,
      contents,
      config: {
        tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: PARAMETERS })) }],
        thinkingConfig: { includeThoughts: true },
      },
    };
    const parts: Json[] = [];
    if (streamed)
      for await (const chunk of await client.models.generateContentStream(request))
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    else
      parts.push(...((await client.models.generateContent(request)).candidates?.[0]?.content?.parts ?? []));
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
  async ask({ url, key }, { model, history: input, tools, streamed }) {
    const client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey: key, maxRetries: 0 });
    const body: Json = {
      model,
      input,
      store: false,
      tools: tools.map((name) => ({ type: "function", name, parameters: PARAMETERS, strict: false })),
      reasoning: { effort: "medium", summary: "auto" },
    };
    const response: Json = streamed
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
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

export const CALLERS: readonly Caller[] = [CHAT, MESSAGES, GENERATE, RESPONSES];
