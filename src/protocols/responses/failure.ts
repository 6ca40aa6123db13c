import type { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { exactNumber } from "../exact-json.ts";
import { CODES } from "./error-body.ts";

/** What went wrong in a stream, in the words that clients branch on. */
export function failureObject({ kind, code, message, param }: GatewayError): JsonObject {
  const known = kind === "rate_limit_error" ? "rate_limit_exceeded" : "server_error";
  return { type: known, code: code ?? CODES[kind] ?? known, message, param: param ?? null };
}

/**
 * The two events that end a stream which broke: neither alone reaches every client. `number` is that of the first; the
 * charge, once it is known, is the last member of the response object.
 */
export function failureEvents(
  words: JsonObject,
  response: JsonObject,
  number: number,
  credit: MicroCredits | undefined,
): string {
  const { type: _type, ...flat } = words;
  const charged = credit === undefined ? response : { ...response, credit: exactNumber(creditsText(credit)) };
  const event = (type: string, at: number, members: JsonObject): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...members })}\n\n`;
  return (
    event("error", number, { ...flat, error: words }) +
    event("response.failed", number + 1, { response: charged })
  );
}
