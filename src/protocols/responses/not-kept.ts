import { GatewayError } from "../../core/errors.ts";
import { printable } from "../printable.ts";

/** The refusal of an item that nobody has kept. */
export function noSuchItem(id: string): GatewayError {
  const sentence = `Item with id '${printable(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  return new GatewayError("not_found_error", sentence, { param: "input" });
}

/** The refusal of an answer that nobody has kept. */
export function noSuchResponse(id: string): GatewayError {
  return new GatewayError(
    "invalid_request_error",
    `Previous response with id '${printable(id)}' not found. Send the conversation in input, or ask with store true.`,
    { param: "previous_response_id", code: "previous_response_not_found" },
  );
}
