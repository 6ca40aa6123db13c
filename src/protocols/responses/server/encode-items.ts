import type { BegunPart, ChatEvent, Citation, FinishReason } from "../../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { type Carried, sealCarrier } from "../../carrier.ts";
import { writeLogprobs } from "../../logprobs.ts";
import { parseExact } from "../../exact-json.ts";
import type { AnswerContext } from "../../protocol.ts";
import { type BuiltInCall, type CalledAs, calledAs, type Echo, readEcho } from "./echo.ts";
import { type IdPrefix, mintId } from "./ids.ts";
import { wireId } from "../../wire-ids.ts";
import type { ItemSink } from "./item-sink.ts";
import {
  type CallItem,
  type ItemEnd,
  type ItemPlace,
  type MessageItem,
  openCall,
  type OpenItem,
  openMessage,
  openReasoning,
  type ReasoningItem,
  reasoningItem,
} from "./open-items.ts";

/** Of an id of a call: more are refused by OpenAI, where a client may go on. */
const MOST_CHARACTERS = 64;

/** The part of the answer that is open. */
interface OpenPart {
  readonly begun: BegunPart;
  readonly index: number;
  text: string;
  signature?: string;
  /** What clients know a call by. */
  readonly callId: string;
  /** A call's first input, which waits for a signature that belongs before it; absent once it is said. */
  held: string | undefined;
}

/** Where a text stands: in the whole answer's text, and in that of its item, in characters. */
interface TextSpan {
  readonly item: MessageItem;
  /** Where the item's text begins. */
  readonly base: number;
  readonly start: number;
  end: number;
}

const ID_OF: Readonly<Record<BuiltInCall, IdPrefix>> = {
  shell_call: "sh",
  local_shell_call: "lsh",
  apply_patch_call: "apc",
  tool_search_call: "tsc",
};

/**
 * Turns what a running answer says into items, one open at a time. What comes next closes an item, so that the last one
 * can say that it was cut short. Items that come whole wait till then too.
 */
export function openItemWriter(context: AnswerContext, sink: ItemSink): ItemWriter {
  return new Items(context, sink);
}

/** Writes the items of one answer. */
export interface ItemWriter {
  /** Those that have ended. */
  readonly items: readonly JsonObject[];
  /** Why the answer ended; absent while it runs. */
  readonly reason: FinishReason | undefined;
  push(event: Exclude<ChatEvent, { readonly type: "start" }>): void;
  /** The items of an answer that broke: what was open is cut short, and nothing more is said of it. */
  broken(): readonly JsonObject[];
}

class Items implements ItemWriter {
  readonly items: JsonObject[] = [];
  reason: FinishReason | undefined;
  readonly #context: AnswerContext;
  readonly #echo: Echo;
  readonly #sink: ItemSink;
  #open: OpenItem | undefined;
  #part: OpenPart | undefined;
  /** Whole items behind the open one. */
  readonly #waiting: ((at: { readonly output_index: number }) => JsonObject)[] = [];
  /** Characters of text so far; and where that of the open message begins. */
  #textLength = 0;
  #textBase = 0;
  readonly #spans = new Map<number, TextSpan>();
  #summary = "";
  /** Those of the calls so far. */
  readonly #callIds = new Set<string>();

  constructor(context: AnswerContext, sink: ItemSink) {
    this.#context = context;
    this.#echo = readEcho(context);
    this.#sink = sink;
  }

