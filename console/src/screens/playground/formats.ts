import type { Message, Part } from "./conversation.ts";

type Json = Readonly<Record<string, unknown>>;

/** A request in another format than it was sent in, and what of it has no place there. */
export interface Translated {
  readonly body: Json;
  readonly leftOut: readonly string[];
}

/** A body of chat completions, as the playground makes it. */
export type ChatBody = Json & { readonly model: string; readonly messages: readonly Message[] };

/** Members that each translation reads by itself. */
const OWN = new Set(["model", "messages", "stream", "tools", "response_format"]);
/** What Anthropic's format needs where a request says no bound. */
const MAX_TOKENS = 4096;

/** The same request in Responses. */
export function toResponses(chat: ChatBody): Translated {
  const { leftOut, take } = takerOf(chat);
  const effort = take("reasoning_effort");
  const choice = take("tool_choice");
  const schema = schemaOf(chat);
  return {
    body: defined({
      model: chat.model,
      instructions: systemOf(chat),
      input: chat.messages.filter(({ role }) => role !== "system").flatMap(responsesItems),
      max_output_tokens: take("max_completion_tokens") ?? take("max_tokens"),
      temperature: take("temperature"),
      top_p: take("top_p"),
      parallel_tool_calls: take("parallel_tool_calls"),
      reasoning: take("reasoning") ?? (effort === undefined ? undefined : { effort }),
      tools: functionsOf(chat)?.map(({ name, description, parameters, strict }) =>
        defined({ type: "function", name, description, parameters, strict }),
      ),
      tool_choice: typeof choice === "object" ? { type: "function", name: forcedName(choice) } : choice,
      text: schema && {
        format: schema.schema
          ? { type: "json_schema", name: "answer", schema: schema.schema }
          : { type: "json_object" },
      },
    }),
    leftOut: leftOut(),
  };
}

function responsesItems(message: Message): readonly Json[] {
  if (message.role === "tool")
    return [{ type: "function_call_output", call_id: message.tool_call_id, output: message.content }];
  const isAnswer = message.role === "assistant";
  const content =
    typeof message.content === "string" || message.content === null
      ? message.content
      : message.content.map((part): Json => {
          if (part.type === "image_url") return { type: "input_image", image_url: part.image_url.url };
          if (part.type === "file") return { type: "input_file", ...part.file };
          return { type: "input_text", text: part.text };
        });
  return [
    ...(content === null ? [] : [{ role: isAnswer ? "assistant" : "user", content }]),
    ...callsOf(message).map(({ id, name, given }) => ({
      type: "function_call",
      call_id: id,
      name,
      arguments: given,
    })),
  ];
}

/** The same request in Anthropic's messages. */
export function toMessages(chat: ChatBody): Translated {
  const { leftOut, take } = takerOf(chat);
  const stop = take("stop");
  const choice = take("tool_choice");
  const effort = take("reasoning_effort") ?? recordOf(take("reasoning")).effort;
  const schema = schemaOf(chat)?.schema;
  return {
    body: defined({
      model: chat.model,
      max_tokens: take("max_completion_tokens") ?? take("max_tokens") ?? MAX_TOKENS,
      system: systemOf(chat),
      messages: joined(
        chat.messages
          .filter(({ role }) => role !== "system")
          .map((message) => ({
            role: message.role === "assistant" ? "assistant" : "user",
            content: anthropicBlocks(message),
          })),
      ),
      temperature: take("temperature"),
      top_p: take("top_p"),
      stop_sequences: typeof stop === "string" ? [stop] : stop,
      thinking: take("thinking"),
      output_config:
        effort === undefined && schema === undefined
          ? undefined
          : defined({ effort, format: schema && { type: "json_schema", schema } }),
      tools: functionsOf(chat)?.map(({ name, description, parameters }) =>
        defined({ name, description, input_schema: parameters ?? { type: "object" } }),
      ),
      tool_choice: anthropicChoice(choice),
    }),
    leftOut: [...leftOut(), ...(schemaOf(chat) && schema === undefined ? ["response_format"] : [])],
  };
}

function anthropicBlocks(message: Message): readonly Json[] {
  if (message.role === "tool")
    return [{ type: "tool_result", tool_use_id: message.tool_call_id, content: message.content }];
  const thinking = recordsOf(message.reasoning_details).filter(
    ({ type, signature }) => type === "thinking" && typeof signature === "string",
  );
  return [
    ...thinking.map(({ thinking: text, signature }) => ({ type: "thinking", thinking: text, signature })),
    ...partsOf(message).map((part): Json => {
      if (part.type === "text") return part;
      const url = part.type === "image_url" ? part.image_url.url : part.file.file_data;
      const data = dataOf(url);
      return {
        type: part.type === "image_url" ? "image" : "document",
        source: data ? { type: "base64", media_type: data.type, data: data.base64 } : { type: "url", url },
      };
    }),
    ...callsOf(message).map(({ id, name, given }) => ({
      type: "tool_use",
      id,
      name,
      input: parsed(given),
    })),
  ];
}

