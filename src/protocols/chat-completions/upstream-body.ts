import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldOf } from "../../catalog/parameter-tables/field.ts";
import type { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { createSeenLists } from "../../core/json/kept.ts";
import { openChanges } from "../changes.ts";
import { type ChatDialect, OPEN_CHAT } from "../chat-dialect.ts";
import { targetSentences } from "../losses.ts";
import type { Place, PlaceNames, RelayTarget, UpstreamBody } from "../protocol.ts";
import { wrong } from "../request-json.ts";
import { checkFields, ignores } from "../field-table.ts";
import { isEmpty } from "./empty.ts";
import { type ChatRequest, refuseUnknownParts } from "./request.ts";
import { CHAT_FIELDS, type ChatRequestBody, type Open } from "./schema.ts";
import { responseFormats, takesField, toolWords } from "./server-limits.ts";
import { readWish, sayThinking, THINKING_FIELDS } from "./thinking.ts";
import { changeMessages, type Way } from "./upstream-messages.ts";

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others:
 * - The model's id becomes the upstream id.
 * - The bound on output stands under the name that the target knows.
 * - `stream_options.include_usage` is set.
 * - A field that the model ignores, that its provider does not take or that nobody knows is taken out with a warning.
 * - What the caller says of thinking is put in the target's own words.
 * - The quirks of `ChatDialect` are applied.
 *
 * Throws a 400 that names a field which the target cannot express.
 */
export function upstreamBody(request: ChatRequest, target: RelayTarget, names?: PlaceNames): UpstreamBody {
  const { chat = OPEN_CHAT, unknownFields } = target;
  const changes = openChanges(targetSentences(target.model.id, names));
  /** The fields of the body that are not dealt with yet. */
  const rest = new Map<string, unknown>();
  for (const name in request.json.value) rest.set(name, request.json.value[name]);
  const way: Way = { request, target, chat, changes, called: (name) => calledBy(names, name) };
  changes.set(["model"], target.upstreamId);
  const thinks = askToThink(way, rest);
  if (unknownFields === "remove") leaveUntaken(way, rest);
  checkFields(rest, target, CHAT_FIELDS, changes, (name) => {
    changes.remove([name]);
    changes.warn({ field: name, place: placeOf(name), why: "no_such_field" });
  });
  if (unknownFields === "remove") refuseUnknownParts(request.body, chat.ownParts);
  checkCacheMarks(request.body);
  checkTools(way);
  checkResponseFormat(way);
  checkStops(way);
  changeMessages(way, thinks);
  boundOutput(way);
  askForUsage(way);
  askForText(way);
  return { body: changes.splice(request.json), warnings: changes.warnings };
}

/** The place that a field has in a request of no format. */
function placeOf(name: string): Place | undefined {
  const place = fieldOf(CHAT, name)?.place;
  return place === "wire" ? undefined : place;
}

/** What the caller calls a field of this format. */
function calledBy(names: PlaceNames | undefined, name: string): string {
  const place = placeOf(name);
  return names === undefined || place === undefined ? name : names[place];
}

/**
 * Says what the caller wants of thinking in the target's own fields; those that say it already keep their bytes.
 * Returns whether the model may think.
 */
function askToThink({ request, target, chat, changes }: Way, rest: Map<string, unknown>): boolean {
  if (target.unknownFields === "pass") return readWish(request.body)?.mode !== "off";
  const { thinking: facts, id } = target.model;
  const { toggle } = chat.thinking;
  const isSilenced = facts?.streamedOnly === true && !request.stream && toggle === "enable_thinking";
  // Most callers say nothing of it: then nothing has to be said to a model that may do as it likes.
  if (!isSilenced && !THINKING_FIELDS.some((name) => rest.has(name)))
    return facts?.streamedOnly !== true || request.stream;
  const { effort: _effort, ...withoutEffort } = chat.thinking;
  const wish = readWish(request.body, (loss) => changes.warn(loss));
  const words = ignores(target, "reasoning_effort") ? withoutEffort : chat.thinking;
  const warnings: string[] = [];
  const fields = sayThinking(wish, words, facts, (sentence) => warnings.push(sentence));
  const extra = toggle === "thinking" ? vendorsOwn(request.json.value.thinking) : {};
  if (Object.keys(extra).length > 0 && facts?.canBeOff !== false)
    fields.thinking = { ...extra, ...(isJsonObject(fields.thinking) ? fields.thinking : {}) };
  const streamedOnly = facts?.streamedOnly === true && !request.stream;
  if (streamedOnly && toggle === "enable_thinking") {
    if (wish !== undefined && wish.mode !== "off")
      changes.warn(`thinking was switched off: ${id} thinks in streams only`);
    fields.enable_thinking = false;
    delete fields.thinking_budget;
  } else for (const warning of warnings) changes.warn(warning);
  for (const name of new Set([...THINKING_FIELDS, ...Object.keys(fields)])) {
    if (!Object.hasOwn(fields, name)) {
      if (rest.has(name)) changes.remove([name]);
    } else if (!says(request.json.value[name], fields[name])) changes.set([name], fields[name]);
    rest.delete(name);
  }
  return wish?.mode !== "off" && !streamedOnly;
}

/** Members of `thinking` that are a vendor's own: `keep` of Moonshot, `clear_thinking` of Z.ai. */
function vendorsOwn(thinking: unknown): JsonObject {
  if (!isJsonObject(thinking)) return {};
  const { type: _type, budget_tokens: _budget, ...extra } = thinking;
  return extra;
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
function leaveUntaken({ request, target, chat, changes, called }: Way, rest: Map<string, unknown>): void {
  const hasTools = !isEmpty(request.body.tools);
  for (const [name, value] of rest) {
    const field = fieldOf(CHAT, name);
    const renamed = Object.hasOwn(chat.renames, name) ? chat.renames[name] : undefined;
    const isIgnored = ignores(target, name);
    if (name === "parallel_tool_calls" && !hasTools) {
      // It says nothing then, and vendors refuse it.
      changes.remove([name]);
    } else if (renamed !== undefined && !isIgnored) {
      if (Object.hasOwn(request.json.value, renamed)) changes.remove([name]);
      else changes.rename([name], renamed);
    } else if (!takes(chat, name, value)) {
      changes.remove([name]);
      const { asks, instead = "leave it out" } = field?.meaning ?? {};
      const provider = `the provider of ${target.model.id}`;
      if (value !== null && asks === undefined)
        changes.warn({ field: name, place: placeOf(name), why: "not_at_provider" });
      if (value !== null && asks?.(value) === true)
        throw wrong(called(name), `cannot be had from ${provider}: ${instead}`);
    } else if (isIgnored || field?.rule === "priced" || chat.takes?.includes(name) !== true) {
      // The table of the format decides.
      continue;
    }
    rest.delete(name);
  }
}

function takes(chat: ChatDialect, name: string, value: unknown): boolean {
  const field = fieldOf(CHAT, name);
  if (name === "n" && !chat.manyChoices && value !== 1 && value !== null) return false;
  // What costs extra is no hint: it is refused, whoever takes it.
  if (field?.rule === "priced" && !field.freeValues.includes(value)) return true;
  return chat.takes === undefined || field === undefined || takesField(chat, name);
}

/** A choice of tools, and tools, that the vendor cannot do. */
function checkTools({ request: { body }, chat, changes, called }: Way): void {
  const custom = chat.customTools ? -1 : (body.tools ?? []).findIndex((tool) => tool.type === "custom");
  if (custom !== -1)
    throw wrong(`tools[${custom}].type`, "must be function: this model's provider has no custom tools");
  const choice = body.tool_choice;
  if (choice === undefined || choice === "auto" || chat.toolChoice === "full") return;
  if (typeof choice !== "string" || !toolWords(chat).includes(choice)) {
    const words = chat.toolChoice === "words" ? "auto, none or required" : "auto or none";
    throw wrong(called("tool_choice"), `must be ${words}: this model's provider has no other`);
  }
  if (choice !== "none" || chat.toolChoice !== "auto") return;
  // A model without tools calls none.
  for (const name of ["tools", "tool_choice", "parallel_tool_calls"]) changes.remove([name]);
}

function checkResponseFormat({ request, chat, called }: Way): void {
  const type = request.body.response_format?.type ?? "text";
  if (type === "text") return;
  const taken = responseFormats(chat);
  if (taken.includes(type)) return;
  const words = taken.toReversed().join(" or ");
  throw wrong(called("response_format"), `must be ${words}: this model's provider has no ${type}`);
}

function checkStops({ request: { body }, target, chat, changes, called }: Way): void {
  const count = Array.isArray(body.stop) ? body.stop.length : 0;
  if (count <= chat.mostStops || changes.removes(["stop"])) return;
  const most = `the provider of ${target.model.id} takes at most ${chat.mostStops}`;
  throw wrong(called("stop"), `has ${count} texts, and ${most}`);
}

/** Servers of this format tell one count of cache writes: a mark that makes them dearer has no price. */
function checkCacheMarks({ messages, tools }: ChatRequestBody): void {
  for (let i = fiveMinutes.count(messages); i < messages.length; i += 1) {
    const message = messages[i] as (typeof messages)[number];
    if (hasDearMark(message)) throw dearMark(`messages[${i}]`);
    const at = Array.isArray(message.content) ? message.content.findIndex(hasDearMark) : -1;
    if (at !== -1) throw dearMark(`messages[${i}].content[${at}]`);
  }
  fiveMinutes.add(messages);
  const at = tools?.findIndex(hasDearMark) ?? -1;
  if (at !== -1) throw dearMark(`tools[${at}]`);
}

function hasDearMark({ cache_control: mark }: Open<object>): boolean {
  const ttl = isJsonObject(mark) ? mark.ttl : undefined;
  return ttl !== undefined && ttl !== null && ttl !== "5m";
}

function dearMark(path: string): GatewayError {
  return wrong(`${path}.cache_control.ttl`, 'changes the price, and only "5m" has a price here');
}

/** Messages without a mark that has no price. */
const fiveMinutes = createSeenLists();

function boundOutput({ request: { body }, target, changes }: Way): void {
  const { maxTokensField: field, maxOutput: most } = target.model;
  const name = MAX_FIELDS.find((candidate) => body[candidate] !== undefined);
  if (name === undefined && target.outputBound === undefined) return;
  // One bound goes up: the alias, and one that was null, would stand beside it under the same name.
  for (const other of MAX_FIELDS) if (other !== (name ?? field)) changes.remove([other]);
  if (name === undefined) return changes.set([field], target.outputBound);
  if (name !== field) changes.rename([name], field);
  if (most === null || (body[name] ?? 0) <= most) return;
  changes.set([name], most);
  changes.warn({ field: name, place: "maxOutputTokens", why: "most_output", most });
}

/** The first that is set counts. */
const MAX_FIELDS = ["max_completion_tokens", "max_tokens"] as const;

/** Without a word of it the answer is text; models that put out images give those too, at their own price. */
function askForText({ request, target, chat, changes }: Way): void {
  if (request.body.modalities !== undefined || !target.model.outputModalities.includes("image")) return;
  if (target.unknownFields === "remove" && !takes(chat, "modalities", null)) return;
  changes.set(["modalities"], ["text"]);
}

/** Without usage in the stream there would be nothing to bill by; a vendor that does not know the option tells it unasked. */
function askForUsage({ request: { body, stream }, target, changes }: Way): void {
  // Without a stream it says nothing, and vendors refuse it.
  const isTaken = target.streamUsageOption && stream;
  if (!isTaken && target.unknownFields === "remove") changes.remove(["stream_options"]);
  if (!isTaken || body.stream_options?.include_usage === true) return;
  if (body.stream_options === undefined) changes.set(["stream_options"], { include_usage: true });
  else changes.set(["stream_options", "include_usage"], true);
}
