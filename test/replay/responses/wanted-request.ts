import { SEALED } from "./tokens.ts";
import type { OwnRefusal } from "../expected-refusal.ts";
import { type Changes, hostilePair, plainPair, type RequestPair } from "../request-pair.ts";
import type { Json } from "../wire-json.ts";

/** Tools that run at the caller's; of all others only searches have a price in these tests. */
const RUN_BY_CALLER = /^(function|custom|namespace|tool_search|apply_patch|local_shell)$/;
const SEARCH = /^web_search/;

/** Whether the model may be offered a tool. */
function isServed({ type, environment }: Json): boolean {
  if (type === "shell") return (environment?.type ?? "local") === "local";
  return RUN_BY_CALLER.test(type) || SEARCH.test(type);
}

const REFUSED: Readonly<Record<string, string>> = {
  background: "would be kept at the provider",
  conversation: "would be kept at the provider",
  prompt: "is kept in somebody's account",
  previous_response_id: "nobody here has kept that answer",
};

/** The refusal of a request that asks for what is kept in somebody's account, or costs what has no price. */
export function refusedByUs(body: Json): OwnRefusal | undefined {
  for (const [field, why] of Object.entries(REFUSED))
    if (body[field] !== undefined && body[field] !== null && body[field] !== false)
      return { fields: [field], why };
  if (body.reasoning?.mode === "pro") return { fields: ["reasoning.mode"], why: "priced, and has no price" };
  const tools: readonly Json[] = body.tools ?? [];
  const fields = tools.flatMap((tool, i) => (isServed(tool) ? [] : [`tools[${i}].type`]));
  const isForced = tools.some((tool) => !isServed(tool) && tool.type === body.tool_choice?.type);
  if (fields.length > 0 && (fields.length === tools.length || isForced))
    return { fields, why: "priced, and has no price" };
  return undefined;
}

/** The least that the provider lets anybody ask for. */
const LEAST_OUTPUT = 16;

/** Names of the caller's users and caches, which no other account may share. */
const HASHED = ["prompt_cache_key", "user", "safety_identifier"];

/** Members that are not in the reference, and those that are ours to answer. */
const LEFT_OUT = ["provider"];
const SILENTLY_LEFT_OUT = ["metadata", "client_metadata", "previous_response_id"];

/** What upstream must get for a request: with `seed` in a spelling of its own and with a field that nobody knows. */
export function requestPair(body: Json, upstreamId: string, seed?: number): RequestPair {
  const make = (changed: Json, changes: () => Changes): RequestPair =>
    seed === undefined ? plainPair(changed, changes) : hostilePair(changed, seed, true, changes);
  const deep = deepChanges(body);
  const include: readonly string[] = body.include ?? [];
  const top: Record<string, string> = { model: JSON.stringify(upstreamId), store: "false" };
  if (!include.includes(SEALED)) top.include = JSON.stringify([...include, SEALED]);
  const tier = body.service_tier ?? "auto";
  const isDear = tier !== "auto" && tier !== "default";
  if (isDear) top.service_tier = '"default"';
  const isLow = body.max_output_tokens < LEAST_OUTPUT;
  if (isLow) top.max_output_tokens = String(LEAST_OUTPUT);
  const append = Object.entries(top).filter(([name]) => !(name in body));
  const silent = SILENTLY_LEFT_OUT.filter((name) => name in body);
  if (body.stream !== true && "stream_options" in body) silent.push("stream_options");
  const changes = (): Changes => ({
    replace: top,
    append: append.map(([name, value]) => `"${name}":${value}`),
    leftOut: [...LEFT_OUT.filter((name) => name in body), ...silent],
    told: [...(isDear ? ["service_tier"] : []), ...(isLow ? ["max_output_tokens"] : []), ...deep.told],
  });
  const pair = make(body, changes);
  const told = pair.told.filter((name) => !silent.includes(name));
  const hashed = HASHED.filter((name) => name in body);
  if (deep.wanted === undefined && hashed.length === 0) return { ...pair, told };
  // What is written anew in the middle is compared by what it says; all else is as it was.
  const wanted: Json = { ...JSON.parse(pair.wanted), ...deep.wanted };
  return {
    ...pair,
    told,
    wanted: JSON.stringify(wanted),
    accepts(received) {
      const got: Json = JSON.parse(received);
      for (const name of hashed) if (/^[0-9a-f]{40}$/.test(got[name])) got[name] = wanted[name];
      return Bun.deepEquals(got, wanted, true);
    },
  };
}

interface Deep {
  /** Members that are other values; absent where none is. */
  readonly wanted: Json;
  readonly told: readonly string[];
}

/** What is changed within members: tools without a price, reasoning that nobody can read any more, ids of others. */
function deepChanges({ tools = [], input, text }: Json): Deep {
  const wanted: Json = {};
  const told: string[] = [];
  tools?.forEach((tool: Json, i: number) => {
    if (isServed(tool)) return;
    told.push(`tools[${i}]`);
    wanted.tools = tools.filter(isServed);
  });
  if (Array.isArray(input)) {
    const items = wantedItems(input, told);
    if (!Bun.deepEquals(items, input, true)) wanted.input = items;
  }
  if (text?.format?.json_schema !== undefined) {
    const { json_schema: nested, ...rest } = text.format;
    wanted.text = { ...text, format: { ...rest, ...nested, type: "json_schema" } };
  }
  return { wanted: Object.keys(wanted).length === 0 ? undefined : wanted, told };
}

/** Ids that the provider would not take: they are optional. */
const TAKEN_ID = /^[a-z]{2,4}_[A-Za-z0-9_-]{1,60}$/;
const ANOTHERS_ID = /^(call|item|fco|at)_/;

/**
 * Section 9.7 of the reference: what is not sealed is unknown to a provider that keeps nothing. So it goes, and with it
 * the ids of what followed it in its turn.
 */
function wantedItems(input: readonly Json[], told: string[]): Json[] {
  let isUnbound = false;
  return input.flatMap((item, i) => {
    const { id, ...rest } = item;
    if (item.type === "reasoning") {
      isUnbound = typeof item.encrypted_content !== "string";
      return isUnbound ? [] : [{ ...item, summary: item.summary ?? [] }];
    }
    if (item.role !== "assistant" && !item.type?.endsWith("_call")) isUnbound = false;
    const isOffer = item.type === "additional_tools" || item.type === "tool_search_output";
    if (isOffer && !item.tools?.every((tool: Json) => isServed(tool) && !SEARCH.test(tool.type))) {
      told.push(`input[${i}]`);
      return [
        { ...rest, tools: item.tools.filter((tool: Json) => isServed(tool) && !SEARCH.test(tool.type)) },
      ];
    }
    const isTaken = id === undefined || (TAKEN_ID.test(id) && !ANOTHERS_ID.test(id) && !isUnbound);
    return [isTaken ? item : rest];
  });
}
