import { filledText, isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { type CarrierKey, isCarrier, openCarrier } from "../carrier.ts";
import { type Changes, openChanges } from "../changes.ts";
import { checkFields } from "../field-table.ts";
import { targetSentences } from "../losses.ts";
import { printable, printableName } from "../printable.ts";
import type { PlaceNames, RelayTarget, UpstreamBody } from "../protocol.ts";
import { wrong } from "../request-json.ts";
import { isOpenAi, leastOutput } from "./demand.ts";
import { isHosted, isSearch, isServed } from "./hosted-tools.ts";
import { itemType } from "./kept.ts";
import { ownName } from "./own-name.ts";
import type { ResponsesRequest } from "./request.ts";
import {
  RESPONSES_FIELDS,
  type ResponsesItem,
  type ResponsesRequestBody,
  type ResponsesTool,
} from "./schema.ts";
import { takesAllTools } from "./target.ts";

/** Asks for what the model wants back with its reasoning, as nothing is stored. */
const SEALED_REASONING = "reasoning.encrypted_content";

/** Ids of items by what they begin with; one of another's making is refused by the provider. */
const ITEM_IDS = /^[a-z]{2,4}_[A-Za-z0-9_-]{1,60}$/;
const FOREIGN_IDS = /^(call|item|fco|at)_/;

/** What only servers have that know all of the format; others may refuse the whole request for it. */
const OPENAI_ONLY = ["context_management", "moderation"];

/** Members of a request that its answer repeats, and that the provider is not sent as they are. */
const ECHOED = [
  "store",
  "previous_response_id",
  "metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
] as const;

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others:
 * - The model's id becomes the upstream id.
 * - `store: false` is set, and sealed reasoning is asked for.
 * - Names of the caller's users and caches become ones that no other account shares.
 * - Fields that the model or the format does not have are left out with a warning.
 * - Tools that run at the provider without a price are left out with a warning.
 * - Reasoning in the input that this provider cannot read is left out.
 *
 * What it named of earlier answers stands in it.
 */
export function upstreamBody(
  request: ResponsesRequest,
  target: RelayTarget,
  names?: PlaceNames,
): UpstreamBody {
  const { body, json, stream, carrier } = request;
  refuseUnpriced(request);
  const changes = openChanges(targetSentences(target.model.id, names));
  const rest = new Map(Object.entries(json.value));
  changes.set(["model"], target.upstreamId);
  // One account at the provider serves many: what it stored could be read by whoever holds its id.
  changes.set(["store"], false);
  const include = leaveUnknownParts(request, changes);
  // Servers of open weights seal nothing, and some refuse to be asked for it.
  if (target.native && !include.includes(SEALED_REASONING))
    changes.set(["include"], [...include, SEALED_REASONING]);
  for (const name of ["metadata", "client_metadata", "previous_response_id", "background"])
    changes.remove([name]);
  if (!takesAllTools(target) && target.unknownFields === "remove")
    for (const field of OPENAI_ONLY)
      if (rest.delete(field)) {
        changes.remove([field]);
        changes.warn({ field, why: "not_at_provider" });
      }
  for (const name of ["prompt_cache_key", "user", "safety_identifier"] as const)
    if (body[name] !== undefined) changes.set([name], ownName(carrier, body[name]));
  if (body.service_tier !== undefined && body.service_tier !== "auto" && body.service_tier !== "default") {
    changes.set(["service_tier"], "default");
    changes.warn("service_tier became default: another one has no price here");
  }
  checkFields(rest, target, RESPONSES_FIELDS, changes);
  leaveUnserved(request, target, changes);
  const { input } = body;
  if (typeof input !== "string") changeItems(input, { target, carrier }, changes);
  boundOutput(request, target, changes);
  flattenFormat(request, changes);
  changes.remove(["prompt_cache_options", "comparison_response_id"]);
  if (!stream) changes.remove(["stream_options"]);
  const echo: JsonObject = Object.fromEntries(
    ECHOED.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  );
  return {
    body: changes.splice(json),
    warnings: changes.warnings,
    echo: { store: true, ...echo },
  };
}

/** Fields of a request to count: https://platform.openai.com/docs/api-reference/responses/input-tokens */
const COUNTED: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "tool_choice",
  "tools",
  "truncation",
]);

