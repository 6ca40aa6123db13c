import type { CacheMark, Part, ToolCallPart, ToolResultPart, Turn } from "../core/chat.ts";
import { present } from "../core/json/json-value.ts";
import type { Losses } from "./losses.ts";

/** A call of an earlier answer, and what its tool gave back; absent where nobody answered it. */
export interface AnsweredCall {
  readonly call: ToolCallPart;
  readonly result?: ToolResultPart;
}

/** What a model is told of a call that nobody answered: servers refuse calls without a result. */
export const NO_RESULT = "Error: the call was given no result.";

/** Results that stand before the next answer, whatever came between. */
export function resultsAfter(turns: readonly Turn[], answer: number): readonly ToolResultPart[] {
  const results: ToolResultPart[] = [];
  for (let at = answer + 1; at < turns.length && turns[at]?.role !== "assistant"; at += 1)
    for (const part of turns[at]?.parts ?? []) if (part.type === "tool_result") results.push(part);
  return results;
}

/**
 * The calls of an answer in their order, each with its result. One that has none, and a second result of one call, are
 * told; throws a 400 for a result without a call.
 */
export function answeredCalls(
  answer: readonly Part[],
  given: readonly ToolResultPart[],
  losses: Losses,
): readonly AnsweredCall[] {
  const results = Map.groupBy(given, ({ callId }) => callId);
  const called = new Set<string>();
  const pairs: AnsweredCall[] = [];
  for (const call of answer) {
    if (call.type !== "tool_call") continue;
    called.add(call.id);
    const result = results.get(call.id)?.shift();
    if (result === undefined) losses.note({ place: "turns", why: "no_result", name: call.name });
    pairs.push(result === undefined ? { call } : { call, result });
  }
  for (const [id, left] of results) {
    if (!called.has(id)) throw losses.refusal({ place: "callId", why: "no_call", id });
    if (left.length > 0) losses.note({ place: "turns", why: "second_result" });
  }
  return pairs;
}

/** The n-th call of one id, and the n-th result for it, under an id that no other call of the answer has. */
export function withOwnIds(
  answer: readonly Part[],
  given: readonly ToolResultPart[],
): readonly [answer: readonly Part[], given: readonly ToolResultPart[]] {
  const ids = answer.flatMap((part) => (part.type === "tool_call" ? [part.id] : []));
  const taken = new Set(ids);
  if (taken.size === ids.length) return [answer, given];
  const own = new Map<string, string[]>();
  for (const id of ids) {
    const named = own.getOrInsertComputed(id, () => []);
    let made = id;
    for (let n = 2; named.length > 0 && taken.has(made); n += 1) made = `${id}_${n}`;
    taken.add(made);
    named.push(made);
  }
  /** Hands out the ids in the order in which those of one spelling come. */
  const openNames = (): ((id: string) => string) => {
    const left = new Map([...own].map(([id, named]) => [id, [...named]]));
    return (id) => left.get(id)?.shift() ?? id;
  };
  const [callName, resultName] = [openNames(), openNames()];
  return [
    answer.map((part) => (part.type === "tool_call" ? { ...part, id: callName(part.id) } : part)),
    given.map((result) => ({ ...result, callId: resultName(result.callId) })),
  ];
}

/** What a call gave back. A mark inside a result is a mark on the result: that is where all its text ends. */
export function markedResult(
  callId: string,
  parts: readonly Part[],
  own: CacheMark | undefined,
  isError = false,
): ToolResultPart {
  const inner = parts.map((part) => ("cache" in part ? part.cache : undefined)).findLast((mark) => mark);
  return {
    type: "tool_result",
    callId,
    parts: parts.map(unmarked),
    isError,
    ...present({ cache: own ?? inner }),
  };
}

function unmarked(part: Part): Part {
  if (!("cache" in part)) return part;
  const { cache: _cache, ...rest } = part;
  return rest;
}
