import { systemRandom, type Random } from "../core/random.ts";
import { deriveSecret } from "./hash.ts";

/** Encrypts text at rest: a reader of the store learns nothing, and a change is noticed. */
export interface Cipher {
  /**
   * Seals `text`: the bytes of a text again, in memory that threads share. The same text is sealed differently each
   * time; the result shows only its length.
   */
  seal(text: string): Promise<Uint8Array>;
  /** The text that was sealed. Rejects when it was changed, cut, or sealed under another secret. */
  open(sealed: string): Promise<string>;
}

/** The label of the sealing key: a later key gets a label and a mark of its own, and this one still opens. */
const LABEL = "sealed text 1";

/** Every sealed text begins with this mark. It is authenticated too, so that no text can be taken for another key's. */
const MARK = "s1.";

/**
 * 96 random bits, as GCM takes them: the chance that two are equal stays below 2^-32 for the first 2^32 texts of a key.
 */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals under a key of its own, derived from the installation's secret: AES-256-GCM with a random nonce. Text must be
 * well-formed Unicode, as JSON text is. `random` must never repeat itself. So that other work does not wait, the
 * runtime's threads encrypt text as large as a request (32 MiB). For the same reason its base64 is made in parts.
 */
export function createCipher(secret: string, random: Random = systemRandom): Cipher {
  const { subtle } = crypto;
  const bits = Uint8Array.fromHex(deriveSecret(secret, LABEL));
  const key = subtle.importKey("raw", bits, "AES-GCM", false, ["encrypt", "decrypt"]);
  const additionalData = new TextEncoder().encode(MARK);
  const terms = (iv: Uint8Array<ArrayBuffer>) => ({
    name: "AES-GCM",
    iv,
    additionalData,
    tagLength: TAG_BYTES * 8,
  });
  return {
    async seal(text) {
      const nonce = new Uint8Array(random.bytes(NONCE_BYTES));
      const isLong = text.length > LONG;
      if (isLong) await othersTurn();
      const bytes = new TextEncoder().encode(text);
      if (isLong) await othersTurn();
      const encrypted = await subtle.encrypt(terms(nonce), await key, bytes);
      // The nonce fills whole base64 characters, so the base64 of both parts is that of the whole.
      const head = MARK + toText(nonce);
      const length = head.length + Math.ceil((encrypted.byteLength * 4) / 3);
      const sealed = Buffer.from(new SharedArrayBuffer(length));
      let at = sealed.write(head, "latin1");
      await inParts(new Uint8Array(encrypted), BYTES, (part) => {
        at += sealed.write(toText(part), at, "latin1");
      });
      return sealed;
    },

    async open(sealed) {
      const parts = sealed.startsWith(MARK)
        ? await inParts(sealed.slice(MARK.length), CHARACTERS, toBytes)
        : [];
      const bytes = parts.includes(undefined) ? undefined : Buffer.concat(parts as Uint8Array[]);
      if (bytes === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error(NOT_OPENED);
      const nonce = new Uint8Array(bytes.subarray(0, NONCE_BYTES));
      try {
        const text = await subtle.decrypt(terms(nonce), await key, bytes.subarray(NONCE_BYTES));
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(text);
      } catch (cause) {
        throw new Error(NOT_OPENED, { cause });
      }
    },
  };
}

const NOT_OPENED =
  "Sealed text cannot be opened: it was changed, or the installation's secret is another one.";

/** Bytes that are encoded to base64, or decoded, in some milliseconds. */
const BYTES = 3 * 512 * 1024;
const CHARACTERS = 4 * 512 * 1024;

/** From this size on encoding a text, and giving it to the runtime's threads, each take some milliseconds. */
const LONG = 8 * 1024 * 1024;

/** Does `work` in parts; other work runs between two of them. */
async function inParts<
  Whole extends { readonly length: number; slice(start: number, end: number): Whole },
  Done,
>(whole: Whole, size: number, work: (part: Whole) => Done): Promise<Done[]> {
  const done: Done[] = [];
  for (let at = 0; at < whole.length; at += size) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    done.push(work(whole.slice(at, at + size)));
  }
  return done;
}

/** Until sockets were read and answered: the first immediate in a row comes before that. */
function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

function toText(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** `undefined` for any text but the canonical base64: the decoder would skip white space and take padding. */
function toBytes(text: string): Uint8Array | undefined {
  const padding = "=".repeat((4 - (text.length % 4)) % 4);
  try {
    const bytes = Uint8Array.fromBase64(text + padding, {
      alphabet: "base64url",
      lastChunkHandling: "strict",
    });
    return bytes.length === Math.floor((text.length * 3) / 4) ? bytes : undefined;
  } catch {
    return undefined;
  }
}
