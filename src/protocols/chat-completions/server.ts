import { GatewayError } from "../../core/errors.ts";
import type { ServerEnd } from "../translate.ts";
import { chatCompletions } from "./index.ts";

function missing(): never {
  throw new GatewayError("invalid_request_error", "This model is not served in this format yet.");
}

/** Chat completions, as a format that other providers' models are asked in. */
export const chatCompletionsServer: ServerEnd = {
  protocol: chatCompletions,
  decodeRequest: missing,
  encodeAnswer: missing,
  openEncoder: missing,
};
