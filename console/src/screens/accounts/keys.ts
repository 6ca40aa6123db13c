import type { Tone } from "../../design/badge.tsx";
import type { Key } from "./types.ts";

/** Whether a key can be used, in a word. */
export type KeyState = "live" | "used up" | "expired" | "revoked";

/** What the states of keys look like. */
export const KEY_TONES: Readonly<Record<KeyState, Tone>> = {
  live: "ok",
  "used up": "warn",
  expired: "none",
  revoked: "none",
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
