import type { BegunPart, ChatEvent } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { type Carried, sealCarrier } from "../../carrier.ts";
import { parseExact } from "../../exact-json.ts";
import type { AnswerContext } from "../../protocol.ts";
import { wireId } from "../../wire-ids.ts";

/** The kinds of pieces of blocks, by the member that has the text. */
export const DELTAS = {
  text: "text_delta",
  thinking: "thinking_delta",
  partial_json: "input_json_delta",
  signature: "signature_delta",
} as const;

/** Told of blocks, one after another. */
export interface BlockSink {
  /** A block begins, with all that does not come as a piece. */
  begin(block: JsonObject): void;
  add(member: keyof typeof DELTAS, text: string): void;
  end(): void;
}

/** The part of an answer that is open. */
interface OpenPart {
  readonly begun: BegunPart;
  /** Its block has begun. */
  isSaid: boolean;
  /** Thinking that is not shown, or the input of a call. */
  text: string;
  /** What of a call's input waits for a signature that belongs before it. */
  held: string;
  signature: string;
}

/** How an answer ended, in the words of the format. */
export interface Stop {
  readonly reason: string;
  readonly details?: JsonObject;
  /** The sequence that it ended before. */
  readonly sequence?: string;
}

const BROKEN_OFF = "The model broke off its answer with an error of its own.";
const NO_INPUT = "The model called a tool with arguments that are no JSON object.";

/** Writes the blocks of one answer. */
export interface BlockWriter {
  push(event: ChatEvent): void;
  /** How the answer ended. Throws the error that it ended in. */
  stop(): Stop;
}

/**
 * Turns what a running answer says into blocks. What its issuer has signed stands in a thinking block as a text that
 * only we open. The signature of a call is in a block without words before it; that of a text is in one behind it. A
 * text that comes last has none behind it: Claude Code prints no answer whose last block is another. The gateway
 * remembers what signed that text (`recalled-thinking.ts`). An image has no block, and nor have the pages that a text
 * rests on, which clients take from the format's own vendor alone.
 */
export function openBlockWriter(sink: BlockSink, context: AnswerContext): BlockWriter {
  return new Writer(sink, context);
}

class Writer implements BlockWriter {
  readonly #sink: BlockSink;
  readonly #context: AnswerContext;
  readonly #isHidden: boolean;
  #part: OpenPart | undefined;
  #isAfterText = false;
  /** What signed the text before, until a block follows it. */
  #textSignature: string | undefined;
  #calls = 0;
  #hasRefused = false;
  #lacksInput = false;
  #finish: Omit<Extract<ChatEvent, { readonly type: "finish" }>, "type"> | undefined;

  constructor(sink: BlockSink, context: AnswerContext) {
    this.#sink = sink;
    this.#context = context;
    this.#isHidden = context.echo?.hidden === true;
  }

  push(event: ChatEvent): void {
    // A request asks for one answer.
    if (event.type === "start" || event.choice !== 0) return;
    const part = this.#part;
    switch (event.type) {
      case "part_start":
        this.#part = { begun: event.part, isSaid: false, text: "", held: "", signature: "" };
        break;
      case "delta":
        if (part !== undefined && event.text !== "") this.#add(part, event.text);
        break;
      case "signature":
        if (part !== undefined) part.signature = event.signature;
        break;
      case "part_end":
        if (part !== undefined) this.#end(part);
        this.#part = undefined;
        break;
      case "finish":
        this.#finish = event;
    }
  }

