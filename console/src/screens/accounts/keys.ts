import type { Words } from "../../words/words.ts";
import type { Key } from "./types.ts";

/** Whether a key can be used, in a word. */
export type KeyState = "live" | "used up" | "expired" | "revoked";

/** The states of keys in words. */
export const KEY_WORDS: Readonly<Record<KeyState, Words>> = {
  live: { name: "Live", tone: "ok", says: "The key can be used." },
  "used up": { name: "Used up", tone: "warn", says: "The key's budget is spent or held." },
  expired: { name: "Expired", tone: "none", says: "The key's time has ended." },
  revoked: { name: "Revoked", tone: "none", says: "The key was revoked for ever." },
};

/** Whether a key can be used at `nowSec`. */
export function keyState(
  key: Pick<Key, "revoked_at" | "expires_at" | "budget" | "spent" | "held">,
  nowSec: number,
): KeyState {
  if (key.revoked_at !== null) return "revoked";
  if (key.expires_at !== null && key.expires_at <= nowSec) return "expired";
  return key.budget !== null && key.spent + key.held >= key.budget ? "used up" : "live";
}
