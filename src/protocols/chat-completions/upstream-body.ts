import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldOf } from "../../catalog/parameter-tables/field.ts";
import type { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { type Changes, openChanges } from "../changes.ts";
import { type ChatDialect, OPEN_CHAT, type ThinkingFields } from "../chat-dialect.ts";
import { targetSentences } from "../losses.ts";
import type { RelayTarget, UpstreamBody } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import { checkFields, type FieldTable, ignores } from "../field-table.ts";
import { type ChatRequest, unknownPart } from "./request.ts";
import { CHAT_FIELDS } from "./schema.ts";
import { takesField, toolWords } from "./server-limits.ts";
import { readWish, sayThinking, THINKING_FIELDS } from "./thinking.ts";
import { changeMessages } from "./upstream-messages.ts";

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others: the model's upstream id,
 * the bound on output under the name the target knows, `stream_options.include_usage`, fields that the model ignores, that
 * its provider does not take or that nobody knows taken out with a warning, what is said of thinking in the target's own
 * words, and the quirks of `ChatDialect`. Throws a 400 that names a field which the target cannot express.
 */
export function upstreamBody(request: ChatRequest, target: RelayTarget): UpstreamBody {
  const chat = target.chat ?? OPEN_CHAT;
  const changes = openChanges(targetSentences(target.model.id));
  changes.set(["model"], target.upstreamId);
  const rest: Rest = new Map(Object.entries(request.json.value));
  const thinks = askToThink(request, target, chat, changes, rest);
  leaveUntaken(request, target, chat, changes, rest);
  checkFields(rest, target, tableFor(chat), changes, (name) => {
    changes.remove([name]);
    changes.warn(`${name} was left out: this model's provider has no such field`);
  });
  checkParts(request, target, chat);
  checkCacheMarks(request);
  checkTools(request, chat, changes);
  checkResponseFormat(request, chat);
  changeMessages(request, target, chat, thinks, changes);
  boundOutput(request, target, changes);
  askForUsage(request, target, changes);
  askForText(request, target, chat, changes);
  return { body: changes.splice(request.json), warnings: changes.warnings };
}

/** The fields of a body that are not dealt with yet. */
type Rest = Map<string, unknown>;

/**
 * Says what the caller wants of thinking in the target's own fields; those that say it already keep their bytes.
 * Returns whether the model may think.
 */
function askToThink(
  request: ChatRequest,
  target: RelayTarget,
  chat: ChatDialect,
  changes: Changes,
  rest: Rest,
): boolean {
  const wish = readWish(request.body);
  if (target.unknownFields === "pass") return wish?.mode !== "off";
  const words = ignores(target, "reasoning_effort") ? withoutEffort(chat.thinking) : chat.thinking;
  const said =
    wish === undefined ? { fields: {}, warnings: [] } : sayThinking(wish, words, target.model.thinking);
  const fields: Record<string, unknown> = { ...said.fields };
  const { reasoning, reasoning_effort: effort } = request.body;
  if (typeof effort === "string" && typeof reasoning?.effort === "string" && reasoning.effort !== effort)
    changes.warn("reasoning was left out: reasoning_effort says otherwise");
  const extra = chat.thinking.toggle === "thinking" ? vendorsOwn(request.json.value.thinking) : {};
  if (Object.keys(extra).length > 0 && target.model.thinking?.canBeOff !== false)
    fields.thinking = { ...extra, ...(isJsonObject(fields.thinking) ? fields.thinking : {}) };
  const streamedOnly = target.model.thinking?.streamedOnly === true && !request.stream;
  if (streamedOnly && chat.thinking.toggle === "enable_thinking") {
    if (wish !== undefined && wish.mode !== "off")
      changes.warn(`thinking was switched off: ${target.model.id} thinks in streams only`);
    fields.enable_thinking = false;
    delete fields.thinking_budget;
  } else for (const warning of said.warnings) changes.warn(warning);
  for (const name of THINKING_FIELDS) if (!Object.hasOwn(fields, name)) changes.remove([name]);
  for (const [name, value] of Object.entries(fields))
    if (!says(request.json.value[name], value)) changes.set([name], value);
  for (const name of [...THINKING_FIELDS, ...Object.keys(fields)]) rest.delete(name);
  return wish?.mode !== "off" && !streamedOnly;
}

/** Members of `thinking` that are a vendor's own: `keep` of Moonshot, `clear_thinking` of Z.ai. */
function vendorsOwn(thinking: unknown): JsonObject {
  if (!isJsonObject(thinking)) return {};
  const { type: _type, budget_tokens: _budget, ...extra } = thinking;
  return extra;
}

function withoutEffort({ effort: _effort, ...words }: ThinkingFields): ThinkingFields {
  return words;
}

/** Whether what the caller wrote has all that is to be said; what else it says to the vendor (`keep`) stays. */
function says(written: unknown, wanted: unknown): boolean {
  if (!isJsonObject(wanted)) return written === wanted;
  return (
    isJsonObject(written) &&
    Object.keys(wanted).every((name) => written[name] === wanted[name]) &&
    !("budget_tokens" in written)
  );
}

/** Leaves out the fields of the reference that this provider does not take, or has under another name. */
function leaveUntaken(
  request: ChatRequest,
  target: RelayTarget,
  chat: ChatDialect,
  changes: Changes,
  rest: Rest,
): void {
  if (target.unknownFields === "pass") return;
  const calls = request.body.tools?.length ?? 0;
  for (const [name, value] of rest) {
    const renamed = Object.hasOwn(chat.renames, name) ? chat.renames[name] : undefined;
    if (name === "parallel_tool_calls" && calls === 0) {
      // It says nothing then, and vendors refuse it.
      rest.delete(name);
      changes.remove([name]);
    } else if (renamed !== undefined && !ignores(target, name)) {
      rest.delete(name);
      if (rest.has(renamed)) changes.remove([name]);
      else changes.rename([name], renamed);
    } else if (!takes(chat, name, value)) {
      rest.delete(name);
      changes.remove([name]);
      if (value === null) continue;
      const meaning = fieldOf(CHAT, name)?.meaning;
      if (meaning?.asks === undefined)
        changes.warn(`${name} was left out: the provider of ${target.model.id} does not take it`);
      else if (meaning.asks(value)) {
        const instead = meaning.instead ?? "leave it out";
        throw invalid(`${name} cannot be had from the provider of ${target.model.id}: ${instead}.`, name);
      }
    }
  }
}

function takes(chat: ChatDialect, name: string, value: unknown): boolean {
  const field = fieldOf(CHAT, name);
  if (name === "n" && !chat.manyChoices && value !== 1 && value !== null) return false;
  if (chat.takes === undefined || field === undefined) return true;
  // What costs extra is no hint: it is refused, whoever takes it.
  if (field.rule === "priced" && !field.freeValues.includes(value)) return true;
  return takesField(chat, name);
}

const tables = new WeakMap<ChatDialect, FieldTable>();

/** The table of the format, and the fields that are the vendor's own. */
function tableFor(chat: ChatDialect): FieldTable {
  const known = tables.get(chat);
  if (known !== undefined) return known;
  const own = (chat.takes ?? []).filter((name) => CHAT_FIELDS.fields[name]?.rule !== "priced");
  const fields = {
    ...CHAT_FIELDS.fields,
    ...Object.fromEntries(own.map((name) => [name, { rule: "free" }] as const)),
  };
  const table: FieldTable = { ...CHAT_FIELDS, fields };
  tables.set(chat, table);
  return table;
}

/** A choice of tools, and tools, that the vendor cannot do. */
function checkTools({ body }: ChatRequest, chat: ChatDialect, changes: Changes): void {
  const custom = chat.customTools ? -1 : (body.tools ?? []).findIndex((tool) => tool.type === "custom");
  if (custom !== -1) {
    const path = `tools[${custom}].type`;
    throw invalid(`${path} must be function: this model's provider has no custom tools.`, path);
  }
  const choice = body.tool_choice;
  if (choice === undefined || choice === "auto" || chat.toolChoice === "full") return;
  if (typeof choice !== "string" || !toolWords(chat).includes(choice)) {
    const words = chat.toolChoice === "words" ? "auto, none or required" : "auto or none";
    throw invalid(`tool_choice must be ${words}: this model's provider has no other.`, "tool_choice");
  }
  if (choice !== "none" || chat.toolChoice !== "auto") return;
  // A model without tools calls none.
  for (const name of ["tools", "tool_choice", "parallel_tool_calls"]) changes.remove([name]);
}

function checkResponseFormat({ body }: ChatRequest, chat: ChatDialect): void {
  const type = body.response_format?.type;
  if (type === "json_schema" && !chat.jsonSchema) throw noFormat("json_object or text", "json_schema");
  if (type === "json_object" && !chat.jsonObject) throw noFormat("json_schema or text", "json_object");
}

function noFormat(words: string, what: string): GatewayError {
  return invalid(
    `response_format must be ${words}: this model's provider has no ${what}.`,
    "response_format",
  );
}

function checkParts(request: ChatRequest, target: RelayTarget, chat: ChatDialect): void {
  if (target.unknownFields === "pass") return;
  const path = unknownPart(request.body, chat.ownParts);
  if (path !== undefined) {
    throw invalid(`${path} must be one of text, image_url, video_url, audio_url, input_audio, file.`, path);
  }
}

/** Servers of this format tell one count of cache writes: a mark that makes them dearer has no price. */
function checkCacheMarks({ body }: ChatRequest): void {
  const check = (value: object, path: string): void => {
    const mark = (value as { readonly cache_control?: unknown }).cache_control;
    const ttl = isJsonObject(mark) ? mark.ttl : undefined;
    if (ttl === undefined || ttl === null || ttl === "5m") return;
    const at = `${path}.cache_control.ttl`;
    throw invalid(`${at} changes the price, and only "5m" has a price here.`, at);
  };
  body.messages.forEach((message, i) => {
    check(message, `messages[${i}]`);
    if (Array.isArray(message.content))
      message.content.forEach((part, j) => check(part, `messages[${i}].content[${j}]`));
  });
  body.tools?.forEach((tool, i) => check(tool, `tools[${i}]`));
}

function boundOutput({ body }: ChatRequest, target: RelayTarget, changes: Changes): void {
  const field = target.model.maxTokensField;
  const name = MAX_FIELDS.find((candidate) => body[candidate] !== undefined);
  if (name === undefined && target.outputBound === undefined) return;
  // One bound goes up: the alias, and one that was null, would stand beside it under the same name.
  for (const other of MAX_FIELDS) if (other !== (name ?? field)) changes.remove([other]);
  if (name === undefined) return changes.set([field], target.outputBound);
  if (name !== field) changes.rename([name], field);
  const most = target.model.maxOutput;
  if (most === null || (body[name] ?? 0) <= most) return;
  changes.set([name], most);
  changes.warn(`${name} was lowered to ${most}: ${target.model.id} puts out no more`);
}

/** The first that is set counts. */
const MAX_FIELDS = ["max_completion_tokens", "max_tokens"] as const;

/** Without a word of it the answer is text; models that put out images give those too, at their own price. */
function askForText({ body }: ChatRequest, target: RelayTarget, chat: ChatDialect, changes: Changes): void {
  if (body.modalities !== undefined || !target.model.outputModalities.includes("image")) return;
  if (target.unknownFields === "remove" && !takes(chat, "modalities", null)) return;
  changes.set(["modalities"], ["text"]);
}

/** Without usage in the stream there would be nothing to bill by; a vendor that does not know the option tells it unasked. */
function askForUsage({ body, stream }: ChatRequest, target: RelayTarget, changes: Changes): void {
  // Without a stream it says nothing, and vendors refuse it.
  const isTaken = target.streamUsageOption && stream;
  if (!isTaken && target.unknownFields === "remove") changes.remove(["stream_options"]);
  if (!isTaken || body.stream_options?.include_usage === true) return;
  if (body.stream_options === undefined) changes.set(["stream_options"], { include_usage: true });
  else changes.set(["stream_options", "include_usage"], true);
}
