/**
 * How many bytes the body of an answer has by its head, where that is so for sure; `undefined` where it is not said, and
 * where the body comes in chunks, which end when they end whatever stands beside them (RFC 9112, section 6.3). The runtime
 * refuses a length that is no number, and a body without chunks has no more bytes than were said.
 */
export function declaredLength(headers: Headers): number | undefined {
  const said = headers.get("content-length");
  return said === null || headers.has("transfer-encoding") ? undefined : Number(said);
}
