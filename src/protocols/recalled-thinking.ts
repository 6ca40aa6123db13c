import type { BegunPart, ChatEvent, ChatRequest, Issuer, Part, ToolCallPart, Turn } from "../core/chat.ts";
import { present } from "../core/json/json-value.ts";
import { contentHash } from "../runtime/hash.ts";
import { parseExact } from "./exact-json.ts";

// Clients of other formats drop what a model thought before it called a tool, and some models answer worse without it
// or refuse the next request. What was thought before a call is found again by the call.

/** What a model thought right before a call, and what it signed the call itself with. */
export interface CallThinking {
  readonly before: readonly ThinkingPart[];
  readonly signature?: string;
}

type ThinkingPart = Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>;

/** A call and its thinking, under the name that a later request has for it. */
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

/** The keys of calls in earlier answers that have come back without a thought, in their order. */
export function callsWithoutThinking({ turns }: ChatRequest): readonly string[] {
  return turns.flatMap((turn) => (lacksThinking(turn) ? callsOf(turn).map(callKey) : []));
}

/** The request with the thinking of the calls that it is known of, in answers that came back without any. */
export function withThinking(chat: ChatRequest, known: Readonly<Record<string, CallThinking>>): ChatRequest {
  return {
    ...chat,
    turns: chat.turns.map((turn) => (lacksThinking(turn) ? thinkingTurn(turn, known) : turn)),
  };
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

/** Listens to the first choice of an answer, and knows at its end what was thought before each call. */
export interface ThinkingListener {
  hear(event: ChatEvent): void;
  /** The calls that anything was thought before. */
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

  hear(event: ChatEvent): void {
    if (event.type === "start" || event.choice !== 0) return;
    if (event.type === "part_start") this.#open = begunOf(event.part);
    if (this.#open === undefined || event.type === "part_start") return;
    if (event.type === "delta") this.#open.text += event.text;
    else if (event.type === "signature") this.#open.signature = event.signature;
    else if (event.type === "part_end") this.#end(this.#open);
  }

  get calls(): readonly ThoughtCall[] {
    return this.#calls;
  }

  #end({ begun, text, signature }: OpenPart): void {
    this.#open = undefined;
    if (begun.type === "redacted_thinking") this.#before.push(begun);
    else if (begun.type === "thinking") this.#before.push({ ...begun, text, ...present({ signature }) });
    else {
      const thinking = { before: this.#before, ...present({ signature }) };
      this.#before = [];
      if (thinking.before.length === 0 && signature === undefined) return;
      this.#calls.push({ key: callKey({ ...begun, input: text }), thinking });
    }
  }
}

interface OpenPart {
  readonly begun: ThinkingPart | OpenCall;
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
      return { begun: part, text: "" };
    default:
      return undefined;
  }
}

/** The family of models whose thinking a model can read: its vendor's. */
export function familyOf(modelId: string): Issuer {
  return modelId.split("/", 1)[0] ?? modelId;
}
