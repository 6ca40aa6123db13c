import { Type } from "typebox";
import { ERROR_TYPES, type GatewayError } from "../../core/errors.ts";
import { filled, type JsonObject, present } from "../../core/json/json-value.ts";

/** The word of Google's API errors for each status: https://cloud.google.com/apis/design/errors */
const STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "INVALID_ARGUMENT",
  409: "ABORTED",
  415: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";
const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
const DOMAIN = "switchyard";

const Detail = Type.Union([
  Type.Object({
    "@type": Type.Literal(BAD_REQUEST),
    fieldViolations: Type.Array(
      Type.Object({ field: Type.String({ description: "The field at fault" }), description: Type.String() }),
    ),
  }),
  Type.Object({
    "@type": Type.Literal(ERROR_INFO),
    reason: Type.String({ description: "Tells apart errors of one type" }),
    domain: Type.Literal(DOMAIN),
  }),
  Type.Object({
    "@type": Type.Literal(RETRY_INFO),
    retryDelay: Type.String({ description: "In seconds: `2s`" }),
  }),
]);

/** The body of an error of generateContent. */
export const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.Integer({ description: "The status of the answer" }),
    message: Type.String(),
    status: Type.Enum([...new Set(Object.values(STATUS))]),
    type: Type.Enum([...ERROR_TYPES]),
    details: Type.Optional(Type.Array(Detail)),
  }),
});

/** An error as clients of generateContent read it: field at fault, code and time to wait stand in `details`. */
export function encodeError({ status, message, type, param, code, retryAfterSec }: GatewayError): JsonObject {
  const details: JsonObject[] = [];
  if (param !== undefined)
    details.push({ "@type": BAD_REQUEST, fieldViolations: [{ field: param, description: message }] });
  if (code !== undefined) details.push({ "@type": ERROR_INFO, reason: code.toUpperCase(), domain: DOMAIN });
  if (retryAfterSec !== undefined) details.push({ "@type": RETRY_INFO, retryDelay: `${retryAfterSec}s` });
  const word = STATUS[status] ?? "UNKNOWN";
  return { error: present({ code: status, message, status: word, type, details: filled(details) }) };
}
