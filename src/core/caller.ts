import type { KeyLimits } from "./rate-limits.ts";

/** The holder of a live key. Only `Keys.authenticate` makes one. */
export interface Caller {
  readonly keyId: string;
  readonly accountId: string;
  /** Models this key may use; `null` for all. */
  readonly models: ReadonlySet<string> | null;
  /** What this key may use in a minute and at once; absent when it has no limit. */
  readonly limits?: KeyLimits;
  /** Its requests may ask for a route; absent: they may not. */
  readonly routes?: true;
}

/** Why a text is no live key: its form is wrong, no such key is known, or its key or account has ended. */
export type KeyFault = "malformed" | "unknown" | "revoked" | "expired" | "account_inactive";
