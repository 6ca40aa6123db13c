import { type Carried, type CarrierKey, isCarrier, openCarrier } from "../carrier.ts";

/**
 * What a call or an image without a signature of its own is sent with. Another model made it, or a client lost the
 * signature. The text itself is what the vendor documents for JSON:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export const NO_SIGNATURE = "skip_thought_signature_validator";

/** All texts that the vendor documents for histories of other models. */
export const PLACEHOLDERS: ReadonlySet<string> = new Set([
  NO_SIGNATURE,
  "context_engineering_is_the_way_to_go",
]);

/** What a `thoughtSignature` holds. */
export interface ReadSignature {
  /** What other vendors' models want back, in its order. */
  readonly carried: readonly Carried[];
  /** A signature of Google's own models. */
  readonly own?: string;
  /** Carriers that cannot be opened: changed, or another account's. */
  readonly isForeign: boolean;
}

const NOTHING: ReadSignature = { carried: [], isForeign: false };

/** Reads a signature: carriers are in base64, as the format's clients take nothing else, with a space between. */
export function readSignature(signature: string | undefined, key: CarrierKey | undefined): ReadSignature {
  if (signature === undefined || signature === "" || PLACEHOLDERS.has(signature)) return NOTHING;
  const text = textIn(signature);
  if (text === undefined || !isCarrier(text)) return { ...NOTHING, own: signature };
  const opened = text.split(" ").map((carrier) => openCarrier(carrier, key));
  const carried = opened.filter((one) => one !== undefined);
  return { carried, isForeign: carried.length < opened.length };
}

/** Whether a signature is one of ours, whoever holds it. */
export function isCarriedSignature(signature: string): boolean {
  const text = textIn(signature.slice(0, 8));
  return text !== undefined && isCarrier(text);
}

/** Carriers as one signature. */
export function writeSignature(carriers: readonly string[]): string {
  return new TextEncoder().encode(carriers.join(" ")).toBase64();
}

function textIn(signature: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(signature));
  } catch {
    return undefined;
  }
}
