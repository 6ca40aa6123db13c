import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { CalledAs } from "./echo.ts";
import { type DeltaForm, deltaForm, type ItemSink } from "./item-sink.ts";

/** How an item ends. */
export type ItemEnd = "completed" | "incomplete";

/** An item of an answer that more can come of. */
interface Closing {
  /** Says all that was not said yet, and gives the item. */
  close(end: ItemEnd): JsonObject;
  /** The item as it stands in an answer that broke. */
  broken(): JsonObject;
}

/** The message of an answer: its texts are one part, and a refusal another. */
export interface MessageItem extends Closing {
  readonly kind: "message";
  add(kind: ContentKind, text: string): void;
  /** A citation of the text that came last. */
  cite(annotation: JsonObject): void;
  /** How likely tokens of that text were; told with its end. */
  weigh(tokens: readonly JsonObject[]): void;
}

/** Thinking, as the one part of a summary. */
export interface ReasoningItem extends Closing {
  readonly kind: "reasoning";
  /** Set when the thinking has ended. */
  carrier: string | undefined;
  add(text: string): void;
}

/** A call of a function, or of a custom tool, whose input is any text. */
export interface CallItem extends Closing {
  readonly kind: "call";
  add(text: string): void;
}

export type OpenItem = MessageItem | ReasoningItem | CallItem;

type ContentKind = "output_text" | "refusal";

/** Where an item stands in its answer. */
export interface ItemPlace {
  readonly id: string;
  readonly output_index: number;
}

/** A text with what stands beside it, or the words of a refusal. */
interface Content {
  readonly kind: ContentKind;
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
  text: string;
  readonly form: DeltaForm;
}

const TEXT_TAIL = ',"logprobs":[]}\n\n';

/** Begins a message. */
export function openMessage(place: ItemPlace, sink: ItemSink): MessageItem {
  return new Message(place, sink);
}

class Message implements MessageItem {
  readonly kind = "message";
  readonly #place: ItemPlace;
  readonly #sink: ItemSink;
  readonly #contents: Content[] = [];

  constructor(place: ItemPlace, sink: ItemSink) {
    this.#place = place;
    this.#sink = sink;
    const { id, output_index } = place;
    sink.write("response.output_item.added", { output_index, item: messageItem(id, "in_progress", []) });
  }

  add(kind: ContentKind, text: string): void {
    let content = this.#contents.at(-1);
    if (content?.kind !== kind) {
      this.#endContent();
      content = this.#begin(kind);
    }
    content.text += text;
    this.#sink.writeDelta(content.form, text);
  }

