import type { Json } from "../wire-json.ts";

/** What official clients need of a chat completions stream; every breach, named. */
export function breachesOf(events: readonly Json[]): string[] {
  const breaches: string[] = [];
  const chunks = events.filter((event) => event !== "[DONE]");
  if (events.at(-1) !== "[DONE]" || events.indexOf("[DONE]") !== events.length - 1)
    breaches.push("[DONE] is not the last event, or not the only one");
  const choices = new Map<number, ChoiceSeen>();
  chunks.forEach((chunk, at) => {
    const say = (text: string): void => void breaches.push(`chunk ${at}: ${text}`);
    checkChunk(chunk, say);
    if (Array.isArray(chunk.choices)) for (const choice of chunk.choices) checkChoice(choice, choices, say);
  });
  for (const [index, seen] of choices) breaches.push(...unfinished(index, seen));
  return [...breaches, ...tailBreaches(chunks)];
}

interface ChoiceSeen {
  finishes: number;
  readonly calls: { type: string; arguments: string }[];
}

type Say = (text: string) => void;

function checkChunk(chunk: Json, say: Say): void {
  if (!Array.isArray(chunk.choices)) say("choices is no array");
  if (chunk.object !== "chat.completion.chunk") say(`object is ${JSON.stringify(chunk.object)}`);
  if (typeof chunk.id !== "string") say("id is no string");
  if (!Number.isInteger(chunk.created)) say("created is no integer");
  if (typeof chunk.model !== "string") say("model is no string");
}

function checkChoice(choice: Json, choices: Map<number, ChoiceSeen>, say: Say): void {
  if (!Number.isInteger(choice.index)) return say("a choice without an integer index");
  const first = !choices.has(choice.index);
  const seen = choices.get(choice.index) ?? { finishes: 0, calls: [] };
  choices.set(choice.index, seen);
  const { delta } = choice;
  if (typeof delta !== "object" || delta === null) return say("a choice without delta");
  if (first && delta.role !== "assistant") say(`choice ${choice.index} begins without its role`);
  if (delta.role !== undefined && delta.role !== "assistant") say(`role is ${JSON.stringify(delta.role)}`);
  for (const fragment of (delta.tool_calls ?? []) as Json[]) checkFragment(fragment, seen, say);
  if (typeof choice.finish_reason === "string") seen.finishes += 1;
  if (choice.finish_reason === "") say("an empty finish_reason");
}

function checkFragment(fragment: Json, seen: ChoiceSeen, say: Say): void {
  const { index } = fragment;
  if (!Number.isInteger(index)) return say("a tool call without an index");
  if (index > seen.calls.length) return say(`tool index ${index} leaves a gap`);
  const body = fragment.function ?? fragment.custom;
  const call = seen.calls[index as number];
  if (call === undefined) {
    if (typeof fragment.id !== "string" || fragment.id === "") say(`tool call ${index} begins without id`);
    if (fragment.type !== "function" && fragment.type !== "custom")
      say(`tool call ${index} begins without type`);
    if (typeof body?.name !== "string" || body.name === "") say(`tool call ${index} begins without name`);
    seen.calls.push({ type: fragment.type, arguments: body?.arguments ?? "" });
    return;
  }
  for (const name of ["id", "type"]) if (fragment[name]) say(`tool call ${index} says its ${name} twice`);
  if (body?.name) say(`tool call ${index} says its name twice`);
  call.arguments += body?.arguments ?? "";
}

function unfinished(index: number, { finishes, calls }: ChoiceSeen): string[] {
  const breaches: string[] = [];
  if (finishes !== 1) breaches.push(`choice ${index} has ${finishes} finish reasons`);
  for (const [i, call] of calls.entries()) {
    if (call.type === "function" && !isJson(call.arguments))
      breaches.push(`choice ${index}, tool call ${i}: the arguments are no JSON: ${call.arguments}`);
  }
  return breaches;
}

/** The two last chunks: usage, and the same usage with the credit; no other chunk has usage. */
function tailBreaches(chunks: readonly Json[]): string[] {
  const breaches: string[] = [];
  const [usage, credit] = chunks.slice(-2);
  const empty = (chunk: Json): boolean => Array.isArray(chunk?.choices) && chunk.choices.length === 0;
  if (!empty(usage) || !empty(credit)) breaches.push("the two last chunks are not the usage and the credit");
  if (!Number.isInteger(usage?.usage?.total_tokens)) breaches.push("the usage chunk has no total_tokens");
  if (JSON.stringify(usage?.usage) !== JSON.stringify(credit?.usage))
    breaches.push("the credit chunk repeats another usage");
  if (typeof credit?.credit !== "number") breaches.push("the last chunk has no credit");
  if (chunks.slice(0, -2).some((chunk) => chunk.usage !== undefined && chunk.usage !== null))
    breaches.push("usage stands in more chunks than the two last");
  if (chunks.slice(0, -1).some((chunk) => chunk.credit !== undefined)) breaches.push("credit stands twice");
  return breaches;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
