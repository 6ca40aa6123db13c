import type { Random } from "../../core/random.ts";
import { createPause } from "./pause.ts";
import type { RoutingSettings } from "./settings.ts";

/**
 * Keeps calls from a credential that fails. It is open after some requests that failed in a row, or one refusal. When
 * that time is over it is half-open: one call is let through, which closes it or opens it again. A call that has told
 * nothing for as long as the breaker was open lets another through. An answer may take minutes, and a provider that is
 * back is not to be refused for so long. Either of them closes it, also where the other has opened it again meanwhile.
 * An answer that has begun is the newest word of a provider, and a failure may be of a call that has waited for
 * minutes.
 */
export interface Breaker {
  /** In a row. */
  readonly failures: number;
  /** Or half-open. */
  readonly isOpen: boolean;
  /** When it is half-open; in the past once it was. */
  readonly untilMs: number;
  /** How long until a call may be made; 0 is now. */
  waitMs(nowMs: number): number;
  /** A call begins, where `waitMs` is 0. What this gives has to be told when the call ends. */
  begin(nowMs: number): number;
  /** How often it has opened. */
  readonly count: number;
  /**
   * A call has ended, or a probe that noted `count` at its start. What began before the breaker opened changes nothing,
   * but for the success of a call that was let through just before it opened again.
   */
  end(began: number, end: CallEnd, nowMs: number, terms: BreakerTerms): void;
}

/**
 * How a call ended. `refused`: the credential is not accepted. `neutral`: it says nothing of the credential. `found`: a
 * probe was answered, which says that the provider is there, and not that it serves. `failed_again`: the request had
 * failed there before. It says nothing new: else two requests that a provider cannot serve would close it to all others.
 */
export type CallEnd = "ok" | "found" | "neutral" | "failed" | "failed_again" | "refused";

/** When a breaker opens, and for how long. */
export interface BreakerTerms {
  readonly settings: Pick<RoutingSettings, "breakerFailures" | "breakerMs">;
  readonly random: Random;
}

/** A breaker that opens again is open for twice as long, up to this or to the operator's setting. */
const MOST_OPEN_MS = 30_000;

/** Nobody knows when the call ends that tries an open breaker: others wait this long at the most before they ask again. */
const PROBING_MS = 1_000;

/** A closed breaker. */
export function createBreaker(): Breaker {
  const pause = createPause();
  let failures = 0;
  let isOpen = false;
  let isProbing = false;
  /** What `begin` gave the calls that were let through before it opened again. */
  let triedBefore: number | undefined;
  /** By then the call that tries it should have told something. */
  let probeUntilMs = 0;
  return {
    get failures() {
      return failures;
    },
    get isOpen() {
      return isOpen;
    },
    get untilMs() {
      return pause.untilMs;
    },
    get count() {
      return pause.count;
    },
    waitMs(nowMs) {
      if (!isOpen) return 0;
      const waitMs = Math.max(0, pause.untilMs - nowMs);
      if (waitMs > 0 || !isProbing) return waitMs;
      return Math.min(PROBING_MS, Math.max(0, probeUntilMs - nowMs));
    },
    begin(nowMs) {
      if (isOpen) {
        isProbing = true;
        probeUntilMs = nowMs + pause.lengthMs;
      }
      return pause.count;
    },
    end(began, end, nowMs, { settings: { breakerFailures, breakerMs }, random }) {
      if (began !== pause.count && (end !== "ok" || began !== triedBefore)) return;
      isProbing = false;
      if (end === "neutral" || (end === "failed_again" && !isOpen)) return;
      if (end === "ok") {
        failures = 0;
        isOpen = false;
        triedBefore = undefined;
        pause.reset();
        return;
      }
      if (end === "found") {
        // The next failure opens it again, for twice as long.
        if (isOpen) failures = Math.max(0, breakerFailures - 1);
        isOpen = false;
        return;
      }
      failures += 1;
      if (!isOpen && end === "failed" && failures < breakerFailures) return;
      triedBefore = isOpen ? pause.count : undefined;
      isOpen = true;
      pause.begin(nowMs, { firstMs: breakerMs, mostMs: Math.max(MOST_OPEN_MS, breakerMs) }, random);
    },
  };
}