/** A request to count, as the target takes it: what it would ask of an answer is left out. */
export function countBody(request: ResponsesRequest, target: RelayTarget): UpstreamBody {
  const { body, json, carrier } = request;
  const changes = openChanges(targetSentences(target.model.id));
  changes.set(["model"], target.upstreamId);
  for (const name of Object.keys(json.value)) if (!COUNTED.has(name)) changes.remove([name]);
  leaveUnserved(request, target, changes);
  if (typeof body.input !== "string") changeItems(body.input, { target, carrier }, changes);
  flattenFormat(request, changes);
  return { body: changes.splice(json), warnings: changes.warnings };
}

/** A conversation to be made shorter, as the target takes it. */
export function compactBody(request: ResponsesRequest, target: RelayTarget): UpstreamBody {
  const { body, json, carrier } = request;
  const changes = openChanges(targetSentences(target.model.id));
  changes.set(["model"], target.upstreamId);
  for (const name of Object.keys(json.value)) if (!COMPACTED.has(name)) changes.remove([name]);
  if (body.prompt_cache_key !== undefined)
    changes.set(["prompt_cache_key"], ownName(carrier, body.prompt_cache_key));
  if (typeof body.input !== "string") changeItems(body.input, { target, carrier }, changes);
  return { body: changes.splice(json), warnings: changes.warnings };
}

/** Its fields, but for those that have a price of their own. */
const COMPACTED: ReadonlySet<string> = new Set(["model", "input", "instructions", "prompt_cache_key"]);

/** What is asked for beside the answer, without what no provider knows: it would refuse the whole request for it. */
function leaveUnknownParts({ body }: Pick<ResponsesRequest, "body">, changes: Changes): readonly string[] {
  const { include = [] } = body;
  const known = include.filter((part) => INCLUDED.has(part));
  if (known.length === include.length) return include;
  for (const part of include)
    if (!INCLUDED.has(part)) changes.warn(`include ${printable(part)} was left out: it is not known`);
  changes.set(["include"], known);
  return known;
}

/** Source: `ResponseIncludable` of openai-node 7.57. */
const INCLUDED: ReadonlySet<string> = new Set([
  SEALED_REASONING,
  "message.output_text.logprobs",
  "message.input_image.image_url",
  "web_search_call.action.sources",
  "web_search_call.results",
  "file_search_call.results",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
]);

/** Throws a 400 that names a member which makes the answer dearer, and has no price here. */
function refuseUnpriced({ body, json }: ResponsesRequest): void {
  const mode = body.reasoning?.mode ?? "standard";
  const cache = json.value.prompt_cache_options;
  if (mode !== "standard")
    throw wrong("reasoning.mode", 'changes the price, and only "standard" has a price here');
  if (!isJsonObject(cache)) return;
  if ((cache.ttl ?? "30m") !== "30m")
    throw wrong("prompt_cache_options.ttl", 'changes the price, and only "30m" has a price here');
  if ((cache.prewarm ?? false) !== false)
    throw wrong("prompt_cache_options.prewarm", "is not served: leave it out");
}

/** Many write the schema as chat completions have it, one level deeper. */
function flattenFormat({ body }: ResponsesRequest, changes: Changes): void {
  const format: Readonly<JsonObject> = body.text?.format ?? {};
  const { json_schema: nested, ...rest } = format;
  if (format.type !== "json_schema" || !isJsonObject(nested)) return;
  changes.set(["text", "format"], { ...rest, ...nested, type: "json_schema" });
}

function boundOutput(
  { body }: ResponsesRequest,
  { model, outputBound }: RelayTarget,
  changes: Changes,
): void {
  const { max_output_tokens: asked } = body;
  const most = model.maxOutput;
  const least = leastOutput(model);
  if (asked !== undefined && asked < least) {
    changes.set(["max_output_tokens"], least);
    return changes.warn({ field: "max_output_tokens", place: "maxOutputTokens", why: "least_taken", least });
  }
  if (asked === undefined && outputBound !== undefined) changes.set(["max_output_tokens"], outputBound);
  if (asked === undefined || most === null || asked <= most) return;
  changes.set(["max_output_tokens"], most);
  changes.warn({ field: "max_output_tokens", place: "maxOutputTokens", why: "most_output", most });
}

