/**
 * The length of an answer's body as its head declares it. `undefined` where the head does not, and where the body comes
 * in chunks, which end without regard to it (RFC 9112, section 6.3). The runtime refuses a length that is no number,
 * and cuts a body at its length.
 */
export function declaredLength(headers: Headers): number | undefined {
  const said = headers.get("content-length");
  return said === null || headers.has("transfer-encoding") ? undefined : Number(said);
}
