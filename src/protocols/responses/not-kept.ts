import { GatewayError } from "../../core/errors.ts";
import { printable } from "../printable.ts";

/** The refusal of an item that nobody has kept. */
export function noSuchItem(id: string): GatewayError {
  const sentence = `Item with id '${printable(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  return new GatewayError("not_found_error", sentence, { param: "input" });
}

/** The refusal of an answer that nobody has kept. */
export function noSuchResponse(id: string): GatewayError {
  return previousRefusal(
    `Previous response with id '${printable(id)}' not found. Send the conversation in input, or ask with store true.`,
  );
}

/** The refusal of an answer that is kept, where an earlier one that it goes on from is not. */
export function brokenChain(id: string, gone: string): GatewayError {
  return previousRefusal(
    `Previous response with id '${printable(id)}' goes on from '${printable(gone)}', which is not found. Send the conversation in input.`,
  );
}

/** The refusal of a conversation with more answers than are put together. */
export function longChain(most: number): GatewayError {
  return previousRefusal(
    `Previous response goes on from more than ${most} answers, the most that are put together. Send the conversation in input.`,
  );
}

function previousRefusal(sentence: string): GatewayError {
  const details = { param: "previous_response_id", code: "previous_response_not_found" };
  return new GatewayError("invalid_request_error", sentence, details);
}

/** The refusal of a path that names an answer that nobody has kept. */
export function noSuchAnswer(id: string): GatewayError {
  const sentence = `Response with id '${printable(id)}' not found. Responses are not persisted when \`store\` is set to false, and are kept for a time.`;
  return new GatewayError("not_found_error", sentence);
}
