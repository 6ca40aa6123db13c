/** Source: the provider's refusal, "String should match pattern '^[a-zA-Z0-9_-]+$'". */
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/** What an id begins with that stands for another one. */
const MARK = "sw_";

/** The id of a call as clients of the format take it: its own, or one that it can be read from again. */
export function wireId(id: string): string {
  if (LEGAL.test(id) && !id.startsWith(MARK)) return id;
  return MARK + new TextEncoder().encode(id).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** The id that its model gave a call which a client names. */
export function ownId(id: string): string {
  if (!id.startsWith(MARK)) return id;
  try {
    const bytes = Uint8Array.fromBase64(id.slice(MARK.length), { alphabet: "base64url" });
    const own = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return wireId(own) === id ? own : id;
  } catch {
    return id;
  }
}
