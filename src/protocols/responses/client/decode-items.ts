import type { ChatEvent, Citation, Issuer } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import { readLogprobs } from "../../logprobs.ts";
import { openPartWriter, type PartWriter } from "../../part-writer.ts";

/** Tells the items of one answer, one after another, as parts. */
export type ItemTeller = ReturnType<typeof createItemTeller>;

/** A teller that hands its events to `say`; what is sealed in reasoning only models of `issuer` read. */
export function createItemTeller(say: (event: ChatEvent) => void, issuer: Issuer) {
  return new Items(say, issuer);
}

/** A text of an answer, for what it is cited by. */
interface CitedText {
  /** Its part's place among the parts. */
  readonly index: number;
  /** Where it begins, in characters of all text. */
  readonly start: number;
  annotations: number;
}

/** What an item says in more than one piece. */
type Kind = "text" | "refusal" | "thinking" | "call" | "logprobs";

class Items {
  hasCalled = false;
  hasRefused = false;
  readonly #say: (event: ChatEvent) => void;
  readonly #issuer: Issuer;
  readonly #parts: PartWriter;
  /** Of the item that is open: its pieces that something has been told of, and its texts by their place. */
  readonly #told = new Set<string>();
  readonly #texts = new Map<unknown, CitedText>();
  /** Whether thinking that is told is a summary, or the thinking itself: of an item that has both the first is told. */
  #thinking: "summary" | "raw" | undefined;
  /** Characters of text so far. */
  #length = 0;

  constructor(say: (event: ChatEvent) => void, issuer: Issuer) {
    this.#say = say;
    this.#issuer = issuer;
    this.#parts = openPartWriter(0, say);
  }

  /** An event of the item that is open. */
  read(event: JsonObject): void {
    const { type, item, delta, content_index: place, summary_index: summary } = event;
    switch (type) {
      case "response.output_item.added":
        if (isJsonObject(item)) this.#begin(item);
        return;
      case "response.output_text.delta":
        return this.#addText(place, filledText(delta));
      case "response.output_text.done":
        this.#rest("text", place, event.text);
        return this.#tellLogprobs(place, event.logprobs);
      case "response.output_text.annotation.added":
        return this.#annotate(place, event.annotation);
      case "response.refusal.delta":
        return this.#addRefusal(place, filledText(delta));
      case "response.refusal.done":
        return this.#rest("refusal", place, event.refusal);
      case "response.reasoning_summary_text.delta":
        return this.#addThinking("summary", summary, filledText(delta));
      case "response.reasoning_summary_text.done":
        return this.#rest("thinking", summary, event.text, "summary");
      // The second is what servers of open weights call it.
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
        return this.#addThinking("raw", place, filledText(delta));
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        return this.#rest("thinking", place, event.text, "raw");
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#addInput(filledText(delta));
      case "response.output_item.done":
        if (isJsonObject(item)) this.whole(item);
    }
  }

  /** An item that has ended: what of it was not told yet is. */
  whole(item: JsonObject): void {
    switch (item.type) {
      case "message":
        for (const [place, part] of objectsIn(item.content).entries()) this.#wholePart(place, part);
        break;
      case "reasoning":
        this.#wholeReasoning(item);
        break;
      case "function_call":
      case "custom_tool_call":
        this.#begin(item);
        this.#rest("call", undefined, item.type === "function_call" ? item.arguments : item.input);
    }
    this.cut();
  }

  /** The item ends here, whatever of it has come. */
  cut(): void {
    this.#parts.end();
    this.#told.clear();
    this.#texts.clear();
    this.#thinking = undefined;
  }

  #begin({ type, call_id: callId, id, name }: JsonObject): void {
    const isCustom = type === "custom_tool_call";
    const called = filledText(name);
    if ((!isCustom && type !== "function_call") || called === undefined || this.#parts.open === "tool_call")
      return;
    this.hasCalled = true;
    const call = { type: "tool_call", id: filledText(callId) ?? filledText(id) ?? "", name: called } as const;
    this.#parts.begin(isCustom ? { ...call, custom: true } : call);
  }

  /** Whether this is the first of a piece. */
  #isFirst(kind: Kind, place: unknown): boolean {
    const key = `${kind} ${String(place)}`;
    if (this.#told.has(key)) return false;
    this.#told.add(key);
    return true;
  }

