/** Signs what the sandbox thought, and knows its own signatures again. */
export interface Seal {
  /** The signature of `text`, in base64. */
  sign(text: string): string;
  verifies(text: string, signature: string): boolean;
  /** A signature that needs no text beside it: it carries what was thought, named by `about`, sealed. In base64. */
  token(about: string): string;
  isToken(signature: string): boolean;
}

/** Signatures that Google takes for a history that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
]);

/** A seal over a keyed hash of text, which gives base64url. */
export function createSeal(hash: (text: string) => string): Seal {
  const sign = (text: string): string => toBase64(hash(`sandbox thinking\n${text}`));
  const tokenHash = (about: string): string => hash(`sandbox token\n${about}`);
  return {
    sign,
    verifies: (text, signature) => sign(text) === signature,
    token: (about) => btoa(`${about}.${tokenHash(about)}`),
    isToken(signature) {
      const plain = normal(signature);
      const text = decoded(plain);
      if (PLACEHOLDERS.has(signature) || PLACEHOLDERS.has(text)) return true;
      const dot = text.lastIndexOf(".");
      // Base64 has more than one way to write the same bytes; a signature comes back as it was given.
      return (
        dot > 0 &&
        tokenHash(text.slice(0, dot)) === text.slice(dot + 1) &&
        trimmed(btoa(text)) === trimmed(plain)
      );
    },
  };
}

/** As it was given, where a client wrote it as a URL needs it. */
function normal(signature: string): string {
  let text = signature;
  try {
    text = decodeURIComponent(signature);
  } catch {
    // It was not percent-encoded.
  }
  return text.replace(/^"|"$/g, "").replaceAll("-", "+").replaceAll("_", "/");
}

function decoded(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return "";
  }
}

function trimmed(base64: string): string {
  return base64.replace(/=+$/, "");
}

function toBase64(base64url: string): string {
  const text = base64url.replaceAll("-", "+").replaceAll("_", "/");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}
