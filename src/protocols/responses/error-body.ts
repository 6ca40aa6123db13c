import { Type } from "typebox";
import { ERROR_TYPES, type GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";

/** The body of an error of Responses. */
export const ErrorSchema = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.Enum([...ERROR_TYPES]),
    param: Type.Union([Type.String({ description: "The field at fault" }), Type.Null()]),
    code: Type.String({ description: "What clients of the format branch on" }),
  }),
});

/** Clients stop, and say that the context is full, at the vendor's own word for it. */
export const CODES: Readonly<Record<string, string>> = { input_too_large: "context_length_exceeded" };

/** An error as clients of Responses read it. */
export function encodeError({ message, type, param, code }: GatewayError): JsonObject {
  return { error: { message, type, param: param ?? null, code: code ?? CODES[type] ?? type } };
}
