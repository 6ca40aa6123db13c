import { Type } from "typebox";
import { ERROR_TYPES, type GatewayError } from "../../core/errors.ts";
import { type JsonObject, present } from "../../core/json/json-value.ts";

/** The body of an error of messages. */
export const ErrorSchema = Type.Object({
  type: Type.Literal("error"),
  error: Type.Object({
    type: Type.Enum([...ERROR_TYPES]),
    message: Type.String(),
    param: Type.Optional(Type.String({ description: "The field at fault" })),
    code: Type.Optional(Type.String({ description: "Tells apart errors of one type" })),
  }),
  request_id: Type.String(),
});

/** An error as clients of messages read it; without the outer `type` some take it for a fault of the format. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  return { type: "error", error: errorObject(error), request_id: requestId };
}

/** What went wrong, as it stands in an answer and in an event. */
export function errorObject({ type, message, param, code }: GatewayError): JsonObject {
  return present({ type, message, param, code });
}