/** Takes out tools that run at the provider and have no price. Throws where nothing else could be called. */
function leaveUnserved({ body }: ResponsesRequest, { model }: RelayTarget, changes: Changes): void {
  const { tools = [], tool_choice: choice, input } = body;
  const unserved = tools.flatMap((tool, i) => (isServed(tool, model) ? [] : [{ tool, i }]));
  const [first] = unserved;
  if (first === undefined) return;
  // A search has several names.
  const isLeft = (type: unknown): boolean =>
    unserved.some(({ tool }) => tool.type === type || (isSearch(tool) && isSearch({ type })));
  const served = tools.filter((tool) => isServed(tool, model));
  const isAlone = served.length === 0 && !bringsTools(input);
  if (isAlone || (isJsonObject(choice) && isLeft(choice.type)))
    throw wrong(
      `tools[${first.i}].type`,
      `is ${printable(first.tool.type)}, which runs at the provider and has no price here: leave it out`,
    );
  for (const { tool, i } of unserved)
    changes.warn(
      `tools[${i}] was left out: ${printable(tool.type)} runs at the provider and has no price here`,
    );
  if (served.length === 0) changes.remove(["tools"]);
  else changes.set(["tools"], served);
  if (isJsonObject(choice) && choice.type === "allowed_tools") leaveChoices(choice, isLeft, changes);
}

/** Whether items of the input offer tools, too. */
function bringsTools(input: ResponsesRequestBody["input"]): boolean {
  return typeof input !== "string" && input.some(({ type }) => OFFERS.has(type ?? ""));
}

/** Items that offer tools. */
const OFFERS: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

/** Takes tools that were left out from those that may be called. Throws where no other may be. */
function leaveChoices(choice: JsonObject, isLeft: (type: unknown) => boolean, changes: Changes): void {
  const chosen = objectsIn(choice.tools);
  const kept = chosen.filter(({ type }) => !isLeft(type));
  if (kept.length === chosen.length) return;
  if (kept.length === 0)
    throw wrong("tool_choice.tools", "has no other than tools that run at the provider without a price here");
  changes.set(["tool_choice"], { ...choice, tools: kept });
}

/** For whom items are, and whose. */
interface ItemTerms {
  readonly target: RelayTarget;
  readonly carrier: CarrierKey | undefined;
}

/**
 * Leaves out reasoning that the provider cannot read. The provider keeps none, so it does not know what is not sealed.
 * What a carrier of ours holds is another's. The ids of what followed it in its turn go too: each is bound to its
 * reasoning.
 */
function changeItems(
  items: readonly ResponsesItem[],
  { target, carrier }: ItemTerms,
  changes: Changes,
): void {
  const left = new Set<number>();
  const told = new Map<number, JsonObject>();
  const tell = (i: number, item: JsonObject): void => {
    told.set(i, item);
    changes.set(["input", i], item);
  };
  let isBound = false;
  if (!isOpenAi(target.model)) leavePhases(items, changes);
  items.forEach((item, i) => {
    const { type, encrypted_content: sealed, id } = item;
    if (type === "reasoning") {
      const readable = readableReasoning(item, target);
      isBound = readable === undefined;
      const isLonely = !isBound && takesAllTools(target) && isLastThought(items, i);
      if (isBound || isLonely) {
        left.add(i);
        const why = isLonely ? "it led to nothing" : "another model's reasoning";
        if (typeof sealed === "string") changes.warn(`input[${i}] was left out: ${why}`);
      } else if (readable !== undefined && readable !== item) tell(i, readable);
      return;
    }
    if (!isOfAnswer(item)) isBound = false;
    if (type === null) changes.remove(["input", i, "type"]);
    if (isNamelessOutput(item)) {
      const message = userMessage(item);
      if (message === undefined) left.add(i);
      else tell(i, message);
      return changes.warn(`input[${i}] has no call_id: it was sent as the user's`);
    }
    if (type === "compaction" && typeof sealed === "string" && isCarrier(sealed))
      return tell(i, compactedMessage(sealed, carrier, `input[${i}]`));
    const offered = withoutHosted(item, `input[${i}]`, changes);
    if (offered !== undefined) return tell(i, offered);
    const isForeign = typeof id === "string" && (FOREIGN_IDS.test(id) || !ITEM_IDS.test(id));
    if (id !== undefined && (isForeign || isBound)) changes.remove(["input", i, "id"]);
  });
  if (left.size === 0) return;
  const kept = items.flatMap((item, i) => {
    if (left.has(i)) return [];
    const message = told.get(i);
    if (message !== undefined) return [message];
    return [
      Object.fromEntries(Object.entries(item).filter(([name]) => !changes.removes(["input", i, name]))),
    ];
  });
  changes.set(["input"], kept);
}

