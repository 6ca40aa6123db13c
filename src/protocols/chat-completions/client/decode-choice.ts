import type { BegunPart, ChatEvent, Citation, FinishReason, Issuer } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { readLogprobs } from "../../logprobs.ts";
import { openPartWriter, type PartWriter } from "../../part-writer.ts";
import { readCitation } from "./decode-citation.ts";
import { decodeDetails, type Reasoning } from "./decode-details.ts";
import { decodeImage } from "./decode-image.ts";
import { type OpenCall, openInputEnd } from "./open-call.ts";

/** Members of a delta that are a text of the answer. */
export type TextMember = "content" | "reasoning_content" | "reasoning";

/** Reads one choice of an answer, in as many pieces as it comes. */
export type ChoiceDecoder = ReturnType<typeof openChoice>;

/** A decoder that hands its events to `say`; `idOf` names a call that has no id. */
export function openChoice(choice: number, say: (event: ChatEvent) => void, idOf: (call: number) => string) {
  return new Choice(choice, say, idOf);
}

/** What is told when it can be: a call, or what came behind one whose end has not. */
type Piece = OpenCall | (() => void);

const FINISH: ReadonlyMap<unknown, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  ["error", "error"],
]);

class Choice {
  readonly #choice: number;
  readonly #say: (event: ChatEvent) => void;
  readonly #idOf: (call: number) => string;
  readonly #parts: PartWriter;
  readonly #calls = new Map<unknown, OpenCall>();
  #openCall: OpenCall | undefined;
  /** What came while another call was open, in its order: parts never mix. */
  readonly #waiting: Piece[] = [];
  #told = 0;
  #issuer: Issuer | undefined;
  #lastText = -1;
  /** Those that came before any text. */
  readonly #citations: Citation[] = [];
  #finish: FinishReason | undefined;

  constructor(choice: number, say: (event: ChatEvent) => void, idOf: (call: number) => string) {
    this.#choice = choice;
    this.#say = say;
    this.#idOf = idOf;
    this.#parts = openPartWriter(choice, say);
  }

  /** The choice as one chunk has it. What a part is, the first member says that is not empty. */
  read({ delta, logprobs, finish_reason: reason }: JsonObject): void {
    if (isJsonObject(delta)) this.#readDelta(delta);
    if (isJsonObject(logprobs)) this.#readLogprobs(logprobs);
    // A reason that is not known yet is one all the same.
    if (filledText(reason) !== undefined) this.#finish ??= FINISH.get(reason) ?? "stop";
  }

  /** Tells more text as that of this member was told; `undefined` where it has to wait. */
  moreOf(member: TextMember): ((text: string) => void) | undefined {
    if (this.#openCall !== undefined) return undefined;
    return member === "content" ? this.#addText : this.#addThought;
  }

  /** The answer has ended, and is whole. */
  end(): void {
    while (this.#openCall !== undefined || this.#told < this.#waiting.length) {
      this.#endCall();
      this.#tellNext();
    }
    if (this.#lastText !== -1)
      for (const citation of this.#citations) this.#parts.cite(citation, this.#lastText);
    this.#parts.end();
    const reason = this.#finish ?? "stop";
    // An answer that calls tools ends for them, whatever its word for a good end.
    const told = reason === "stop" && this.#calls.size > 0 ? "tool_calls" : reason;
    this.#say({ type: "finish", choice: this.#choice, reason: told });
  }

  #readDelta(delta: JsonObject): void {
    this.#readReasoning(delta);
    const { content, refusal, images, content_parts: parts, tool_calls: calls, annotations } = delta;
    const text = filledText(content);
    if (text !== undefined) this.#take(text, this.#addText);
    const declined = filledText(refusal);
    if (declined !== undefined) this.#take(declined, this.#addRefusal);
    for (const image of [...objectsIn(images), ...objectsIn(parts)]) this.#readImage(image);
    for (const [place, call] of objectsIn(calls).entries()) this.#readCall(call, place);
    if (isJsonObject(delta.function_call)) this.#readCall({ function: delta.function_call }, "function_call");
    for (const annotation of objectsIn(annotations)) this.#readAnnotation(annotation);
  }

  #readLogprobs({ content }: JsonObject): void {
    const tokens = readLogprobs(content);
    if (tokens.length > 0)
      this.#take(tokens, () => this.#say({ type: "logprobs", choice: this.#choice, tokens }));
  }

  /** One source for each chunk: routers tell the same text in two members. */
  #readReasoning(delta: JsonObject): void {
    const details = decodeDetails(delta.reasoning_details);
    if (details.some(({ text }) => text !== ""))
      for (const item of details) this.#take(item, this.#addReasoning);
    else {
      const text = filledText(delta.reasoning_content) ?? filledText(delta.reasoning);
      if (text !== undefined) this.#take(text, this.#addThought);
      for (const item of details) this.#take(item, this.#addReasoning);
    }
  }

