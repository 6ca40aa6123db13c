import { GatewayError } from "../../core/errors.ts";
import type { ClientEnd } from "../translate.ts";
import { generateContent } from "./index.ts";

function missing(): never {
  throw new GatewayError("invalid_request_error", "This model is not served in this format yet.");
}

/** The format as one that providers are called in for clients of another. */
export const generateContentClient: ClientEnd = {
  protocol: generateContent,
  encodeRequest: missing,
  addressIn: missing,
  decodeAnswer: missing,
  openDecoder: missing,
};
