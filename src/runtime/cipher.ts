import { createCipheriv, createDecipheriv } from "node:crypto";
import { systemRandom, type Random } from "../core/random.ts";
import { deriveSecret } from "./hash.ts";

/** Keeps text at rest so that who reads the store reads nothing, and changes nothing unseen. */
export interface Cipher {
  /** `text`, sealed. The same text is sealed differently each time; what is sealed shows the length of the text alone. */
  seal(text: string): string;
  /** The text that was sealed. Throws when it was changed, cut, or sealed under another secret. */
  open(sealed: string): string;
}

/** The label of the key that seals: a later one gets a label and a mark of its own, and this one still opens. */
const LABEL = "sealed text 1";

/** What is sealed begins with it. It is sealed along, so that it cannot be taken for that of another key. */
const MARK = "s1.";

/** 96 random bits, as GCM takes them: their chance to meet stays below 2^-32 for the first 2^32 texts of a key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals under a key of its own, made from the installation's secret: AES-256-GCM with a random nonce. Text must be
 * well-formed Unicode, as JSON text is. `random` must never repeat itself.
 */
export function createCipher(secret: string, random: Random = systemRandom): Cipher {
  const key = Uint8Array.fromHex(deriveSecret(secret, LABEL));
  const mark = new TextEncoder().encode(MARK);
  return {
    seal(text) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES }).setAAD(mark);
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final()];
      return MARK + Buffer.concat([...parts, cipher.getAuthTag()]).toString("base64url");
    },

    open(sealed) {
      const bytes = Buffer.from(sealed.slice(MARK.length), "base64url");
      // The decoder steps over what is no base64: only the one text that these bytes make is taken.
      const isOurs = sealed.startsWith(MARK) && sealed.slice(MARK.length) === bytes.toString("base64url");
      if (!isOurs || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error(NOT_OPENED);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      }).setAAD(mark);
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new Error(NOT_OPENED, { cause });
      }
    },
  };
}

const NOT_OPENED =
  "Sealed text cannot be opened: it was changed, or the installation's secret is another one.";
