import type { Caller, KeyFault } from "../core/caller.ts";
import type { Clock } from "../core/time/clock.ts";
import { newId } from "../core/ids.ts";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { Random } from "../core/random.ts";
import { contentHash, createKeyedHash } from "../runtime/hash.ts";
import { isKeyText, keyHint, newKeyText } from "./key-text.ts";

/** A key as the store has it. */
export interface StoredKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly models: readonly string[] | null;
  /** Absent when the key has no limit. */
  readonly limits?: KeyLimits;
  /** Absent where its requests may not ask for a route. */
  readonly routes?: true;
  readonly expiresAtMs: number | null;
  readonly revoked: boolean;
  readonly accountActive: boolean;
}

/** The stored part of an issued key. */
export interface IssuedKey {
  readonly keyId: string;
  readonly hash: string;
  readonly hint: string;
}

/** What a key is looked up by. */
export type KeyName = { readonly hash: string } | { readonly id: string };

/** API keys: issue, look up, forget. */
export interface Keys {
  /** A new key: its text, which is shown once, and what the store keeps of it. */
  issue(): IssuedKey & { readonly text: string };
  /**
   * The caller that `text` belongs to, or why it is not a live key. The store is asked once for each text of the form
   * of a key, whatever its answer, and never for another text. Rejects when the store cannot be asked.
   */
  authenticate(text: string): Promise<Caller | KeyFault>;
  /** The same for the key of this id, which who asks knows to be the caller's. */
  byId(id: string): Promise<Caller | KeyFault>;
  /** The caller of a live key that was looked up a moment ago; `undefined` says nothing of any other text. */
  remembered(text: string): Caller | undefined;
  /** Makes the next use of every key ask the store again. */
  forget(): void;
}

/** What the keys are made of. */
export interface KeysParts {
  /** The key of this name, as it is stored now. */
  find(name: KeyName): Promise<StoredKey | undefined>;
  readonly pepper: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A key that was looked up is trusted for this long, which bounds how late a revocation elsewhere is seen. */
const TRUST_MS = 4_000;

/** Keys remembered at once; beyond it the oldest entry is dropped. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly untilMs: number;
  readonly expiresAtMs: number;
  readonly caller: Caller;
}

/**
 * Keys over a store. They are remembered by the full hash of the full key, or by their id, which is no hash. The hash
 * in memory is without the pepper, which costs half as much.
 */
export function createKeys({ find, pepper, clock, random }: KeysParts): Keys {
  const hashOf = createKeyedHash(pepper);
  const remembered = new Map<string, Remembered>();
  const asking = new Map<string, Promise<Caller | KeyFault>>();

  let generation = 0;

  const ask = async (name: KeyName, digest: string): Promise<Caller | KeyFault> => {
    const asked = generation;
    const key = await find(name);
    const nowMs = clock.nowMs();
    if (key === undefined) return "unknown";
    if (key.revoked) return "revoked";
    if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return "expired";
    if (!key.accountActive) return "account_inactive";
    const caller: Caller = {
      keyId: key.keyId,
      accountId: key.accountId,
      models: key.models === null ? null : new Set(key.models),
      ...(key.limits === undefined ? {} : { limits: key.limits }),
      ...(key.routes === undefined ? {} : { routes: key.routes }),
    };
    // An answer from before a change must not be remembered after it.
    if (asked !== generation) return caller;
    const [oldest] = remembered.keys();
    if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    const untilMs = clock.steadyMs() + TRUST_MS;
    remembered.set(digest, { untilMs, expiresAtMs: key.expiresAtMs ?? Infinity, caller });
    return caller;
  };

  const fresh = (digest: string): Caller | undefined => {
    const known = remembered.get(digest);
    if (known === undefined || clock.steadyMs() >= known.untilMs) return undefined;
    return clock.nowMs() < known.expiresAtMs ? known.caller : undefined;
  };

  const lookUp = async (digest: string, nameOf: () => KeyName): Promise<Caller | KeyFault> => {
    const known = fresh(digest);
    if (known !== undefined) return known;
    remembered.delete(digest);
    // One read of the store for all requests that wait for its answer.
    let answer = asking.get(digest);
    if (answer === undefined) {
      answer = ask(nameOf(), digest).finally(() => asking.delete(digest));
      asking.set(digest, answer);
    }
    return answer;
  };

  return {
    issue() {
      const text = newKeyText(random);
      return { keyId: newId("key", random), text, hash: hashOf(text), hint: keyHint(text) };
    },

    remembered: (text) => fresh(contentHash(text)),

    async authenticate(text) {
      if (!isKeyText(text)) return "malformed";
      return lookUp(contentHash(text), () => ({ hash: hashOf(text) }));
    },

    byId: (id) => lookUp(id, () => ({ id })),

    forget: () => {
      generation += 1;
      remembered.clear();
      asking.clear();
    },
  };
}
