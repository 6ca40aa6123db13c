import type { Issuer } from "../core/chat.ts";
import { isJsonObject } from "../core/json/json-value.ts";
import { createKeyedHash, isSameText } from "../runtime/hash.ts";

// What a vendor's model wants back with a conversation, in a text that clients of other formats keep for us. The text
// is `encrypted_content` of Responses, a `signature` of messages, or a `thoughtSignature` of generateContent.

/** What carriers are sealed with: the installation's secret for them, and whose they are. */
export interface CarrierKey {
  readonly secret: string;
  readonly account: string;
}

/** The state that a carrier holds. */
export type Carried =
  /** A block of thinking. Signatures are as their issuer wrote them. */
  | {
      readonly kind: "thinking";
      readonly issuer?: Issuer;
      readonly text: string;
      readonly signature?: string;
    }
  | { readonly kind: "redacted"; readonly issuer: Issuer; readonly data: string }
  /** A signature of what is no thinking: of the call that follows, or of the text before. */
  | {
      readonly kind: "signature";
      readonly issuer: Issuer;
      readonly signature: string;
      readonly of: "next" | "last";
    }
  /** What a conversation came to, in words. */
  | { readonly kind: "compaction"; readonly text: string };

const PREFIX = "sw1.";

/** Bytes of the seal that are kept: enough, as a guess can be tried only by asking us. */
const SEAL_LENGTH = 22;

/** Whether a text is one of ours, whoever holds it. */
export function isCarrier(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** The text that carries it: printable ASCII without padding. Without a key nobody's seal is on it. */
export function sealCarrier(carried: Carried, key: CarrierKey | undefined): string {
  const payload = encoder
    .encode(JSON.stringify(carried))
    .toBase64({ alphabet: "base64url", omitPadding: true });
  return `${PREFIX}${payload}.${sealOf(payload, key)}`;
}

/** What a text carries; `undefined` for one that is not ours, that was changed, or that another account was given. */
export function openCarrier(text: string, key: CarrierKey | undefined): Carried | undefined {
  if (!isCarrier(text)) return undefined;
  const [payload = "", seal = "", ...rest] = text.slice(PREFIX.length).split(".");
  if (rest.length > 0 || !isSameText(seal, sealOf(payload, key))) return undefined;
  // Under the seal it is what `sealCarrier` wrote.
  const carried: unknown = JSON.parse(
    decoder.decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })),
  );
  return isJsonObject(carried) ? (carried as unknown as Carried) : undefined;
}

const keyedHashes = new Map<string, (text: string) => string>();

function sealOf(payload: string, { secret, account }: CarrierKey = NOBODY): string {
  const hash = keyedHashes.getOrInsertComputed(secret, createKeyedHash);
  return hash(`${account} ${payload}`).slice(0, SEAL_LENGTH);
}

const NOBODY: CarrierKey = { secret: "", account: "" };

const encoder = new TextEncoder();
const decoder = new TextDecoder();
