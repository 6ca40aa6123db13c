import type { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json-value.ts";

/** An error as clients of chat completions read it; `code` repeats the type, which they branch on. */
export function encodeError(error: GatewayError): JsonObject {
  return {
    error: { message: error.message, type: error.type, param: error.param ?? null, code: error.type },
  };
}
