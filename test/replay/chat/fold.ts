import { sseData } from "../../upstream/sse-bytes.ts";
import type { Json } from "../wire-json.ts";

/** A tool call, its arguments joined. */
export interface FoldedCall {
  id: string;
  type: string;
  name: string;
  arguments: string;
  /** Every other member, in the order it came. */
  readonly others: Record<string, Json[]>;
}

/** One choice of an answer, put together from its deltas or its message. */
export interface FoldedChoice {
  /** Joined text by member: content, reasoning_content, reasoning, refusal. */
  readonly texts: Record<string, string>;
  readonly calls: FoldedCall[];
  readonly functionCall: { name: string; arguments: string };
  finish: string | null;
  /** Members of deltas or message that are none of the above, in the order they came. */
  readonly parts: Record<string, Json[]>;
  /** Other members of the choice. */
  readonly others: Record<string, Json[]>;
}

/** An answer put together. */
export interface Folded {
  readonly choices: Record<number, FoldedChoice>;
  /** Other members at the top. */
  readonly others: Record<string, Json[]>;
  usage: Json;
  error: Json;
  done: boolean;
}

const TEXTS = ["content", "reasoning_content", "reasoning", "refusal"];

/** Every vendor's words for why an answer ended, in the interface's. */
const FINISH: Readonly<Record<string, string>> = {
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

/** Data of a stream's events, parsed; `[DONE]` stays the text it is. */
export function eventsOf(text: string): Json[] {
  return sseData(text).map((data) => (data.trim() === "[DONE]" ? "[DONE]" : JSON.parse(data)));
}

/** What an answer says in all, read as tolerantly as a vendor may need; `padding` is not part of it. */
export function foldRecorded(body: Json, padding: readonly string[]): Folded {
  const folded = emptyFold();
  if (typeof body !== "string") foldObject(folded, body, "message", padding);
  else {
    for (const event of eventsOf(body)) {
      if (event === "[DONE]") folded.done = true;
      else if (folded.error === undefined) foldObject(folded, event, "delta", padding);
    }
  }
  for (const choice of Object.values(folded.choices))
    finishChoice(choice, typeof body !== "string" || folded.done);
  return folded;
}

/** What a client of the gateway gets, read the way the official SDKs join chunks: no tolerance for quirks. */
export function foldReceived(events: readonly Json[]): Folded {
  const folded = emptyFold();
  for (const event of events) {
    if (event === "[DONE]") folded.done = true;
    else if (event.error !== undefined && event.choices === undefined) folded.error = event.error;
    else {
      if (event.usage !== undefined && event.usage !== null) folded.usage = event.usage;
      collect(folded.others, event, ["choices", "usage", "model", "object", "credit"]);
      for (const choice of event.choices as Json[])
        joinStrictly(choiceAt(folded, choice.index), choice, "delta");
    }
  }
  return folded;
}

/** What a plain answer of the gateway says. */
export function foldReceivedPlain(answer: Json): Folded {
  const folded = emptyFold();
  folded.usage = answer.usage;
  collect(folded.others, answer, ["choices", "usage", "model", "object", "credit"]);
  for (const choice of answer.choices as Json[]) {
    joinStrictly(choiceAt(folded, choice.index), choice, "message");
  }
  return folded;
}

function emptyFold(): Folded {
  return { choices: {}, others: {}, usage: undefined, error: undefined, done: false };
}

function choiceAt(folded: Folded, index: number): FoldedChoice {
  return (folded.choices[index] ??= {
    texts: {},
    calls: [],
    functionCall: { name: "", arguments: "" },
    finish: null,
    parts: {},
    others: {},
  });
}

/** Appends every member but some to the list of its name; what is undefined is not there. */
function collect(into: Record<string, Json[]>, from: Json, but: readonly string[]): void {
  for (const [name, value] of Object.entries(from as object)) {
    if (!but.includes(name) && value !== undefined) (into[name] ??= []).push(value);
  }
}

function foldObject(
  folded: Folded,
  object: Json,
  carrier: "message" | "delta",
  padding: readonly string[],
): void {
  const choices: Json[] = object.choices ?? [];
  const usage = object.usage ?? choices[0]?.usage ?? object.x_groq?.usage;
  if (usage !== undefined && usage !== null) folded.usage = usage;
  const error = object.error ?? object.x_groq?.error;
  if (error !== undefined && error !== null) {
    folded.error = error;
    return;
  }
  collect(folded.others, object, ["choices", "usage", "model", "object", ...padding]);
  choices.forEach((choice, i) => {
    const target = choiceAt(folded, choice.index ?? i);
    const part = choice[carrier] ?? (carrier === "delta" ? (choice.message ?? {}) : {});
    const used = choice[carrier] === undefined && carrier === "delta" ? ["message"] : [];
    if (target.finish !== null && typeof choice.finish_reason === "string" && saysNothing(part)) return;
    collect(target.others, choice, ["index", "finish_reason", "usage", carrier, ...used]);
    foldPart(target, part);
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      target.finish = FINISH[choice.finish_reason] ?? choice.finish_reason;
    }
  });
}

