import { contentHash } from "../runtime/hash.ts";

// Ids of calls as clients of a format take them, whatever a model's server calls its calls.

/** Source: Anthropic's refusal, "String should match pattern '^[a-zA-Z0-9_-]+$'"; OpenAI takes the same. */
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/** What an id begins with that stands for another one. */
const MARK = "sw_";

/**
 * The id of a call as clients take it whose format takes `most` characters. It is the call's own, or one that the own
 * id can be read from again. One that is too long even so gets a name, which call and result have alike.
 */
export function wireId(id: string, most = Infinity): string {
  if (LEGAL.test(id) && id.length <= most && !id.startsWith(MARK)) return id;
  const spelled = MARK + new TextEncoder().encode(id).toBase64({ alphabet: "base64url", omitPadding: true });
  return spelled.length <= most ? spelled : `call_${contentHash(id).slice(0, 24)}`;
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
