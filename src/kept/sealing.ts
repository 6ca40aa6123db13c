import type { Cipher } from "../runtime/cipher.ts";

/** The texts of an answer. */
export type KeptPart = "input" | "output" | "frame";

/** Seals the texts of answers, each with what it belongs to: a row that was moved is not taken for another. */
export interface Sealing {
  seal(account: string, id: string, part: KeptPart, text: string): Promise<string>;
  /** Rejects for a text that was sealed as any other. */
  open(account: string, id: string, part: KeptPart, sealed: string): Promise<string>;
}

/** Seals with `cipher`. */
export function createSealing(cipher: Cipher): Sealing {
  return {
    async seal(account, id, part, text) {
      const { buffer, byteOffset, length } = await cipher.seal(`${account} ${id} ${part}\n${text}`);
      return Buffer.from(buffer, byteOffset, length).toString("latin1");
    },
    async open(account, id, part, sealed) {
      const text = await cipher.open(sealed);
      const head = `${account} ${id} ${part}\n`;
      if (!text.startsWith(head)) throw new Error("A kept answer is another one's.");
      return text.slice(head.length);
    },
  };
}
