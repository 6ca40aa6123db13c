import type { ChatEvent, FinishReason } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import type { AnswerContext } from "../../protocol.ts";
import { familyOf } from "../../recalled-thinking.ts";
import type { EventDecoder } from "../../translate.ts";
import { createItemTeller, type ItemTeller } from "./decode-items.ts";

/** A whole answer as the events that its stream would have been. */
export function decodeAnswer(answer: JsonObject, context: AnswerContext): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const decoder = new AnswerReader((event) => void events.push(event), context);
  decoder.readResponse(answer);
  decoder.end();
  return events;
}

/** A decoder of a stream. */
export function openDecoder(say: (event: ChatEvent) => void, context: AnswerContext): EventDecoder {
  return new AnswerReader(say, context);
}

/** What ends an answer before it is done; any other reason is a bound of the provider's too. */
const CUT: ReadonlyMap<unknown, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
]);

/** Reads one answer, event by event: one item after another, whose events may mix. */
class AnswerReader implements EventDecoder {
  /** Every event has a number of its own, so that none is told again by its text. */
  readonly more = undefined;
  readonly #say: (event: ChatEvent) => void;
  readonly #items: ItemTeller;
  /** Events of items that began while another one was open, by their place in the output. */
  readonly #waiting = new Map<unknown, JsonObject[]>();
  #open: { readonly place: unknown } | undefined;
  #hasStarted = false;
  #hasItems = false;
  #response: JsonObject = {};

  constructor(say: (event: ChatEvent) => void, { model }: AnswerContext) {
    this.#say = say;
    this.#items = createItemTeller(say, familyOf(model));
  }

  read(event: JsonObject): void {
    if (isJsonObject(event.response)) return this.#readResponse(event.response);
    const { output_index: place } = event;
    if (typeof place !== "number") return;
    this.#start({});
    this.#hasItems = true;
    this.#open ??= { place };
    if (this.#open.place === place) this.#tell(event);
    else this.#waiting.getOrInsertComputed(place, () => []).push(event);
  }

  /** A response object that has ended, whose output nobody has told. */
  readResponse(response: JsonObject): void {
    this.#readResponse(response);
  }

  end(): void {
    this.#start({});
    this.#endOpen();
    while (this.#waiting.size > 0) this.#next();
    if (!this.#hasItems) for (const item of objectsIn(this.#response.output)) this.#items.whole(item);
    this.#say({ type: "finish", choice: 0, reason: this.#reason() });
  }

  #readResponse(response: JsonObject): void {
    this.#start(response);
    this.#response = response;
  }

  #start({ id }: JsonObject): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#say({ type: "start", ...present({ id: filledText(id) }) });
  }

  #tell(event: JsonObject): void {
    this.#items.read(event);
    if (event.type !== "response.output_item.done") return;
    this.#open = undefined;
    if (this.#waiting.size > 0) this.#next();
  }

  /** What waited longest, up to its end if that has come. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [place, events] = first;
    this.#waiting.delete(place);
    this.#open = { place };
    for (const event of events) this.#items.read(event);
    const hasEnded = events.some(({ type }) => type === "response.output_item.done");
    if (hasEnded) this.#open = undefined;
    else if (this.#response.status !== undefined) this.#endOpen();
  }

  /** An item of which no end has come. */
  #endOpen(): void {
    if (this.#open !== undefined) this.#items.cut();
    this.#open = undefined;
  }

  #reason(): FinishReason {
    const { status, incomplete_details: details } = this.#response;
    if (status === "incomplete")
      return CUT.get(isJsonObject(details) ? details.reason : undefined) ?? "length";
    if (this.#items.hasRefused) return "content_filter";
    return this.#items.hasCalled ? "tool_calls" : "stop";
  }
}