  /** Tells a piece at once, or behind the call that is open and what waits for it. */
  #take<Of>(piece: Of, tell: (piece: Of) => void): void {
    this.#catchUp();
    if (this.#openCall === undefined) tell(piece);
    else this.#waiting.push(() => tell(piece));
  }

  readonly #addText = (text: string): void => {
    if (this.#parts.open !== "text") this.#parts.begin({ type: "text" });
    this.#parts.add(text);
    this.#lastText = this.#parts.count - 1;
  };

  readonly #addRefusal = (text: string): void => {
    if (this.#parts.open !== "refusal") this.#parts.begin({ type: "refusal" });
    this.#parts.add(text);
  };

  readonly #addThought = (text: string): void => {
    if (this.#parts.open !== "thinking") this.#beginThinking(undefined);
    this.#parts.add(text);
  };

  readonly #addReasoning = ({ text, issuer, signature, data }: Reasoning): void => {
    if (data !== undefined && issuer !== undefined) {
      this.#parts.begin({ type: "redacted_thinking", data, issuer });
      return this.#parts.end();
    }
    if (text === "" && signature === undefined) return;
    if (this.#parts.open !== "thinking" || (issuer !== undefined && issuer !== this.#issuer))
      this.#beginThinking(issuer);
    this.#parts.add(text);
    if (signature === undefined) return;
    this.#parts.sign(signature);
    this.#parts.end();
  };

  #beginThinking(issuer: Issuer | undefined): void {
    this.#issuer = issuer;
    this.#parts.begin({ type: "thinking", ...present({ issuer }) });
  }

  #readImage(told: JsonObject): void {
    const image = decodeImage(told);
    if (image === undefined) return;
    if ("link" in image) return this.#take(image.link, this.#addText);
    const { signature = "", ...part } = image;
    this.#take(part, (whole) => {
      this.#parts.begin(whole);
      this.#parts.sign(signature);
      this.#parts.end();
    });
  }

  #readAnnotation(annotation: JsonObject): void {
    const citation = readCitation(annotation);
    if (citation === undefined) return;
    if (this.#lastText === -1) this.#citations.push(citation);
    else this.#parts.cite(citation, this.#lastText);
  }

  #readCall(fragment: JsonObject, place: number | "function_call"): void {
    const { function: called, custom, index } = fragment;
    const about = isJsonObject(custom) ? custom : isJsonObject(called) ? called : {};
    const call = this.#callAt(typeof index === "number" ? index : place, fragment, about);
    call.signature += signatureOf(fragment);
    const text = filledText(isJsonObject(custom) ? about.input : about.arguments);
    if (text !== undefined && call.state !== "ended") {
      call.input.add(text);
      if (call.state === "open") this.#parts.add(text);
      else call.held += text;
    }
    this.#catchUp();
  }

  #callAt(key: unknown, { id, type, custom }: JsonObject, { name }: JsonObject): OpenCall {
    return this.#calls.getOrInsertComputed(key, () => {
      const call: OpenCall = {
        id: filledText(id) ?? this.#idOf(this.#calls.size),
        name: filledText(name) ?? "",
        custom: type === "custom" || isJsonObject(custom),
        held: "",
        signature: "",
        state: "waits",
        input: openInputEnd(),
      };
      this.#waiting.push(call);
      return call;
    });
  }

  /** What has waited, up to a call whose end has not come. */
  #catchUp(): void {
    while (this.#told < this.#waiting.length) {
      const call = this.#openCall;
      if (call !== undefined && (call.custom || !call.input.hasEnded)) return;
      this.#endCall();
      this.#tellNext();
    }
  }

  #tellNext(): void {
    const piece = this.#waiting[this.#told];
    if (piece === undefined) return;
    this.#told += 1;
    if (this.#told === this.#waiting.length) this.#waiting.length = this.#told = 0;
    if (typeof piece === "function") return piece();
    const { id, name, custom } = piece;
    const part: BegunPart = { type: "tool_call", id, name, ...(custom ? { custom } : {}) };
    this.#parts.begin(part);
    this.#parts.add(piece.held);
    piece.held = "";
    piece.state = "open";
    this.#openCall = piece;
  }

  #endCall(): void {
    const call = this.#openCall;
    if (call === undefined) return;
    this.#parts.sign(call.signature);
    this.#parts.end();
    call.state = "ended";
    this.#openCall = undefined;
  }
}

/** Source: "Thought signatures" of the Gemini API, as its own chat completions have it. */
function signatureOf({ extra_content: extra }: JsonObject): string {
  const google = isJsonObject(extra) ? extra.google : undefined;
  return (isJsonObject(google) ? filledText(google.thought_signature) : undefined) ?? "";
}
