/** Base64 as all vendors read it: either alphabet, padded or not. */
const BASE64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;

/** Hosts that no server of a vendor reaches. */
const INSIDE =
  /^https?:\/\/(?:localhost|127\.|10\.|192\.168\.|169\.254\.|\[::1\]|[^/.:]+[/:]|[^/:]+\.(?:local|internal)[/:])/i;

/** Whether a value is base64 of at least one byte. */
export function isBase64(value: unknown): boolean {
  return typeof value === "string" && value !== "" && BASE64.test(value);
}

/** Whether a link leads to a private host. */
export function leadsInside(link: unknown): boolean {
  return typeof link === "string" && INSIDE.test(link);
}
