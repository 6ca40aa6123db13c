import type { Json } from "../wire-json.ts";
import { addTurn, callNumbers, type Item, type Meaning, noMeaning, resultValue } from "./meaning.ts";

/** What a chat completions request means: https://platform.openai.com/docs/api-reference/chat/create. */
export function meaningOfChat(body: Json): Meaning {
  const meaning = noMeaning();
  const calls = callNumbers();
  for (const message of body.messages) readMessage(message, meaning, calls);
  meaning.tools = (body.tools ?? []).map(({ function: called }: Json) => ({
    name: called.name,
    description: called.description,
    schema: called.parameters ?? { type: "object", properties: {} },
    strict: called.strict === true,
  }));
  meaning.choice = choiceOf(body.tool_choice);
  return {
    ...meaning,
    parallel: body.parallel_tool_calls,
    most: body.max_completion_tokens ?? body.max_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    presence: body.presence_penalty,
    frequency: body.frequency_penalty,
    seed: body.seed,
    stop: typeof body.stop === "string" ? [body.stop] : (body.stop ?? []),
    answers: body.n ?? 1,
    logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
    thinking:
      body.reasoning_effort === undefined
        ? undefined
        : { on: true, effort: body.reasoning_effort, shown: true },
    form: formOf(body.response_format),
    user: body.safety_identifier ?? body.user,
  };
}

function choiceOf(choice: Json): Json {
  if (choice === undefined || choice === null) return undefined;
  if (typeof choice === "string") return choice;
  return { tool: choice.function.name };
}

function formOf(format: Json): Json {
  if (format === undefined || format === null || format.type === "text") return undefined;
  return format.type === "json_object" ? "json" : { schema: format.json_schema.schema };
}

function readMessage(message: Json, meaning: Meaning, calls: ReturnType<typeof callNumbers>): void {
  const { role } = message;
  const said = itemsOf(message.content);
  if (role === "system" || role === "developer") {
    if (meaning.turns.length === 0) meaning.system.push(...said);
    else addTurn(meaning, "user", said);
  } else if (role === "tool") {
    const text = said.flatMap((item) => item.text ?? []).join("\n");
    const result = { is: "result", of: calls.result(message.tool_call_id), value: resultValue(text) };
    addTurn(meaning, "user", [result, ...said.filter(({ is }) => is !== "text")]);
  } else if (role === "assistant") {
    const made = (message.tool_calls ?? []).map(({ id, function: called }: Json) => ({
      is: "call",
      number: calls.call(id, called.name),
      name: called.name,
      args: called.arguments === "" ? {} : JSON.parse(called.arguments),
    }));
    addTurn(meaning, "assistant", [...said, ...made]);
  } else addTurn(meaning, "user", said);
}

function itemsOf(content: Json): Item[] {
  if (content === null || content === undefined || content === "") return [];
  if (typeof content === "string") return [{ is: "text", text: content }];
  return content.map(itemOf);
}

function itemOf(part: Json): Item {
  const { type, cache_control: control, prompt_cache_breakpoint: point } = part;
  const mark = control ?? (point === undefined ? undefined : { type: "ephemeral" });
  const cache = mark === undefined ? {} : { cache: mark };
  if (type === "text") return { is: "text", text: part.text, ...cache };
  if (type === "image_url") return { is: "image", ...sourceOf(part.image_url.url), ...cache };
  if (type === "input_audio")
    return { is: "audio", mime: `audio/${part.input_audio.format}`, data: part.input_audio.data };
  if (type === "video_url") return { is: "video", ...sourceOf(part.video_url.url) };
  const source = sourceOf(part.file.file_data);
  const is = (source.mime ?? "").startsWith("video/") ? "video" : "document";
  return { is, ...source, ...(is === "document" ? { name: part.file.filename } : {}), ...cache };
}

function sourceOf(url: string): { readonly url?: string; readonly mime?: string; readonly data?: string } {
  const data = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(url);
  if (data !== null) return { mime: String(data[1]), data: String(data[2]) };
  return { url, ...(url.endsWith(".mp4") ? { mime: "video/mp4" } : {}) };
}
