import type { Clock } from "../core/time/clock.ts";
import { createKeyedHash, isSameText } from "../runtime/hash.ts";

/** How long a URL is good. */
export const LIFETIME_SEC = 3_600;

/** Clocks of processes that share a store may differ by this much. */
const TOLERANCE_SEC = 60;

/** Which key signs: a later one gets a number of its own, and URLs of this one stay good until their time is over. */
const KEY = "1";

/** Signs paths of this service, and knows its own signatures. */
export interface UrlSigner {
  /** The query that makes `path` a URL that is good for an hour. */
  sign(path: string): string;
  /**
   * For how many seconds more `path` may be read by this query; `undefined` when it may not. The query must be as it was
   * made, letter by letter: nothing more, nothing twice, in its order.
   */
  check(path: string, query: string): number | undefined;
}

const QUERY = /^expires=(0|[1-9][0-9]{0,11})&signature=1\.([A-Za-z0-9_-]{43})$/;

/** Signatures (HMAC-SHA-256) under a secret that is used for nothing else. */
export function createUrlSigner(secret: string, clock: Clock): UrlSigner {
  const hash = createKeyedHash(secret);
  // A line break can stand in none of the parts. A URL that may be read may be asked about (HEAD), and nothing else.
  const signatureOf = (path: string, expires: string): string => hash(`${KEY}\nGET\n${path}\n${expires}`);
  const nowSec = (): number => Math.floor(clock.nowMs() / 1000);
  return {
    sign(path) {
      const expires = String(nowSec() + LIFETIME_SEC);
      return `expires=${expires}&signature=${KEY}.${signatureOf(path, expires)}`;
    },

    check(path, query) {
      const [, expires, signature] = QUERY.exec(query) ?? [];
      if (expires === undefined || signature === undefined) return undefined;
      if (!isSameText(signature, signatureOf(path, expires))) return undefined;
      const expiresSec = Number(expires);
      const now = nowSec();
      const isTooLate = now > expiresSec + TOLERANCE_SEC;
      // None is ever made for longer, so who has one has found a way around this code.
      const isTooEarly = expiresSec > now + LIFETIME_SEC + TOLERANCE_SEC;
      return isTooLate || isTooEarly ? undefined : Math.max(0, expiresSec - now);
    },
  };
}
