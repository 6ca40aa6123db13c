import { Type } from "typebox";
import { ERROR_TYPES, type GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";

/** The body of an error of chat completions, and of every endpoint that has no format of its own. */
export const ErrorSchema = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.Enum([...ERROR_TYPES]),
    param: Type.Union([Type.String({ description: "The field at fault" }), Type.Null()]),
    code: Type.String({
      description: "Tells apart errors of one type; the type where there is no more to tell",
    }),
  }),
});

/** An error as clients of chat completions read it; `code`, which they branch on, repeats the type where there is none. */
export function encodeError(error: GatewayError): JsonObject {
  return {
    error: {
      message: error.message,
      type: error.type,
      param: error.param ?? null,
      code: error.code ?? error.type,
    },
  };
}
