import { expect } from "bun:test";
import type { Json } from "../wire-json.ts";
import type { CrossCase } from "./cross-cases.ts";
import type { Meaning } from "./meaning.ts";

/** A difference between two recordings of one case that is the recorder's: the wires were not given the same. */
interface Recorders {
  readonly why: string;
  readonly field: keyof Meaning;
  /** The member that differs, wherever it stands; the whole field where it is not given. */
  readonly member?: string;
}

const HOUR = "cached for an hour there, for five minutes in the chat";
const PROMPT = "the prompt has other words there";

/** What the recorder gave to one wire and not to the other, by case and wire. */
const RECORDERS: Readonly<
  Record<string, Readonly<Partial<Record<"claude" | "gemini", readonly Recorders[]>>>>
> = {
  chatCompletionsAssistantCacheControlParam: { claude: [{ why: HOUR, field: "turns", member: "ttl" }] },
  chatCompletionsSystemCacheControlParam: { claude: [{ why: HOUR, field: "system", member: "ttl" }] },
  fableTemperatureParam: {
    claude: [{ why: "recorded of a model that refuses it, so it was left out", field: "temperature" }],
  },
  googleToolCallThoughtSignatureReplayParam: {
    gemini: [
      { why: "the chat has its signature in a member of nobody's", field: "turns", member: "signature" },
    ],
  },
  jsonSchemaMinMaxItemsParam: {
    gemini: [
      { why: "only there with a bound", field: "most" },
      { why: "only there with a temperature", field: "temperature" },
    ],
  },
  parallelToolCallsDisabledParam: { claude: [{ why: PROMPT, field: "turns", member: "text" }] },
  simpleRequest: {
    claude: [{ why: "an effort in the chat only", field: "thinking" }],
    gemini: [{ why: "an effort in the chat only", field: "thinking" }],
  },
  stopSequencesParam: { claude: [{ why: PROMPT, field: "turns", member: "text" }] },
};

const used = new Set<Recorders>();

/** Differences of the table that no recording has shown. */
export function unusedDifferences(): readonly Recorders[] {
  const all = Object.values(RECORDERS).flatMap(({ claude = [], gemini = [] }) => claude.concat(gemini));
  return all.filter((difference) => !used.has(difference));
}

/** Fails unless a request means what the recorded one does, in their normal form and but for what is the recorder's. */
export function expectAsRecorded(found: CrossCase, received: Meaning, recorded: Meaning): void {
  const { name, target, body } = found;
  // A bound that the wire insists on, where the chat has none, is nobody's wish.
  const isFree =
    target.vendor === "claude" && body.max_completion_tokens === undefined && body.max_tokens === undefined;
  const known = RECORDERS[name]?.[target.vendor] ?? [];
  for (const field of Object.keys(received) as (keyof Meaning)[]) {
    const [ours, theirs] = [received, recorded].map((meaning) => normal(field, meaning, isFree));
    if (field === "thinking" && saysTheSame(ours, theirs)) continue;
    if (Bun.deepEquals(ours, theirs)) continue;
    const difference = known.find((one) => one.field === field);
    if (difference === undefined) expect({ field, is: ours }).toEqual({ field, is: theirs });
    else {
      used.add(difference);
      if (difference.member !== undefined)
        expect({ field, is: without(ours, difference.member) }).toEqual({
          field,
          is: without(theirs, difference.member),
        });
    }
  }
}

/**
 * A field in the form that is compared. `isFree` leaves the bound out. `auto` is the choice where none is made. An
 * object that is closed, and a call that keeps to it, are a wish of one wire. The form's description has a place of its
 * own in one wire only.
 */
function normal(field: keyof Meaning, meaning: Meaning, isFree: boolean): Json {
  const value: Json = meaning[field];
  if (field === "most" && isFree) return undefined;
  if (field === "choice") return value === "auto" ? undefined : value;
  if (field === "tools") return without(without(value, "strict"), "additionalProperties");
  if (field === "form" && value?.schema !== undefined) {
    const { description: _, ...schema } = without(value.schema, "additionalProperties");
    return schema;
  }
  return value;
}

/** An effort, a level and a budget are ways to say how much; the same effort must be the same word. */
function saysTheSame(ours: Json, theirs: Json): boolean {
  if (ours === undefined || theirs === undefined) return ours === theirs;
  return ours.effort === undefined || theirs.effort === undefined || ours.effort === theirs.effort;
}

/** A value without the members of one name. */
function without(value: Json, name: string): Json {
  if (Array.isArray(value)) return value.map((item: Json) => without(item, name));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== name);
  return Object.fromEntries(entries.map(([key, inner]) => [key, without(inner, name)]));
}