  push(event: Exclude<ChatEvent, { readonly type: "start" }>): void {
    // The interface has one answer.
    if (event.choice !== 0) return;
    if (this.#echo.compacts) return this.#compact(event);
    const part = this.#part;
    switch (event.type) {
      case "part_start":
        this.#part = { ...this.#begun(event.part), index: event.index };
        break;
      case "delta":
        if (part !== undefined && event.text !== "") this.#add(part, event.text);
        break;
      case "signature":
        if (part !== undefined) part.signature = event.signature;
        break;
      case "logprobs":
        if (this.#open?.kind === "message") this.#open.weigh(writeLogprobs(event.tokens));
        break;
      case "citation":
        this.#cite(event.index, event.citation);
        break;
      case "part_end":
        if (part !== undefined) this.#end(part);
        this.#part = undefined;
        break;
      case "finish":
        this.#finish(event.reason, event.refusal);
    }
  }

  broken(): readonly JsonObject[] {
    const part = this.#part;
    if (part === undefined) this.#settle("completed");
    else this.#beginCall(part);
    return this.#open === undefined ? this.items : [...this.items, this.#open.broken()];
  }

  #begun(begun: BegunPart): Omit<OpenPart, "index"> {
    const callId = begun.type === "tool_call" ? this.#callId(begun.id) : "";
    return { begun, callId, text: "", held: "" };
  }

  /** Clients fail over two calls of one id. */
  #callId(given: string): string {
    const id = wireId(given, MOST_CHARACTERS);
    const isTaken = given === "" || this.#callIds.has(id);
    const own = isTaken ? mintId("call", this.#context.requestId, this.#callIds.size) : id;
    this.#callIds.add(own);
    return own;
  }

  #add(part: OpenPart, text: string): void {
    const { begun } = part;
    const isFirst = part.text === "";
    part.text += text;
    switch (begun.type) {
      case "text":
        return this.#addText(part.index, text);
      case "refusal":
        return this.#message().add("refusal", text);
      case "thinking": {
        const open = isFirst ? this.#begin("rs", (place) => openReasoning(place, this.#sink)) : this.#open;
        return (open as ReasoningItem).add(text);
      }
      case "tool_call":
        if (isFirst) part.held = text;
        else if (calledAs(this.#echo, begun.name)?.item === undefined) {
          this.#beginCall(part);
          (this.#open as CallItem).add(text);
        }
    }
  }

  #addText(index: number, text: string): void {
    const item = this.#message();
    const length = charactersOf(text);
    const span = this.#spans.getOrInsertComputed(index, () => {
      const [start, base] = [this.#textLength, this.#textBase];
      return { item, base, start, end: start };
    });
    this.#textLength += length;
    span.end = this.#textLength;
    item.add("output_text", text);
  }