  stop(): Stop {
    const { reason = "error", refusal = "", stop: sequence } = this.#finish ?? {};
    if (reason === "error") throw new GatewayError("upstream_error", BROKEN_OFF);
    const details =
      refusal === "" ? {} : { details: { type: "refusal", category: null, explanation: refusal } };
    if (reason === "content_filter") return { reason: "refusal", ...details };
    if (reason === "length") return { reason: "max_tokens" };
    // With them a client would run a tool that was never asked for so.
    if (this.#lacksInput) throw new GatewayError("upstream_error", NO_INPUT);
    // An answer that calls tools ends for them, whatever word its model has for a good end.
    if (this.#calls > 0) return { reason: "tool_use" };
    if (this.#hasRefused) return { reason: "refusal" };
    return sequence === undefined ? { reason: "end_turn" } : { reason: "stop_sequence", sequence };
  }

  #add(part: OpenPart, text: string): void {
    const { type } = part.begun;
    if (type === "text" || type === "refusal") {
      if (!part.isSaid) this.#begin(part, { type: "text", text: "" });
      this.#hasRefused ||= type === "refusal";
      this.#sink.add("text", text);
    } else if (type === "thinking") {
      if (this.#isHidden) part.text += text;
      else {
        if (!part.isSaid) this.#begin(part, { type: "thinking", thinking: "", signature: "" });
        this.#sink.add("thinking", text);
      }
    } else if (type === "tool_call") {
      const isFirst = part.text === "";
      part.text += text;
      // One piece may be all, and its signature come behind it.
      if (isFirst) part.held = text;
      else {
        this.#beginCall(part);
        this.#sink.add("partial_json", text);
      }
    }
  }

  #begin(part: OpenPart, block: JsonObject): void {
    part.isSaid = true;
    this.#open(block);
  }

  #open(block: JsonObject): void {
    const signature = this.#textSignature;
    this.#textSignature = undefined;
    if (signature !== undefined) this.#addSigned(signature);
    this.#isAfterText = block.type === "text";
    this.#sink.begin(block);
  }

  /** A block of thinking that has no words. */
  #addSigned(signature: string): void {
    this.#open({ type: "thinking", thinking: "", signature: "" });
    this.#sink.add("signature", signature);
    this.#sink.end();
  }

  #beginCall(part: OpenPart): void {
    const { begun, held, isSaid } = part;
    if (begun.type !== "tool_call" || isSaid) return;
    const id = begun.id === "" ? `toolu_${this.#context.requestId}_${this.#calls}` : wireId(begun.id);
    this.#begin(part, { type: "tool_use", id, name: begun.name, input: {} });
    if (held.trim() !== "") this.#sink.add("partial_json", held);
  }

  #end(part: OpenPart): void {
    const { begun, signature } = part;
    switch (begun.type) {
      case "text":
      case "refusal":
        if (part.isSaid) this.#sink.end();
        if (signature !== "") this.#sign(signature, "last");
        break;
      case "thinking":
        this.#endThinking(part, begun.issuer);
        break;
      case "redacted_thinking":
        this.#open({ type: "redacted_thinking", data: this.#redacted(begun) });
        this.#sink.end();
        break;
      case "tool_call": {
        const isEarly = !part.isSaid;
        if (signature !== "" && isEarly) this.#sign(signature, "next");
        this.#beginCall(part);
        this.#sink.end();
        if (signature !== "" && !isEarly) this.#sign(signature, "last");
        this.#calls += 1;
        this.#lacksInput ||= part.text.trim() !== "" && inputIn(part.text) === undefined;
        break;
      }
      case "image":
    }
  }

  /** Every block of thinking is signed: clients drop, and servers refuse, one that is not. */
  #endThinking(part: OpenPart, issuer: string | undefined): void {
    const { signature, text } = part;
    if (!part.isSaid && signature === "" && text === "") return;
    const isPlain = issuer === "anthropic" && signature !== "";
    // What is shown comes back in its block.
    const carried: Carried = {
      kind: "thinking",
      text,
      ...(issuer === undefined ? {} : { issuer }),
      ...(signature === "" ? {} : { signature }),
    };
    const held = isPlain ? signature : this.#seal(carried);
    if (!part.isSaid) {
      const isOfText = text === "" && this.#isAfterText && this.#textSignature === undefined;
      if (isOfText) this.#textSignature = held;
      else this.#addSigned(held);
      return;
    }
    this.#sink.add("signature", held);
    this.#sink.end();
  }

  /** A signature of what is no thinking; of such parts only Google's models sign any. */
  #sign(signature: string, of: "next" | "last"): void {
    this.#addSigned(this.#seal({ kind: "signature", issuer: "google", signature, of }));
  }

  #redacted({ data, issuer }: Extract<BegunPart, { readonly type: "redacted_thinking" }>): string {
    return issuer === "anthropic" ? data : this.#seal({ kind: "redacted", issuer, data });
  }

  #seal(carried: Carried): string {
    return sealCarrier(carried, this.#context.carrier);
  }
}

/** The input of a call from its JSON text; `undefined` where that is no object. */
export function inputIn(text: string): JsonObject | undefined {
  const value = parseExact(text);
  // A number that keeps its digits is an object too.
  return isJsonObject(value) && text.trimStart().startsWith("{") ? value : undefined;
}
