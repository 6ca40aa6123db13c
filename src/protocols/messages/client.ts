import { GatewayError } from "../../core/errors.ts";
import type { ClientEnd } from "../translate.ts";
import { messages } from "./index.ts";

function missing(): never {
  throw new GatewayError("invalid_request_error", "This model is not served in this format yet.");
}

/** The format as one that providers are called in for clients of another. */
export const messagesClient: ClientEnd = {
  protocol: messages,
  encodeRequest: missing,
  addressIn: missing,
  decodeAnswer: missing,
  openDecoder: missing,
};