/** A delta without content: a second finish that carries one is no news. */
function saysNothing(part: Json): boolean {
  return Object.entries(part as object).every(
    ([name, value]: [string, Json]) => name === "role" || value === null || value.length === 0,
  );
}

function foldPart(choice: FoldedChoice, part: Json): void {
  const split = splitContent(part);
  addTexts(choice, split);
  for (const fragment of (part.tool_calls ?? []) as Json[]) foldCall(choice.calls, fragment);
  addFunctionCall(choice, part);
  collect(choice.parts, split, ["role", "tool_calls", "function_call", ...textMembers(split)]);
}

/** Mistral's content: parts of text and of thinking; with any other kind of part it stays what it is. */
function splitContent(part: Json): Json {
  const { content } = part;
  if (!Array.isArray(content)) return part;
  if (!content.every((item) => item.type === "text" || item.type === "thinking")) return part;
  const join = (type: string, text: (item: Json) => string): string =>
    content
      .filter((item) => item.type === type)
      .map(text)
      .join("");
  return {
    ...part,
    content: join("text", (item) => item.text),
    reasoning_content: join("thinking", (item) =>
      typeof item.thinking === "string"
        ? item.thinking
        : item.thinking.map((piece: Json) => piece.text).join(""),
    ),
  };
}

/** Members that hold text (or nothing); the same name with a list in it is another member. */
function textMembers(part: Json): string[] {
  return TEXTS.filter((name) => typeof part[name] === "string" || part[name] === null);
}

function addTexts(choice: FoldedChoice, part: Json): void {
  for (const name of TEXTS) {
    if (typeof part[name] === "string" && part[name] !== "")
      choice.texts[name] = (choice.texts[name] ?? "") + part[name];
  }
}

function addFunctionCall(choice: FoldedChoice, part: Json): void {
  const call = part.function_call;
  if (call === undefined || call === null) return;
  choice.functionCall.name += call.name ?? "";
  choice.functionCall.arguments += call.arguments ?? "";
}

interface RecordedCall extends FoldedCall {
  readonly at: Json;
}

/** Joins a fragment to its call: by index where it is a number, a new id on the same index begins another call. */
function foldCall(calls: FoldedCall[], fragment: Json): void {
  const called = fragment.function ?? fragment.custom ?? {};
  const unnamed = fragment.id === undefined || fragment.id === null || fragment.id === "";
  const known = (calls as RecordedCall[]).findLast((call) => {
    if (typeof fragment.index === "number" && call.at !== fragment.index) return false;
    return unnamed || call.id === fragment.id;
  });
  const call: RecordedCall = known ?? {
    id: fragment.id ?? "",
    type: fragment.type ?? "function",
    name: called.name ?? "",
    arguments: "",
    others: {},
    at: fragment.index,
  };
  if (known === undefined) calls.push(call);
  const text = called.arguments ?? called.input ?? "";
  call.arguments += typeof text === "string" ? text : JSON.stringify(text);
  collect(call.others, fragment, ["index", "id", "type", "function", "custom"]);
}

/** How a choice ends for those who read the interface: in its words, and never with arguments that are no JSON. */
function finishChoice(choice: FoldedChoice, ended: boolean): void {
  const called = choice.calls.length > 0;
  if (choice.finish === "stop" && called) choice.finish = "tool_calls";
  if (choice.finish === null && ended) choice.finish = called ? "tool_calls" : "stop";
  for (const call of choice.calls) {
    if (call.type === "function" && call.arguments === "") call.arguments = "{}";
    delete (call as { at?: Json }).at;
  }
}

function joinStrictly(target: FoldedChoice, choice: Json, carrier: "message" | "delta"): void {
  const part = choice[carrier] ?? {};
  collect(target.others, choice, ["index", "finish_reason", carrier]);
  addTexts(target, part);
  addFunctionCall(target, part);
  collect(target.parts, part, ["role", "tool_calls", "function_call", ...textMembers(part)]);
  for (const fragment of (part.tool_calls ?? []) as Json[]) {
    const body = fragment.function ?? fragment.custom ?? {};
    // A whole answer's calls have no index by the reference: their place is it.
    const at = carrier === "delta" ? fragment.index : target.calls.length;
    const call = (target.calls[at] ??= { id: "", type: "", name: "", arguments: "", others: {} });
    call.id += fragment.id ?? "";
    call.type += fragment.type ?? "";
    call.name += body.name ?? "";
    call.arguments += body.arguments ?? body.input ?? "";
    collect(call.others, fragment, ["index", "id", "type", "function", "custom"]);
  }
  if (choice.finish_reason !== null && choice.finish_reason !== undefined)
    target.finish = choice.finish_reason;
}
