import { standardBase64 } from "../../core/bytes/base64.ts";
import { PLACEHOLDERS } from "../../protocols/generate-content/signatures.ts";

/** Signs what the sandbox thought, and knows its own signatures again. */
export interface Seal {
  /** The signature of `text`, in base64. */
  sign(text: string): string;
  verifies(text: string, signature: string): boolean;
  /** A signature that needs no text beside it: it carries what was thought, named by `about`, sealed. In base64. */
  token(about: string): string;
  isToken(signature: string): boolean;
}

/** A signature of Google's own that `@langchain/google-genai` gives every call which it knows none of; Google takes it. */
export const LANGCHAIN_SIGNATURE = [
  "ErYCCrMCAdHtim9kOoOkrPiCNVsmlpMIKd7ZMxgiFbVQOkgp7nlLcDMzVsZwIzvuT7nQROivoXA72ccC2lSDvR0Gh7dkWaGuj7ctv6t7",
  "ZceHnecx0QYa+ix8tYpRfjhyWozQ49lWiws6+YGjCt10KRTyWsZ2h6O7iHTYJwKIRwGUHRKy/qK/6kFxJm5ML00gLq4D8s5Z6DBpp2Zl",
  "R+uF4G8jJgeWQgyHWVdx2wGYElaceVAc66tZdPQRdOHpWtgYSI1YdaXgVI8KHY3/EfNc2YqqMIulvkDBAnuMhkAjV9xmBa54Tq+ih3Im",
  "4+r3DzqhGqYdsSkhS0kZMwte4Hjs65dZzCw9lANxIqYi1DJ639WNPYihp/DCJCos7o+/EeSPJaio5sgWDyUnMGkY1atsJZ+m7pj7DD5t",
  "vQ==",
].join("");

/** A seal over a keyed hash of text, which gives base64url. */
export function createSeal(hash: (text: string) => string): Seal {
  const sign = (text: string): string => standardBase64(hash(`sandbox thinking\n${text}`)) ?? "";
  const tokenOf = (about: string): string => `${about}.${hash(`sandbox token\n${about}`)}`;
  return {
    sign,
    verifies: (text, signature) => sign(text) === signature,
    token: (about) => btoa(tokenOf(about)),
    isToken(signature) {
      const standard = standardBase64(signature) ?? "";
      const text = atob(standard);
      const isTaken = (said: string): boolean => said === LANGCHAIN_SIGNATURE || PLACEHOLDERS.has(said);
      if (isTaken(signature) || isTaken(text)) return true;
      const dot = text.lastIndexOf(".");
      // Base64 has more than one way to write the same bytes; a signature comes back as it was given.
      return dot > 0 && text === tokenOf(text.slice(0, dot)) && standard === btoa(text);
    },
  };
}
