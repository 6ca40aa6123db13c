import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { errorWithin } from "../refusal.ts";

/**
 * Named repairs for vendors that are only compatible with chat completions. Each acts on evidence in the answer
 * alone, so none has to be switched on; an answer that needs none keeps its bytes. Evidence: the vendors table and
 * recorded traffic; each has a test in `repairs.test.ts`.
 */
export type RepairName =
  | "usage_in_choice"
  | "usage_in_x_groq"
  | "error_in_x_groq"
  | "error_in_base_resp"
  | "error_in_choice"
  | "error_without_wrapper"
  | "choices_null"
  | "chunk_object"
  | "choice_index"
  | "choice_delta"
  | "choice_message"
  | "first_role"
  | "finish_reason_word"
  | "second_finish"
  | "finish_after_tool_calls"
  | "content_parts"
  | "cumulative_details"
  | "tool_call_index"
  | "tool_call_id"
  | "tool_call_type"
  | "tool_call_repeated"
  | "arguments_object"
  | "empty_arguments";

/** The repairs that one chunk or answer needed. */
export type Repairs = Set<RepairName>;

/** Gives a member its value, and notes the repair where it had another one. */
export function put(
  holder: JsonObject,
  name: string,
  value: unknown,
  repair: RepairName,
  repairs: Repairs,
): void {
  if (holder[name] === value) return;
  holder[name] = value;
  repairs.add(repair);
}

/** The objects of a list; none where there is no list. */
export function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** A text that says something. */
export function givenText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Usage and errors where the vendor put them, moved to where clients and we look. */
export function liftUsageAndError(holder: JsonObject, repairs: Repairs): void {
  const groq = isJsonObject(holder.x_groq) ? holder.x_groq : {};
  // Groq's own SDK has the error as a string.
  const isError = isJsonObject(groq.error) || givenText(groq.error) !== undefined;
  if (isError && holder.error === undefined) put(holder, "error", groq.error, "error_in_x_groq", repairs);
  if (isJsonObject(groq.usage) && !isJsonObject(holder.usage))
    put(holder, "usage", groq.usage, "usage_in_x_groq", repairs);
  const error = errorWithin(holder);
  if (error !== undefined) put(holder, "error", error, errorPlace(holder), repairs);
  const [first] = Array.isArray(holder.choices) ? (holder.choices as readonly unknown[]) : [];
  if (!isJsonObject(first) || !isJsonObject(first.usage)) return;
  if (!isJsonObject(holder.usage)) holder.usage = first.usage;
  delete first.usage;
  repairs.add("usage_in_choice");
}

/** Where an error stands that is not in its place: MiniMax's `base_resp`, vLLM's chunk that is one, OpenRouter's choice. */
function errorPlace({ base_resp: base, object }: JsonObject): RepairName {
  if (isJsonObject(base) && base.status_code !== 0) return "error_in_base_resp";
  return object === "error" ? "error_without_wrapper" : "error_in_choice";
}

/** Vendors' words for the reasons of the interface. */
const FINISH_WORDS: Readonly<Record<string, string>> = {
  eos: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  model_length: "length",
  max_tokens: "length",
  sensitive: "content_filter",
  tool_use: "tool_calls",
  network_error: "error",
  insufficient_system_resource: "error",
};

/** A vendor's reason to end in the interface's word; `null` where it gives none. */
export function finishWord(reason: unknown): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(FINISH_WORDS, reason) ? (FINISH_WORDS[reason] as string) : reason;
}

/** Arguments as text: some vendors send the object itself. */
export function argumentsText(given: unknown): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  return given === null ? "" : JSON.stringify(given);
}

/**
 * Content given as parts (Mistral): text joined into `content`, which clients join as text, thinking into
 * `reasoning_content`. Parts of any other kind stand whole in `content_parts`, so that nothing is lost.
 */
export function joinContent(holder: JsonObject, repairs: Repairs): void {
  const parts: unknown = holder.content;
  if (!Array.isArray(parts)) return;
  repairs.add("content_parts");
  let text = "";
  let thinking = "";
  const others: unknown[] = [];
  for (const part of parts as readonly unknown[]) {
    if (isJsonObject(part) && part.type === "text") text += textIn(part.text);
    else if (isJsonObject(part) && part.type === "thinking") thinking += textIn(part.thinking);
    else others.push(part);
  }
  holder.content = text === "" && (thinking !== "" || others.length > 0) ? null : text;
  if (thinking !== "") holder.reasoning_content = thinking;
  if (others.length > 0) holder.content_parts = others;
}

/** A text, or those of the parts in its place. */
function textIn(said: unknown): string {
  if (typeof said === "string") return said;
  return objectsIn(said)
    .map(({ text }) => givenText(text) ?? "")
    .join("");
}

/** MiniMax sends an item's whole text again with every chunk; what has come already is taken out. */
export function keepNewDetails(delta: JsonObject, seen: Map<string, string>, repairs: Repairs): void {
  for (const item of objectsIn(delta.reasoning_details)) {
    const { text, format } = item;
    if (typeof text !== "string" || typeof format !== "string" || !/^minimax/i.test(format)) continue;
    const key = JSON.stringify([item.id, item.index]);
    const before = seen.get(key) ?? "";
    const isWhole = before !== "" && text.startsWith(before);
    seen.set(key, isWhole ? text : before + text);
    if (isWhole) put(item, "text", text.slice(before.length), "cumulative_details", repairs);
  }
}
