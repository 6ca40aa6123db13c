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

/** Told of a repair that was needed. */
export type Mark = (name: RepairName) => void;

/** Usage and errors where the vendor put them, moved to where clients and we look. */
export function liftUsageAndError(holder: JsonObject, mark: Mark): void {
  const groq = holder.x_groq;
  if (isJsonObject(groq)) {
    // Groq's own SDK has it as a string.
    if (isError(groq.error) && holder.error === undefined) {
      holder.error = groq.error;
      mark("error_in_x_groq");
    }
    if (isJsonObject(groq.usage) && !isJsonObject(holder.usage)) {
      holder.usage = groq.usage;
      mark("usage_in_x_groq");
    }
  }
  liftError(holder, mark);
  const first: unknown = Array.isArray(holder.choices) ? holder.choices[0] : undefined;
  if (!isJsonObject(first) || !isJsonObject(first.usage)) return;
  if (!isJsonObject(holder.usage)) holder.usage = first.usage;
  delete first.usage;
  mark("usage_in_choice");
}

function isError(value: unknown): boolean {
  return isJsonObject(value) || (typeof value === "string" && value !== "");
}

/** An error beside the place for errors: MiniMax's `base_resp`, OpenRouter's choice, vLLM's chunk that is one. */
function liftError(holder: JsonObject, mark: Mark): void {
  if (holder.error !== undefined && holder.error !== null) return;
  const error = errorWithin(holder);
  if (error === undefined) return;
  holder.error = error;
  const base = isJsonObject(holder.base_resp) && holder.base_resp.status_code !== 0;
  mark(base ? "error_in_base_resp" : holder.object === "error" ? "error_without_wrapper" : "error_in_choice");
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
export function repairArguments(called: JsonObject): boolean {
  if (called.arguments === undefined || typeof called.arguments === "string") return false;
  called.arguments = called.arguments === null ? "" : JSON.stringify(called.arguments);
  return true;
}

/**
 * Content given as parts (Mistral): text joined into `content`, which clients join as text, thinking into
 * `reasoning_content`. Parts of any other kind stand whole in `content_parts`, so that nothing is lost.
 */
export function splitContent(holder: JsonObject): boolean {
  const parts = holder.content;
  if (!Array.isArray(parts)) return false;
  let text = "";
  let thinking = "";
  const others: unknown[] = [];
  for (const part of parts as readonly unknown[]) {
    if (isJsonObject(part) && part.type === "text") text += typeof part.text === "string" ? part.text : "";
    else if (isJsonObject(part) && part.type === "thinking") thinking += thinkingText(part.thinking);
    else others.push(part);
  }
  holder.content = text === "" && (thinking !== "" || others.length > 0) ? null : text;
  if (thinking !== "") holder.reasoning_content = thinking;
  if (others.length > 0) holder.content_parts = others;
  return true;
}

function thinkingText(thinking: unknown): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  return thinking
    .map((part) => (isJsonObject(part) && typeof part.text === "string" ? part.text : ""))
    .join("");
}