function anthropicChoice(choice: unknown): Json | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "object") return { type: "tool", name: forcedName(choice) };
  return { type: choice === "required" ? "any" : choice };
}

/** The same request in Google's generateContent, as it goes over the wire. */
export function toGenerateContent(chat: ChatBody): Translated {
  const { leftOut, take } = takerOf(chat);
  const stop = take("stop");
  const choice = take("tool_choice");
  const schema = schemaOf(chat);
  const system = systemOf(chat);
  const functions = functionsOf(chat);
  const names = new Map(chat.messages.flatMap(callsOf).map(({ id, name }) => [id, name]));
  const generationConfig = defined({
    temperature: take("temperature"),
    topP: take("top_p"),
    maxOutputTokens: take("max_completion_tokens") ?? take("max_tokens"),
    stopSequences: typeof stop === "string" ? [stop] : stop,
    presencePenalty: take("presence_penalty"),
    frequencyPenalty: take("frequency_penalty"),
    candidateCount: take("n"),
    responseMimeType: schema && "application/json",
    responseJsonSchema: schema?.schema,
  });
  return {
    body: defined({
      contents: chat.messages
        .filter(({ role }) => role !== "system")
        .map((message) => ({
          role: message.role === "assistant" ? "model" : "user",
          parts: googleParts(message, names),
        })),
      systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
      tools: functions && [
        {
          functionDeclarations: functions.map(({ name, description, parameters }) =>
            defined({ name, description, parametersJsonSchema: parameters }),
          ),
        },
      ],
      toolConfig: googleChoice(choice),
      generationConfig: Object.keys(generationConfig).length === 0 ? undefined : generationConfig,
    }),
    leftOut: leftOut(),
  };
}

function googleParts(message: Message, names: ReadonlyMap<unknown, string>): readonly Json[] {
  if (message.role === "tool") {
    const name = names.get(message.tool_call_id);
    const result = typeof message.content === "string" ? parsed(message.content) : message.content;
    return [{ functionResponse: { name, response: { result } } }];
  }
  return [
    ...partsOf(message).map((part): Json => {
      if (part.type === "text") return { text: part.text };
      const url = part.type === "image_url" ? part.image_url.url : part.file.file_data;
      const data = dataOf(url);
      return data
        ? { inlineData: { mimeType: data.type, data: data.base64 } }
        : { fileData: { fileUri: url } };
    }),
    ...callsOf(message).map(({ name, given }) => ({ functionCall: { name, args: parsed(given) } })),
  ];
}

function googleChoice(choice: unknown): Json | undefined {
  if (choice === undefined) return undefined;
  const modes: Readonly<Record<string, string>> = { none: "NONE", auto: "AUTO", required: "ANY" };
  return {
    functionCallingConfig:
      typeof choice === "object"
        ? { mode: "ANY", allowedFunctionNames: [forcedName(choice)] }
        : { mode: modes[choice as string] },
  };
}

/** Hands out the parameters of a request, and says which were not asked for. */
function takerOf(chat: ChatBody) {
  const left = new Set(Object.keys(chat).filter((name) => !OWN.has(name)));
  return {
    take(name: string): unknown {
      left.delete(name);
      return chat[name];
    },
    leftOut: (): readonly string[] => [...left],
  };
}

function systemOf({ messages }: ChatBody): string | undefined {
  const system = messages.find(({ role }) => role === "system")?.content;
  return typeof system === "string" ? system : undefined;
}

function functionsOf({ tools }: ChatBody): readonly Json[] | undefined {
  return Array.isArray(tools) ? tools.map((tool) => recordOf(recordOf(tool).function)) : undefined;
}

/** What the answer has to be, where it is not a text. */
function schemaOf({ response_format: format }: ChatBody): { readonly schema?: unknown } | undefined {
  const { type, json_schema: named } = recordOf(format);
  if (type === "json_schema") return { schema: recordOf(named).schema };
  return type === "json_object" ? {} : undefined;
}

function partsOf({ content }: Message): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content ?? [];
}

function callsOf(message: Message): readonly { id: unknown; name: string; given: string }[] {
  return recordsOf(message.tool_calls).map(({ id, function: called }) => {
    const { name, arguments: given } = recordOf(called);
    return { id, name: String(name), given: String(given) };
  });
}

function forcedName(choice: unknown): unknown {
  return recordOf(recordOf(choice).function).name;
}

/** Turns of one role after another become one, as results of several tools have to stand in one turn. */
function joined(
  turns: readonly { readonly role: string; readonly content: readonly Json[] }[],
): readonly Json[] {
  const all: { readonly role: string; readonly content: Json[] }[] = [];
  for (const { role, content } of turns) {
    const last = all.at(-1);
    if (last?.role === role) last.content.push(...content);
    else all.push({ role, content: [...content] });
  }
  return all;
}

function dataOf(url: string): { readonly type: string; readonly base64: string } | undefined {
  const [, type = "", base64 = ""] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return type === "" ? undefined : { type, base64 };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

function defined(record: Json): Json {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function recordsOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}