/**
 * A reasoning item as the target takes it, the same where it takes it as it is; `undefined` for one that it cannot read.
 * Whoever seals reasoning wants the seal and no words; servers of open weights show it, and want the words back.
 */
function readableReasoning(item: ResponsesItem, target: RelayTarget): JsonObject | undefined {
  const { model, native } = target;
  const { encrypted_content: sealed, content, ...rest }: Readonly<JsonObject> = item;
  const words = objectsIn(content);
  // The provider refuses reasoning without a summary, and clients drop an empty one.
  const summary = Array.isArray(rest.summary) ? rest.summary : [];
  if (!native && words.length > 0)
    return sealed === undefined && rest.summary === summary ? item : { ...rest, summary, content: words };
  if (typeof sealed !== "string" || isCarrier(sealed) || isSealedByOthers(sealed, target)) return undefined;
  const isWordy = isOpenAi(model) && words.length > 0;
  if (!isWordy) return rest.summary === summary ? item : { ...item, summary };
  return { ...rest, summary, encrypted_content: sealed };
}

/** OpenAI seals in base64 for URLs, and always begins like this; other vendors do neither. */
function isSealedByOthers(sealed: string, { model, functionsOnly }: RelayTarget): boolean {
  return isOpenAi(model) ? /[+/]/.test(sealed) : functionsOnly === true && sealed.startsWith("gAAAA");
}

/** Whether somebody else speaks behind a thought, or nobody: of an answer that was cut off. OpenAI refuses such a one. */
function isLastThought(items: readonly ResponsesItem[], place: number): boolean {
  let at = place + 1;
  while (items[at]?.type === "reasoning") at += 1;
  const next = items[at];
  if (next === undefined || next.type?.endsWith("_output") === true) return true;
  return itemType(next) === "message" && next.role !== "assistant";
}

/** Whether a message comments or answers is OpenAI's own word: no other vendor's model has it. */
function leavePhases(items: readonly ResponsesItem[], changes: Changes): void {
  for (const [i, item] of items.entries()) if ("phase" in item) changes.remove(["input", i, "phase"]);
}

/**
 * An item that offers tools, without those that run at the provider: its bill for them is not foreseen. `undefined` where
 * there are none.
 */
function withoutHosted(item: ResponsesItem, path: string, changes: Changes): JsonObject | undefined {
  if (!OFFERS.has(item.type ?? "")) return undefined;
  const { id: _id, ...rest } = item;
  const tools = objectsIn((rest as Readonly<JsonObject>).tools);
  const isOwn = (tool: Readonly<JsonObject>): boolean =>
    typeof tool.type === "string" && !isHosted(tool as ResponsesTool);
  const own = tools.filter(isOwn);
  if (own.length === tools.length) return undefined;
  for (const [i, tool] of tools.entries())
    if (!isOwn(tool))
      changes.warn(`${path}.tools[${i}] was left out: ${printableName(tool.type)} runs at the provider`);
  return { ...rest, tools: own };
}

/** A summary that another model wrote here, as its provider is told any. */
function compactedMessage(sealed: string, carrier: CarrierKey | undefined, path: string): JsonObject {
  const carried = openCarrier(sealed, carrier);
  if (carried?.kind !== "compaction")
    throw wrong(`${path}.encrypted_content`, "is sealed for somebody else: send the conversation itself");
  const content = [{ type: "input_text", text: carried.text }];
  return { type: "message", role: "developer", content };
}

/** Whether an item is what a call gave back, and does not say which. Codex is seen to send such: openai/codex#42088. */
function isNamelessOutput({ type, call_id: callId }: ResponsesItem): boolean {
  const isOutput = type === "function_call_output" || type === "custom_tool_call_output";
  return isOutput && filledText(callId) === undefined;
}

/** What a call gave back, as the user's own words; `undefined` where that is nothing. */
function userMessage({ output }: Readonly<JsonObject>): JsonObject | undefined {
  const content = typeof output === "string" ? [{ type: "input_text", text: output }] : objectsIn(output);
  return output === "" || content.length === 0 ? undefined : { type: "message", role: "user", content };
}

/** Whether an item is what the model said, and not what it was told. */
function isOfAnswer({ type, role }: ResponsesItem): boolean {
  return role === "assistant" || type?.endsWith("_call") === true;
}
