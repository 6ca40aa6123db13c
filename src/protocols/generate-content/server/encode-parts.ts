import type { BegunPart, ChatEvent, Citation, FinishReason, TokenLogprob } from "../../../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import { type Carried, sealCarrier } from "../../carrier.ts";
import { parseExact } from "../../exact-json.ts";
import type { AnswerContext } from "../../protocol.ts";
import { writeLogprobs } from "../logprobs.ts";
import { writeSignature } from "../signatures.ts";

/** Takes the parts of candidates as they are ready. */
export interface PartSink {
  part(candidate: number, part: JsonObject): void;
}

/** The end of a candidate. */
export interface CandidateEnd {
  readonly reason: FinishReason;
  readonly citations: readonly Citation[];
  readonly logprobs: readonly TokenLogprob[];
}

/** Source: `FinishReason` of the generateContent reference; one that calls functions ends as any other. */
const REASONS: Readonly<Record<Exclude<FinishReason, "error">, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

/** Writes the parts of one answer. What is signed is carried by the part that follows it, as the format has it. */
export interface PartWriter {
  push(event: ChatEvent): void;
  /** How each candidate has ended, by index. */
  readonly ends: ReadonlyMap<number, CandidateEnd>;
}

/** A writer into a sink. */
export function openPartWriter(sink: PartSink, context: AnswerContext): PartWriter {
  return new Writer(sink, context);
}

/** A part that has begun. */
interface OpenPart {
  readonly begun: BegunPart;
  text: string;
  signature?: string;
}

class Writer implements PartWriter {
  readonly ends = new Map<number, CandidateEnd>();
  readonly #sink: PartSink;
  readonly #context: AnswerContext;
  readonly #showsThoughts: boolean;
  readonly #open = new Map<number, OpenPart>();
  /** Carriers that wait for the part that follows. */
  readonly #carriers = new Map<number, string[]>();
  readonly #citations = new Map<number, Citation[]>();
  /** Those whose calls could not all be said: a function is called with an object. */
  readonly #lost = new Set<number>();
  readonly #logprobs = new Map<number, TokenLogprob[]>();
  /** Those that the model has declined to give, whatever word its provider ends such a one with. */
  readonly #declined = new Set<number>();

  constructor(sink: PartSink, context: AnswerContext) {
    this.#sink = sink;
    this.#context = context;
    this.#showsThoughts = context.echo?.showsThoughts === true;
  }

  push(event: ChatEvent): void {
    if (event.type === "start") return;
    const { choice } = event;
    const open = this.#open.get(choice);
    switch (event.type) {
      case "part_start":
        this.#open.set(choice, { begun: event.part, text: "" });
        if (event.part.type === "refusal") this.#declined.add(choice);
        if (event.part.type === "image") this.#image(choice, event.part);
        return;
      case "delta":
        if (open !== undefined) this.#add(choice, open, event.text);
        return;
      case "signature":
        if (open !== undefined) open.signature = event.signature;
        return;
      case "citation":
        this.#citations.getOrInsertComputed(choice, () => []).push(event.citation);
        return;
      case "logprobs":
        this.#logprobs.getOrInsertComputed(choice, () => []).push(...event.tokens);
        return;
      case "part_end":
        if (open !== undefined) this.#end(choice, open);
        this.#open.delete(choice);
        return;
      case "finish":
        if (event.refusal !== undefined && event.refusal !== "") this.#say(choice, { text: event.refusal });
        // What nothing follows is carried by a part without words.
        if (this.#carriers.has(choice)) this.#say(choice, { text: "" });
        this.ends.set(choice, {
          reason: this.#reasonOf(choice, event.reason),
          citations: this.#citations.get(choice) ?? [],
          logprobs: this.#logprobs.get(choice) ?? [],
        });
    }
  }

  #reasonOf(choice: number, told: FinishReason): FinishReason {
    // A call that a bound on output has cut is none that anybody could run.
    if (this.#lost.has(choice) && told !== "length") return "error";
    return told === "stop" && this.#declined.has(choice) ? "content_filter" : told;
  }

  #add(choice: number, open: OpenPart, text: string): void {
    open.text += text;
    const { type } = open.begun;
    if (type === "text" || type === "refusal") this.#say(choice, { text });
    else if (type === "thinking" && this.#showsThoughts) this.#sink.part(choice, { text, thought: true });
  }

  #end(choice: number, { begun, text, signature }: OpenPart): void {
    switch (begun.type) {
      case "thinking": {
        const { issuer } = begun;
        if (text !== "" || signature !== undefined)
          this.#carry(choice, { kind: "thinking", text, ...present({ issuer, signature }) });
        return;
      }
      case "redacted_thinking":
        return this.#carry(choice, { kind: "redacted", issuer: begun.issuer, data: begun.data });
      case "tool_call": {
        if (signature !== undefined)
          this.#carry(choice, { kind: "signature", issuer: "google", signature, of: "next" });
        const args = parseExact(text.trim() === "" ? "{}" : text);
        const { id, name } = begun;
        if (isJsonObject(args)) this.#say(choice, { functionCall: { id, name, args } });
        else this.#lost.add(choice);
        return;
      }
      case "text":
        if (signature !== undefined)
          this.#carry(choice, { kind: "signature", issuer: "google", signature, of: "last" });
    }
  }

  #image(
    choice: number,
    { mediaType: mimeType, data }: Extract<BegunPart, { readonly type: "image" }>,
  ): void {
    this.#say(choice, { inlineData: { mimeType, data } });
  }

  #carry(choice: number, carried: Carried): void {
    const carrier = sealCarrier(carried, this.#context.carrier);
    this.#carriers.getOrInsertComputed(choice, () => []).push(carrier);
  }

  #say(choice: number, part: JsonObject): void {
    const carriers = this.#carriers.get(choice);
    this.#carriers.delete(choice);
    this.#sink.part(
      choice,
      carriers === undefined ? part : { ...part, thoughtSignature: writeSignature(carriers) },
    );
  }
}

/** The members of a candidate that tell its end; `undefined` where the model broke off. */
export function endMembers({ reason, citations, logprobs }: CandidateEnd): JsonObject | undefined {
  if (reason === "error") return undefined;
  const chunks = citations.map(({ url: uri, title }) => ({ web: { uri, ...present({ title }) } }));
  return {
    finishReason: REASONS[reason],
    ...(logprobs.length === 0 ? {} : { logprobsResult: writeLogprobs(logprobs) }),
    ...(chunks.length === 0 ? {} : { groundingMetadata: { groundingChunks: chunks } }),
  };
}
