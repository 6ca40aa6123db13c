import { GatewayError } from "../../../core/errors.ts";
import type { FinishReason } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import { creditsText, type MicroCredits } from "../../../core/money/credits.ts";
import { exactNumber } from "../../exact-json.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import type { EventEncoder } from "../../translate.ts";
import { readEcho, responseObject, type ResponseState } from "./echo.ts";
import { type ItemWriter, openItemWriter } from "./encode-items.ts";
import { failureEvents, failureObject } from "../failure.ts";
import { encodeUsage } from "../usage.ts";
import { type DeltaForm, eventHead, type ItemSink } from "./item-sink.ts";

/** How an answer ends for this reason; an error has no such end. */
export function endOf(reason: FinishReason): Pick<ResponseState, "status" | "reason"> {
  if (reason === "length") return { status: "incomplete", reason: "max_output_tokens" };
  if (reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  return { status: "completed" };
}

/** The error of an answer that its model broke off. */
export function brokenOff(): GatewayError {
  return new GatewayError("upstream_error", "The model broke off its answer with an error of its own.");
}

/**
 * Writes an answer's events in the grammar that clients of the format fold. First come created and in_progress, then
 * items one after another, then one terminal event. Numbers have no gap.
 */
export function openEncoder(context: AnswerContext): EventEncoder {
  return new Events(context);
}

/** A comment, which every client of the format skips. */
const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");

class Events implements EventEncoder, ItemSink {
  readonly keepAlive = KEEP_ALIVE;
  readonly #context: AnswerContext;
  readonly #asked: JsonObject;
  readonly #items: ItemWriter;
  #number = 0;
  #text = "";

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#asked = readEcho(context).asked;
    this.#items = openItemWriter(context, this);
  }

  push(event: Parameters<EventEncoder["push"]>[0]): string {
    this.#begin();
    if (event.type !== "start") this.#items.push(event);
    return this.#take();
  }

  tail(metered: Metered, credit: MicroCredits): string {
    const { reason = "error", items } = this.#items;
    if (reason === "error") return this.failureTail(brokenOff(), metered, credit);
    const end = endOf(reason);
    const response = this.#response({ ...end, output: items, usage: encodeUsage(metered.usage) }, credit);
    this.#context.keep?.(JSON.stringify(response));
    this.write(`response.${end.status}`, { response });
    return this.#take();
  }

  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): string {
    this.#begin();
    const output = this.#items.broken();
    const words = failureObject(error);
    const usage = encodeUsage(metered.usage);
    const response = this.#response({ status: "failed", output, usage, error: words });
    this.#text += failureEvents(words, response, this.#number, credit);
    return this.#take();
  }

  write(type: string, members: JsonObject): void {
    this.#text += `${eventHead(type)}${this.#number},${JSON.stringify(members).slice(1)}\n\n`;
    this.#number += 1;
  }

  writeDelta({ head, before, after }: DeltaForm, text: string): void {
    this.#text += head + this.#number + before + JSON.stringify(text) + after;
    this.#number += 1;
  }

  #begin(): void {
    if (this.#number > 0) return;
    const response = this.#response({ status: "in_progress", output: [], usage: null });
    this.write("response.created", { response });
    this.write("response.in_progress", { response });
  }

  #response(state: ResponseState, credit?: MicroCredits): JsonObject {
    const response = responseObject(this.#context, this.#asked, state);
    return credit === undefined ? response : { ...response, credit: exactNumber(creditsText(credit)) };
  }

  #take(): string {
    const taken = this.#text;
    this.#text = "";
    return taken;
  }
}