  /** A piece at its end: told whole where nothing of it was. */
  #rest(kind: Kind, place: unknown, whole: unknown, thinking: "summary" | "raw" = "summary"): void {
    const text = filledText(whole);
    if (text === undefined || this.#told.has(`${kind} ${String(place)}`)) return;
    if (kind === "text") this.#addText(place, text);
    else if (kind === "refusal") this.#addRefusal(place, text);
    else if (kind === "thinking") this.#addThinking(thinking, place, text);
    else this.#addInput(text);
  }

  #addText(place: unknown, text = ""): void {
    if (text === "") return;
    if (this.#isFirst("text", place)) {
      this.#parts.begin({ type: "text" });
      this.#texts.set(place, { index: this.#parts.count - 1, start: this.#length, annotations: 0 });
    }
    this.#length += charactersOf(text);
    this.#parts.add(text);
  }

  /** They are told with the end of a text, which has all of them. */
  #tellLogprobs(place: unknown, list: unknown): void {
    if (!Array.isArray(list) || list.length === 0 || !this.#isFirst("logprobs", place)) return;
    const tokens = readLogprobs(list);
    if (tokens.length > 0) this.#say({ type: "logprobs", choice: 0, tokens });
  }

  #addRefusal(place: unknown, text = ""): void {
    if (text === "") return;
    this.hasRefused = true;
    if (this.#isFirst("refusal", place)) this.#parts.begin({ type: "refusal" });
    this.#parts.add(text);
  }

  #addThinking(kind: "summary" | "raw", place: unknown, text = ""): void {
    this.#thinking ??= kind;
    if (text === "" || this.#thinking !== kind) return;
    const isFirst = this.#isFirst("thinking", place);
    if (this.#parts.open !== "thinking") this.#parts.begin({ type: "thinking", issuer: this.#issuer });
    else if (isFirst) this.#parts.add("\n\n");
    this.#parts.add(text);
  }

  #addInput(text = ""): void {
    // Without its beginning nobody knows whose it is; the item's end tells all of it.
    if (text === "" || this.#parts.open !== "tool_call") return;
    this.#isFirst("call", undefined);
    this.#parts.add(text);
  }

  #wholePart(place: number, part: JsonObject): void {
    if (part.type === "refusal") return this.#rest("refusal", place, part.refusal);
    if (part.type !== "output_text") return;
    this.#rest("text", place, part.text);
    this.#tellLogprobs(place, part.logprobs);
    const told = this.#texts.get(place)?.annotations ?? 0;
    for (const annotation of objectsIn(part.annotations).slice(told)) this.#annotate(place, annotation);
  }

  /** What was sealed comes with the item's end alone. */
  #wholeReasoning({ summary, content, encrypted_content: sealed }: JsonObject): void {
    const said = objectsIn(summary);
    const [kind, pieces] =
      said.length > 0 ? (["summary", said] as const) : (["raw", objectsIn(content)] as const);
    for (const [place, { text }] of pieces.entries()) this.#rest("thinking", place, text, kind);
    const data = filledText(sealed);
    if (data === undefined) return;
    if (this.#parts.open === "thinking") this.#parts.sign(data);
    else this.#parts.begin({ type: "redacted_thinking", data, issuer: this.#issuer });
  }

  #annotate(place: unknown, annotation: unknown): void {
    const text = this.#texts.get(place);
    if (text === undefined || !isJsonObject(annotation)) return;
    text.annotations += 1;
    const citation = citationIn(annotation, text.start);
    if (citation !== undefined) this.#parts.cite(citation, text.index);
  }
}

/** The page that an annotation names, its place counted from where its text begins; other annotations name files. */
function citationIn(annotation: JsonObject, base: number): Citation | undefined {
  const { type, start_index: start, end_index: end } = annotation;
  const url = filledText(annotation.url);
  if (type !== "url_citation" || url === undefined) return undefined;
  const isSpan = isPlace(start) && isPlace(end) && start < end;
  const span = isSpan ? { start: base + start, end: base + end } : {};
  return { url, ...present({ title: filledText(annotation.title) }), ...span };
}

function isPlace(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** How many characters a text has; most have none of two units. */
function charactersOf(text: string): number {
  return /[\uD800-\uDBFF]/.test(text) ? Array.from(text).length : text.length;
}
