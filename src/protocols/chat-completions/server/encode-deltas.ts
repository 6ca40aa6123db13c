import type { BegunPart, ChatEvent, Citation, FinishReason, Issuer } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { writeDataUrl } from "../../data-url.ts";
import { writeLogprobs } from "../../logprobs.ts";
import { FORMATS } from "../reasoning-formats.ts";
import { REDACTED } from "./decode-reasoning.ts";

export type Delta = JsonObject & { readonly tool_calls?: readonly CallFragment[] };

/** A call in the form of its kind: a function's has `function`, a custom tool's `custom`. */
interface CallFragment {
  readonly index: number;
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
}

/** Told of the deltas of choices. */
interface DeltaSink {
  /** A delta, and with the last of a choice the reason. */
  write(choice: number, delta: Delta, finish: FinishReason | null): void;
  /** How likely tokens were that were told before. */
  writeLogprobs(choice: number, tokens: readonly JsonObject[]): void;
  /** A delta with this text alone, as nearly all are. */
  writeText(choice: number, member: "content" | "reasoning_content", text: string): void;
}

/**
 * Turns what a running answer says into deltas of chat completions. Lists that clients do not join over chunks (images,
 * annotations, `reasoning_details`) come once and whole, before the finish. `id`, `type` and `name` of a call stand in
 * its first fragment only, since some clients look nowhere else. Its signature stands there too where it comes soon
 * enough.
 */
export function openDeltaWriter(sink: DeltaSink) {
  const writers = new Map<number, ChoiceWriter>();
  return {
    push(event: ChatEvent): void {
      const choice = event.type === "start" ? 0 : event.choice;
      const writer = writers.getOrInsertComputed(choice, () => new ChoiceWriter(choice, sink));
      if (event.type !== "start") writer.push(event);
    },
    /** Writes what was held back when the answer broke: nothing that would make it look whole. */
    flush(): void {
      for (const writer of writers.values()) writer.flush();
    },
  };
}

interface OpenPart {
  readonly begun: BegunPart;
  /** Where its text stands in that of its choice, in characters. */
  readonly textStart: number;
  textEnd: number;
  text: string;
  signature?: string;
  /** A call's first input, which waits for a signature that belongs before it; absent once it is said. */
  held: string | undefined;
}

type TextSpan = Pick<OpenPart, "textStart" | "textEnd">;

/** Writes one choice, its role first. */
class ChoiceWriter {
  readonly #choice: number;
  readonly #sink: DeltaSink;
  #part: OpenPart | undefined;
  #calls = 0;
  /** Its text so far, in characters and in units of a string. */
  #textLength = 0;
  #textUnits = 0;
  /** Parts so far as the answer comes back: texts that no reasoning parts are one by then. */
  #places = 0;
  /** There was text since the last reasoning. */
  #hasText = false;
  readonly #images: JsonObject[] = [];
  readonly #citations: { readonly citation: Citation; readonly within: TextSpan }[] = [];
  /** Items of `reasoning_details`, each with how much text came before it. */
  readonly #reasoning: { readonly index: number; readonly text_before: number }[] = [];

  constructor(choice: number, sink: DeltaSink) {
    this.#choice = choice;
    this.#sink = sink;
    this.#say({ role: "assistant", content: "" });
  }

  push(event: Exclude<ChatEvent, { readonly type: "start" }>): void {
    const part = this.#part;
    switch (event.type) {
      case "part_start": {
        const length = this.#textLength;
        this.#part = { begun: event.part, textStart: length, textEnd: length, text: "", held: "" };
        break;
      }
      case "delta":
        if (part !== undefined && event.text !== "") this.#add(part, event.text);
        break;
      case "signature":
        if (part !== undefined) part.signature = event.signature;
        break;
      case "citation": {
        const within = part ?? { textStart: 0, textEnd: this.#textLength };
        this.#citations.push({ citation: event.citation, within });
        break;
      }
      case "logprobs":
        this.#sink.writeLogprobs(this.#choice, writeLogprobs(event.tokens));
        break;
      case "part_end":
        if (part !== undefined) this.#end(part);
        this.#part = undefined;
        break;
      case "finish":
        this.#finish(event.reason, event.refusal);
    }
  }

  flush(): void {
    if (this.#part !== undefined) this.#beginCall(this.#part);
  }

  #add(part: OpenPart, text: string): void {
    const { type } = part.begun;
    const isFirst = part.text === "";
    part.text += text;
    if (type === "text") {
      this.#textUnits += text.length;
      this.#textLength += charactersOf(text);
      part.textEnd = this.#textLength;
      this.#sink.writeText(this.#choice, "content", text);
    } else if (type === "refusal") this.#say({ refusal: text });
    else if (type === "thinking") this.#sink.writeText(this.#choice, "reasoning_content", text);
    else if (isFirst) part.held = text;
    else if (type === "tool_call") {
      this.#beginCall(part);
      this.#sayCall(inputOf(part.begun, text));
    }
  }

  #say(delta: Delta, finish: FinishReason | null = null): void {
    this.#sink.write(this.#choice, delta, finish);
  }

