import type { GatewayError } from "../../core/errors.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { errorObject } from "./error-body.ts";

/** An event that says nothing. */
export const PING = new TextEncoder().encode('event: ping\ndata: {"type": "ping"}\n\n');

/** The data of the event that ends a good answer. */
export const STOP_DATA = '{"type":"message_stop"}';

/** The event with the charge, which clients take for a ping: some refuse a type that they do not know. */
export function creditEvent(credit: MicroCredits): string {
  return `event: credit\ndata: {"type":"ping","credit":${creditsText(credit)}}\n\n`;
}

/** The end of an answer that broke. Without `credit` its charge is not known yet. */
export function brokenTail(error: GatewayError, credit: MicroCredits | undefined): string {
  const told = JSON.stringify({ type: "error", error: errorObject(error) });
  return `${credit === undefined ? "" : creditEvent(credit)}event: error\ndata: ${told}\n\n`;
}
