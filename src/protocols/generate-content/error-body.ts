import type { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json-value.ts";

/** The word of Google's API errors for each status: https://cloud.google.com/apis/design/errors */
const STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "INVALID_ARGUMENT",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** An error as clients of generateContent read it: field at fault and time to wait stand in `details`. */
export function encodeError(error: GatewayError): JsonObject {
  const details: JsonObject[] = [];
  if (error.param !== undefined) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: error.param, description: error.message }],
    });
  }
  if (error.retryAfterSec !== undefined) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.RetryInfo",
      retryDelay: `${error.retryAfterSec}s`,
    });
  }
  return {
    error: {
      code: error.status,
      message: error.message,
      status: STATUS[error.status] ?? "UNKNOWN",
      type: error.type,
      ...(details.length === 0 ? {} : { details }),
    },
  };
}