  /** The message that is open: texts with nothing between them are one. */
  #message(): MessageItem {
    if (this.#open?.kind === "message" && this.#waiting.length === 0) return this.#open;
    return this.#begin("msg", (place) => {
      this.#textBase = this.#textLength;
      return openMessage(place, this.#sink);
    });
  }

  #begin<Item extends OpenItem>(prefix: IdPrefix, make: (place: ItemPlace) => Item): Item {
    this.#settle("completed");
    const item = make({ id: this.#id(prefix), output_index: this.items.length });
    this.#open = item;
    return item;
  }

  /** Closes what is open, and says what waits behind it. */
  #settle(end: ItemEnd): void {
    if (this.#open !== undefined) this.items.push(this.#open.close(end));
    this.#open = undefined;
    for (const make of this.#waiting.splice(0)) {
      const at = { output_index: this.items.length };
      this.items.push(make(at));
    }
  }

  #id(prefix: IdPrefix): string {
    return mintId(prefix, this.#context.requestId, this.items.length);
  }

  /** Keeps an item that comes whole: `begun` is what it is at first. */
  #wait(prefix: IdPrefix, item: JsonObject, begun: JsonObject): void {
    this.#waiting.push((at) => {
      const id = this.#id(prefix);
      this.#sink.write("response.output_item.added", { ...at, item: { id, ...item, ...begun } });
      const whole = { id, ...item };
      this.#sink.write("response.output_item.done", { ...at, item: whole });
      return whole;
    });
  }

  /** Keeps a reasoning item without words. Its state comes with its end alone. */
  #carry(carried: Carried): void {
    const carrier = this.#seal(carried);
    this.#waiting.push((at) => {
      const id = this.#id("rs");
      this.#sink.write("response.output_item.added", { ...at, item: reasoningItem(id, "in_progress", []) });
      const item = reasoningItem(id, "completed", [], carrier);
      this.#sink.write("response.output_item.done", { ...at, item });
      return item;
    });
  }

  #seal(carried: Carried): string {
    return sealCarrier(carried, this.#context.carrier);
  }

  #end(part: OpenPart): void {
    const { begun, text, signature } = part;
    switch (begun.type) {
      case "text":
        if (signature !== undefined)
          this.#carry({ kind: "signature", issuer: "google", signature, of: "last" });
        break;
      case "thinking": {
        const { issuer } = begun;
        const signed = signature === undefined ? {} : { signature };
        const carried: Carried = {
          kind: "thinking",
          ...(issuer === undefined ? {} : { issuer }),
          text,
          ...signed,
        };
        if (text !== "") (this.#open as ReasoningItem).carrier = this.#seal(carried);
        else if (signature !== undefined) this.#carry(carried);
        break;
      }
      case "redacted_thinking":
        this.#carry({ kind: "redacted", issuer: begun.issuer, data: begun.data });
        break;
      case "tool_call":
        this.#endCall(part, begun);
        break;
      case "image": {
        if (signature !== undefined)
          this.#carry({ kind: "signature", issuer: "google", signature, of: "next" });
        const item = { type: "image_generation_call", status: "completed", result: begun.data };
        this.#wait("ig", item, { status: "in_progress", result: null });
      }
    }
  }

  #endCall(part: OpenPart, begun: Extract<BegunPart, { readonly type: "tool_call" }>): void {
    const { text, signature } = part;
    const as = calledAs(this.#echo, begun.name);
    if (as?.item !== undefined && this.#endBuiltIn(part, as.item)) return;
    const isLate = part.held === undefined && signature !== undefined;
    this.#beginCall(part, true);
    // Clients parse the arguments, and nothing is no JSON.
    if (text.trim() === "" && begun.custom !== true) (this.#open as CallItem).add("{}");
    if (isLate) this.#carry({ kind: "signature", issuer: "google", signature, of: "last" });
  }

  /** Says how a call begins, its signature before it, and what was held back of its input, unless that is said already. */
  #beginCall(part: OpenPart, isWhole = false): void {
    const { begun, callId, held, signature } = part;
    if (begun.type !== "tool_call" || held === undefined) return;
    const as: CalledAs = calledAs(this.#echo, begun.name) ?? { name: begun.name };
    // The item of a built-in tool comes whole.
    if (as.item !== undefined && !isWhole) return;
    part.held = undefined;
    if (signature !== undefined) this.#carry({ kind: "signature", issuer: "google", signature, of: "next" });
    const isCustom = begun.custom === true;
    const call = this.#begin(isCustom ? "ctc" : "fc", (place) =>
      openCall(place, this.#sink, { callId, as, isCustom }),
    );
    const said = isWhole ? part.text : held;
    if (said !== "") call.add(said);
  }

  /** A call of a tool that has an item of its own; `false` where its input is not what such an item holds. */
  #endBuiltIn({ text, callId, signature }: OpenPart, type: BuiltInCall): boolean {
    const input = parseExact(text);
    if (!isJsonObject(input)) return false;
    if (signature !== undefined) this.#carry({ kind: "signature", issuer: "google", signature, of: "next" });
    const called = { type, call_id: callId, status: "completed", ...builtInInput(type, input) };
    this.#wait(ID_OF[type], called, { status: "in_progress" });
    return true;
  }

  #cite(index: number, { url, title = url, start, end }: Citation): void {
    const span = this.#spans.get(index);
    // Only a message that is open can say so; one that has gone out is not changed.
    if (span === undefined || span.item !== this.#open) return;
    const { base } = span;
    const place = { start_index: (start ?? span.start) - base, end_index: (end ?? span.end) - base };
    span.item.cite({ type: "url_citation", ...place, url, title });
  }

  #finish(reason: FinishReason, refusal = ""): void {
    if (refusal !== "") this.#message().add("refusal", refusal);
    const isCut = (reason === "length" || reason === "content_filter") && this.#waiting.length === 0;
    this.#settle(isCut ? "incomplete" : "completed");
    this.reason = reason;
  }

  /** Keeps the texts of a hand-over summary, which is one item. */
  #compact(event: Exclude<ChatEvent, { readonly type: "start" }>): void {
    if (event.type === "part_start") this.#part = { ...this.#begun(event.part), index: 0 };
    else if (event.type === "part_end") this.#part = undefined;
    else if (event.type === "delta" && this.#part?.begun.type === "text") this.#summary += event.text;
    else if (event.type === "finish") {
      const text = this.#summary.trim();
      if (text !== "") {
        const encrypted_content = this.#seal({ kind: "compaction", text });
        this.#wait("cmp", { type: "compaction", encrypted_content }, { encrypted_content: "" });
      }
      this.#settle("completed");
      // Without a summary the conversation cannot go on from here.
      this.reason = text === "" ? "error" : event.reason;
    }
  }
}

/** What such an item has of a call's input. */
function builtInInput(type: BuiltInCall, input: JsonObject): JsonObject {
  switch (type) {
    case "tool_search_call":
      return { execution: "client", arguments: input };
    case "apply_patch_call":
      return { operation: input };
    case "local_shell_call":
      return { action: { type: "exec", env: {}, ...input } };
    case "shell_call":
      return { action: { timeout_ms: null, max_output_length: null, ...input } };
  }
}

/** How many characters a text has; most have none of two units. */
function charactersOf(text: string): number {
  return /[\uD800-\uDBFF]/.test(text) ? Array.from(text).length : text.length;
}
