import type { Clock } from "../core/time/clock.ts";
import { createKeyedHash, isSameText } from "../runtime/hash.ts";

/** How long a URL is valid. */
export const LIFETIME_SEC = 3_600;

/** Clocks of processes that share a store may differ by this much. */
const TOLERANCE_SEC = 60;

/** The number of the signing key: a later key gets another, and URLs of this one stay valid until they expire. */
const KEY = "1";

/** Signs paths of this service and verifies the signatures. */
export interface UrlSigner {
  /** The query that makes `path` a URL that is valid for an hour. */
  sign(path: string): string;
  /**
   * For how many seconds more `path` may be read by this query; `undefined` when it may not. The query must be exactly
   * as it was made: nothing more, nothing twice, in its order.
   */
  check(path: string, query: string): number | undefined;
}

const QUERY = /^expires=(0|[1-9][0-9]{0,11})&signature=1\.([A-Za-z0-9_-]{43})$/;

/** Signatures (HMAC-SHA-256) under a secret that is used for nothing else. */
export function createUrlSigner(secret: string, clock: Clock): UrlSigner {
  const hash = createKeyedHash(secret);
  // A line break can stand in none of the parts. A URL that allows GET allows HEAD, and nothing else.
  const signatureOf = (path: string, expires: string): string => hash(`${KEY}\nGET\n${path}\n${expires}`);
  const nowSec = (): number => Math.floor(clock.nowMs() / 1000);
  return {
    sign(path) {
      const expires = String(nowSec() + LIFETIME_SEC);
      return `expires=${expires}&signature=${KEY}.${signatureOf(path, expires)}`;
    },

    check(path, query) {
      const parts = QUERY.exec(query);
      if (parts === null) return undefined;
      const [, expires = "", signature = ""] = parts;
      if (!isSameText(signature, signatureOf(path, expires))) return undefined;
      const expiresSec = Number(expires);
      const now = nowSec();
      const isTooLate = now > expiresSec + TOLERANCE_SEC;
      // No URL is ever made for longer, so this one was not made here.
      const isTooEarly = expiresSec > now + LIFETIME_SEC + TOLERANCE_SEC;
      return isTooLate || isTooEarly ? undefined : Math.max(0, expiresSec - now);
    },
  };
}