  #end(part: OpenPart): void {
    const { begun, signature, text } = part;
    const canBeSilent = begun.type === "text" || begun.type === "thinking";
    if (canBeSilent && text === "" && signature === undefined) return;
    switch (begun.type) {
      case "text":
        // The interface has no signature on a text, so it travels as a piece of reasoning without words.
        if (signature !== undefined) this.#reason("", signature, "google");
        if (this.#hasText) return;
        this.#hasText = true;
        break;
      case "thinking":
        this.#reason(text, signature, begun.issuer);
        this.#hasText = false;
        break;
      case "redacted_thinking":
        this.#reason("", REDACTED + begun.data, begun.issuer);
        this.#hasText = false;
        break;
      case "refusal":
        return;
      case "tool_call":
        if (part.held === undefined && signature !== undefined)
          this.#sayCall({ ...inputOf(begun, ""), ...signedCall(signature) });
        this.#beginCall(part);
        // Clients parse the arguments of a function, and nothing is no JSON.
        if (begun.custom !== true && text.trim() === "") this.#sayCall({ function: { arguments: "{}" } });
        this.#calls += 1;
        break;
      case "image": {
        const url = writeDataUrl({ ...begun, ...present({ signature }) });
        this.#images.push({ type: "image_url", image_url: { url } });
      }
    }
    this.#places += 1;
  }

  /** Says how a call begins, and what was held back of its input, unless that is said already. */
  #beginCall(part: OpenPart): void {
    const { begun, held, signature } = part;
    if (begun.type !== "tool_call" || held === undefined) return;
    const { id } = begun;
    part.held = undefined;
    const extra = signature === undefined ? {} : signedCall(signature);
    this.#sayCall({
      id,
      type: begun.custom === true ? "custom" : "function",
      ...inputOf(begun, "", begun.name),
      ...extra,
    });
    if (held !== "") this.#sayCall(inputOf(begun, held));
  }

  #sayCall(call: Omit<CallFragment, "index"> & JsonObject): void {
    this.#say({ tool_calls: [{ index: this.#calls, ...call }] });
  }

  #reason(thinking: string, signature: string | undefined, issuer: Issuer | undefined): void {
    // Thinking of nobody who signs comes back as its text, if at all.
    if (issuer === undefined) return;
    const [index, format] = [this.#places, FORMATS.get(issuer) ?? issuer];
    const item = { type: "thinking", thinking, ...present({ signature, format }), index };
    this.#reasoning.push({ ...item, text_before: this.#textUnits });
  }

  #finish(reason: FinishReason, refusal = ""): void {
    if (refusal !== "") this.#say({ refusal });
    const lists = {
      images: this.#images,
      annotations: this.#citations.map(({ citation, within }) => annotation(citation, within)),
      // Clients have one text: how much of it came before a thought that parts it must be said.
      reasoning_details: this.#reasoning.map(({ text_before: before, ...item }) =>
        item.index > 0 && before < this.#textUnits ? { ...item, text_before: before } : item,
      ),
    };
    const delta = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
    if (Object.keys(delta).length > 0) this.#say(delta);
    // An answer that calls tools ends for them, whatever word its model has for a good end.
    this.#say({}, reason === "stop" && this.#calls > 0 ? "tool_calls" : reason);
  }
}

type BegunCall = Extract<BegunPart, { readonly type: "tool_call" }>;

/** A piece of what a tool is called with, and in its first fragment the name. */
function inputOf({ custom }: BegunCall, text: string, name?: string): Omit<CallFragment, "index"> {
  const said = name === undefined ? {} : { name };
  return custom === true ? { custom: { ...said, input: text } } : { function: { ...said, arguments: text } };
}

/** How many characters a text has; most have none of two units. */
function charactersOf(text: string): number {
  return /[\uD800-\uDBFF]/.test(text) ? Array.from(text).length : text.length;
}

/** Source: "Thought signatures" of the Gemini API, as its own chat completions have it. */
function signedCall(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } };
}

/** A citation that does not say what it is of is one of all the text it came with. */
function annotation({ url, title = url, start, end }: Citation, within: TextSpan): JsonObject {
  const span = { start_index: start ?? within.textStart, end_index: end ?? within.textEnd };
  return { type: "url_citation", url_citation: { ...span, title, url } };
}
