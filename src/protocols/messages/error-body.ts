import type { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json-value.ts";

/** An error as clients of messages read it; without the outer `type` some take it for a fault of the format. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  return { type: "error", error: errorObject(error), request_id: requestId };
}

/** What went wrong, as it stands in an answer and in an event. */
export function errorObject(error: GatewayError): JsonObject {
  return {
    type: error.type,
    message: error.message,
    ...(error.param === undefined ? {} : { param: error.param }),
  };
}
