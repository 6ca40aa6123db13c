import type { Cipher } from "../runtime/cipher.ts";

/** The texts of an answer. */
export type KeptPart = "input" | "output" | "frame";

/** Seals the texts of answers, each with what it belongs to: a row that was moved is not taken for another. */
export interface Sealing {
  /** The bytes of a text, in memory that threads share. */
  seal(account: string, id: string, part: KeptPart, text: string): Promise<Uint8Array>;
  /** Rejects for a text that was sealed as any other. */
  open(account: string, id: string, part: KeptPart, sealed: string): Promise<string>;
}

/** Seals with `cipher`. */
export function createSealing(cipher: Cipher): Sealing {
  return {
    seal: (account, id, part, text) => cipher.seal(`${account} ${id} ${part}\n${text}`),
    async open(account, id, part, sealed) {
      const text = await cipher.open(sealed);
      const head = `${account} ${id} ${part}\n`;
      if (!text.startsWith(head)) throw new Error("A kept answer is another one's.");
      return text.slice(head.length);
    },
  };
}
