import type { BegunPart, ChatEvent, ChatRequest, Issuer, Part, ToolCallPart, Turn } from "../core/chat.ts";
import { present } from "../core/json/json-value.ts";
import { contentHash } from "../runtime/hash.ts";
import { parseExact } from "./exact-json.ts";

// Clients of other formats drop what a model thought before it called a tool. Without it some models answer worse or
// refuse the next request. The gateway finds what was thought before a call by the call, and what a text was signed
// with by the text.

/** What a model thought right before a call, and what it signed the call itself with. */
export interface CallThinking {
  /** Of a text: what it was signed with, as thinking without words. */
  readonly before: readonly ThinkingPart[];
  readonly signature?: string;
}

type ThinkingPart = Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>;

/** A call or a text and its thinking, under the name that a later request has for it. */
export interface ThoughtCall {
  readonly key: string;
  readonly thinking: CallThinking;
}

/**
 * Names a call by its id, its tool and its input: ids such as `call_0` come back in every conversation. The input counts
 * as a value, since clients write its text anew.
 */
export function callKey({ id, name, input }: Pick<ToolCallPart, "id" | "name" | "input">): string {
  const value = parseExact(input);
  return contentHash(JSON.stringify([id, name, value === undefined ? input : value]));
}

/** Names a text that an answer ended with. */
function textKey(text: string): string {
  return contentHash(JSON.stringify([text]));
}

/** The keys of calls in earlier answers that have come back without a thought, and of last words without a signature. */
export function callsWithoutThinking({ turns }: ChatRequest): readonly string[] {
  return turns.flatMap((turn) => {
    const words = unsignedWords(turn);
    return [
      ...(lacksThinking(turn) ? callsOf(turn).map(callKey) : []),
      ...(words === undefined ? [] : [textKey(words.text)]),
    ];
  });
}

/** The request with the thinking of the calls and the signatures of the last words that are known, where it has none. */
export function withThinking(chat: ChatRequest, known: Readonly<Record<string, CallThinking>>): ChatRequest {
  const turnOf = (turn: Turn): Turn =>
    signedTurn(lacksThinking(turn) ? thinkingTurn(turn, known) : turn, known);
  return { ...chat, turns: chat.turns.map(turnOf) };
}

function signedTurn(turn: Turn, known: Readonly<Record<string, CallThinking>>): Turn {
  const words = unsignedWords(turn);
  const signatures = words && known[textKey(words.text)]?.before;
  return signatures === undefined ? turn : { ...turn, parts: [...turn.parts, ...signatures] };
}

/** The text that an earlier answer ended with, where it has come back without a signature. */
function unsignedWords({ role, parts }: Turn): Extract<Part, { readonly type: "text" }> | undefined {
  const last = parts.at(-1);
  return role === "assistant" && last?.type === "text" && last.signature === undefined ? last : undefined;
}

/** What was thought before the first call stands first in the answer, as vendors that sign it have it. */
function thinkingTurn(turn: Turn, known: Readonly<Record<string, CallThinking>>): Turn {
  const first: Part[] = [];
  let isFirst = true;
  const parts = turn.parts.flatMap((part): readonly Part[] => {
    if (part.type !== "tool_call") return [part];
    const thinking = known[callKey(part)];
    const before = thinking?.before ?? [];
    const call = { ...part, ...present({ signature: thinking?.signature }) };
    if (!isFirst) return [...before, call];
    isFirst = false;
    first.push(...before);
    return [call];
  });
  return { ...turn, parts: [...first, ...parts] };
}

function lacksThinking({ role, parts }: Turn): boolean {
  if (role !== "assistant") return false;
  let calls = false;
  for (const part of parts) {
    if (part.type === "thinking" || part.type === "redacted_thinking") return false;
    if (part.type !== "tool_call") continue;
    if (part.signature !== undefined) return false;
    calls = true;
  }
  return calls;
}

function callsOf({ parts }: Turn): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === "tool_call");
}

/** Listens to the first choice of an answer, and knows at its end what was thought before each call and signed. */
export interface ThinkingListener {
  hear(event: ChatEvent): void;
  /** The calls that anything was thought before, and the texts that were signed. */
  readonly calls: readonly ThoughtCall[];
}

/** A listener to one answer. */
export function openThinkingListener(): ThinkingListener {
  return new Listener();
}

class Listener implements ThinkingListener {
  readonly #calls: ThoughtCall[] = [];
  #before: ThinkingPart[] = [];
  #open: OpenPart | undefined;
  /** The text that has just ended. */
  #text = "";
  /** The signature that the answer ends with, of the text before it. */
  #signed: ThoughtCall | undefined;

  hear(event: ChatEvent): void {
    if (event.type === "start" || event.choice !== 0) return;
    if (event.type === "part_start") this.#begin(event.part);
    if (this.#open === undefined || event.type === "part_start") return;
    if (event.type === "delta") this.#open.text += event.text;
    else if (event.type === "signature") this.#open.signature = event.signature;
    else if (event.type === "part_end") this.#end(this.#open);
  }

  get calls(): readonly ThoughtCall[] {
    return this.#signed === undefined ? this.#calls : [...this.#calls, this.#signed];
  }

  #begin(part: BegunPart): void {
    this.#open = begunOf(part);
    this.#signed = undefined;
    if (part.type !== "thinking") this.#text = "";
  }

  #end({ begun, text, signature }: OpenPart): void {
    this.#open = undefined;
    if (begun.type === "redacted_thinking") this.#before.push(begun);
    else if (begun.type === "text") this.#text = text;
    else if (begun.type === "thinking") {
      const thought = { ...begun, text, ...present({ signature }) };
      this.#before.push(thought);
      if (text === "" && signature !== undefined && this.#text !== "")
        this.#signed = { key: textKey(this.#text), thinking: { before: [thought] } };
    } else {
      const thinking = { before: this.#before, ...present({ signature }) };
      this.#before = [];
      if (thinking.before.length === 0 && signature === undefined) return;
      this.#calls.push({ key: callKey({ ...begun, input: text }), thinking });
    }
  }
}

interface OpenPart {
  readonly begun: ThinkingPart | OpenCall | { readonly type: "text" };
  text: string;
  signature?: string;
}

interface OpenCall {
  readonly type: "tool_call";
  readonly id: string;
  readonly name: string;
}

function begunOf(part: BegunPart): OpenPart | undefined {
  switch (part.type) {
    case "thinking":
      return { begun: { ...part, text: "" }, text: "" };
    case "redacted_thinking":
    case "tool_call":
    case "text":
      return { begun: part, text: "" };
    default:
      return undefined;
  }
}

/** The family of models whose thinking a model can read: its vendor's. */
export function familyOf(modelId: string): Issuer {
  return modelId.split("/", 1)[0] ?? modelId;
}
