import type { WireRequest } from "../../src/protocols/protocol.ts";

/** A request as the edge hands it to a protocol: text, bytes, or a value to be written as JSON. */
export function wireRequest(
  body: string | Uint8Array | object,
  more: Partial<WireRequest> = {},
): WireRequest {
  const bytes =
    body instanceof Uint8Array
      ? body
      : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  return { body: bytes, headers: new Headers(), ...more };
}
