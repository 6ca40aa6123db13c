import type { ChatRequest, Part, Turn } from "../../../src/core/chat.ts";
import { parseExact } from "../../../src/protocols/exact-json.ts";
import type { Json } from "../wire-json.ts";

/** What a request asks for, as plain data that two formats can be compared by. */
export type Meaning = Json;

/**
 * A request in no format without what is its wire's alone: where a thing stood in the body, and the ids of calls. Calls
 * are numbered in the order in which they come. The input of calls is compared as a value.
 */
export function meaningOf(chat: ChatRequest): Meaning {
  const ids = new Map<string, string>();
  const idOf = (id: string): string => ids.getOrInsertComputed(id, () => `call ${ids.size}`);
  return plain({
    ...chat,
    turns: joined(chat.turns).map((turn) => ({ ...turn, parts: turn.parts.map(partOf) })),
  });

  function partOf(part: Part): Json {
    switch (part.type) {
      case "tool_call":
        return { ...part, id: idOf(part.id), input: inputOf(part.input, part.custom) };
      case "tool_result":
        return { ...part, callId: idOf(part.callId), parts: part.parts.map(partOf) };
      default:
        return part;
    }
  }
}

function inputOf(input: string, custom?: true): Json {
  if (custom) return input;
  return input.trim() === "" ? {} : parseExact(input);
}

/** Turns of one role that follow on one another are one: some formats have no two in a row. */
function joined(turns: readonly Turn[]): Turn[] {
  const all: Turn[] = [];
  for (const turn of turns) {
    const last = all.at(-1);
    if (last?.role === turn.role) all[all.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
    else all.push(turn);
  }
  return all;
}

/** Plain data without places of the body. */
function plain(value: Json): Json {
  const text = JSON.stringify(value, (name, inner: unknown) => (name === "at" ? undefined : inner));
  return JSON.parse(text);
}

/** Where two meanings differ, as paths such as `turns[0].parts[1].text`. */
export function differences(one: Json, other: Json, path = ""): string[] {
  if (Bun.deepEquals(one, other)) return [];
  if (!isBranch(one) || !isBranch(other) || Array.isArray(one) !== Array.isArray(other)) return [path];
  if (Array.isArray(one) && one.length !== other.length) return [`${path}.length`];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => {
    const step = Array.isArray(one) ? `[${name}]` : path === "" ? name : `.${name}`;
    return differences(one[name], other[name], path + step);
  });
}

/** What stands at a path; of a length the list. */
export function at(meaning: Json, path: string): Json {
  const steps = path
    .replace(/\.length$/, "")
    .split(/[.[\]]/)
    .filter((step) => step !== "");
  return steps.reduce((value: Json, step) => value?.[step], meaning);
}

function isBranch(value: Json): boolean {
  return typeof value === "object" && value !== null;
}
