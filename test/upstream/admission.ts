import type { Answer, HeaderPairs } from "./answer.ts";
import type { Gate } from "./gate.ts";

/** What the double does with the body of a request whose head it has read. */
export type Admission =
  | { readonly kind: "read" }
  /** Reads nothing more, so that TCP pushes back; after the gate it reads on and answers as usual. */
  | { readonly kind: "wait"; readonly until: Gate }
  /** Answers without waiting for the body, and closes unless the answer says otherwise. */
  | { readonly kind: "answer"; readonly answer: Answer }
  /** Resets or closes once this many bytes of the body have come; 0 is right after the head. */
  | { readonly kind: "cut"; readonly how: "reset" | "fin"; readonly afterBodyBytes: number };

/** The admission of every request for which nothing else was asked. */
export const READ: Admission = { kind: "read" };

/** Never reads the body while the gate is closed. The client's leaving is seen only once it is released. */
export function neverRead(until: Gate): Admission {
  return { kind: "wait", until };
}

/**
 * Answers while the body may still be on its way, as a provider does that refuses by the head alone. It closes the
 * sending side only. A full close over unread bytes is a reset, and could take the answer with it.
 */
export function answerAtOnce(answer: Answer): Admission {
  const headers: HeaderPairs = [...(answer.headers ?? []), ["connection", "close"]];
  return { kind: "answer", answer: { end: { at: "last-byte", how: "half-close" }, ...answer, headers } };
}

/** Resets the connection in the middle of the upload. */
export function resetUpload(afterBodyBytes: number): Admission {
  return { kind: "cut", how: "reset", afterBodyBytes };
}