  cite(annotation: JsonObject): void {
    const content = this.#contents.at(-1);
    if (content?.kind !== "output_text") return;
    const at = { ...this.#at(), annotation_index: content.annotations.length, annotation };
    content.annotations.push(annotation);
    this.#sink.write("response.output_text.annotation.added", at);
  }

  weigh(tokens: readonly JsonObject[]): void {
    const content = this.#contents.at(-1);
    if (content?.kind === "output_text") content.logprobs.push(...tokens);
  }

  close(end: ItemEnd): JsonObject {
    this.#endContent();
    const { id, output_index } = this.#place;
    const item = messageItem(id, end, this.#contents.map(contentPart));
    this.#sink.write("response.output_item.done", { output_index, item });
    return item;
  }

  broken(): JsonObject {
    return messageItem(this.#place.id, "incomplete", this.#contents.map(contentPart));
  }

  #begin(kind: ContentKind): Content {
    const at = { ...this.#at(), content_index: this.#contents.length };
    const form =
      kind === "output_text"
        ? deltaForm("response.output_text.delta", at, TEXT_TAIL)
        : deltaForm("response.refusal.delta", at);
    const content: Content = { kind, annotations: [], logprobs: [], text: "", form };
    this.#contents.push(content);
    this.#sink.write("response.content_part.added", { ...at, part: contentPart(content) });
    return content;
  }

  #endContent(): void {
    const content = this.#contents.at(-1);
    if (content === undefined) return;
    const { kind, text, logprobs } = content;
    const at = this.#at();
    if (kind === "refusal") this.#sink.write("response.refusal.done", { ...at, refusal: text });
    else this.#sink.write("response.output_text.done", { ...at, text, logprobs });
    this.#sink.write("response.content_part.done", { ...at, part: contentPart(content) });
  }

  /** Of the content that came last. */
  #at() {
    const { id, output_index } = this.#place;
    return { item_id: id, output_index, content_index: Math.max(this.#contents.length - 1, 0) };
  }
}

function messageItem(id: string, status: string, content: readonly JsonObject[]): JsonObject {
  return { id, type: "message", status, role: "assistant", content };
}

function contentPart({ kind, annotations, logprobs, text }: Content): JsonObject {
  if (kind === "refusal") return { type: kind, refusal: text };
  return { type: kind, annotations: [...annotations], logprobs: [...logprobs], text };
}

/** Begins thinking that is shown. */
export function openReasoning(place: ItemPlace, sink: ItemSink): ReasoningItem {
  return new Reasoning(place, sink);
}

class Reasoning implements ReasoningItem {
  readonly kind = "reasoning";
  carrier: string | undefined;
  readonly #place: ItemPlace;
  readonly #sink: ItemSink;
  readonly #form: DeltaForm;
  #text = "";

  constructor(place: ItemPlace, sink: ItemSink) {
    this.#place = place;
    this.#sink = sink;
    const { id, output_index } = place;
    sink.write("response.output_item.added", { output_index, item: reasoningItem(id, "in_progress", []) });
    sink.write("response.reasoning_summary_part.added", { ...this.#at(), part: summaryPart("") });
    this.#form = deltaForm("response.reasoning_summary_text.delta", this.#at());
  }

  add(text: string): void {
    this.#text += text;
    this.#sink.writeDelta(this.#form, text);
  }

  close(end: ItemEnd): JsonObject {
    const text = this.#text;
    this.#sink.write("response.reasoning_summary_text.done", { ...this.#at(), text });
    this.#sink.write("response.reasoning_summary_part.done", { ...this.#at(), part: summaryPart(text) });
    const { id, output_index } = this.#place;
    const item = reasoningItem(id, end, [summaryPart(text)], this.carrier);
    this.#sink.write("response.output_item.done", { output_index, item });
    return item;
  }

  broken(): JsonObject {
    return reasoningItem(this.#place.id, "incomplete", [summaryPart(this.#text)]);
  }

  #at() {
    const { id, output_index } = this.#place;
    return { item_id: id, output_index, summary_index: 0 };
  }
}

/** A reasoning item. Its summary is there where it is empty too: clients crash without. */
export function reasoningItem(
  id: string,
  status: string,
  summary: readonly JsonObject[],
  carrier?: string,
): JsonObject {
  return { id, type: "reasoning", status, summary, ...present({ encrypted_content: carrier }) };
}

function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** How a call is written: under which id, as which of the caller's tools. */
export interface CallForm {
  readonly callId: string;
  readonly as: CalledAs;
  readonly isCustom: boolean;
}

/** Begins a call. */
export function openCall(place: ItemPlace, sink: ItemSink, form: CallForm): CallItem {
  return new Call(place, sink, form);
}

class Call implements CallItem {
  readonly kind = "call";
  readonly #place: ItemPlace;
  readonly #sink: ItemSink;
  readonly #form: CallForm;
  readonly #delta: DeltaForm;
  #input = "";

  constructor(place: ItemPlace, sink: ItemSink, form: CallForm) {
    this.#place = place;
    this.#sink = sink;
    this.#form = form;
    const { id, output_index } = place;
    sink.write("response.output_item.added", { output_index, item: this.#item("in_progress") });
    const type = `response.${form.isCustom ? "custom_tool_call_input" : "function_call_arguments"}.delta`;
    this.#delta = deltaForm(type, { item_id: id, output_index });
  }

  add(text: string): void {
    this.#input += text;
    this.#sink.writeDelta(this.#delta, text);
  }

  close(end: ItemEnd): JsonObject {
    const { id, output_index } = this.#place;
    const { isCustom, as } = this.#form;
    const at = { item_id: id, output_index };
    const input = this.#input;
    if (isCustom) this.#sink.write("response.custom_tool_call_input.done", { ...at, input });
    else {
      const done = { ...at, name: as.name, arguments: input };
      this.#sink.write("response.function_call_arguments.done", done);
    }
    const item = this.#item(end);
    this.#sink.write("response.output_item.done", { output_index, item });
    return item;
  }

  broken(): JsonObject {
    return this.#item("incomplete");
  }

  #item(status: string): JsonObject {
    const { callId, as, isCustom } = this.#form;
    const { name, namespace } = as;
    const type = isCustom ? "custom_tool_call" : "function_call";
    const called = isCustom ? { input: this.#input } : { arguments: this.#input };
    const spaced = present({ namespace });
    return { id: this.#place.id, type, status, call_id: callId, name, ...called, ...spaced };
  }
}
