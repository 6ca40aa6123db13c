import type { RoutingSettings } from "./settings.ts";

/** Bounds the retries of all requests together, so that a provider that fails is not called several times as often. */
export interface RetryBudget {
  /** A request has come. */
  earn(): void;
  /** Takes one retry, where there is one. */
  take(): boolean;
  /** Whether a call that fails could be retried; also where the operator wants no retries, so that none is waited for. */
  affords(): boolean;
  /** A retry that was taken could not be made. */
  giveBack(): void;
}

/** Retries that may be saved, and that there are to begin with. */
const MOST_SAVED = 10;

/** The budget of a process. The settings are read at each use. */
export function createRetryBudget(settings: () => Pick<RoutingSettings, "retryBudget">): RetryBudget {
  let saved = MOST_SAVED;
  return {
    earn() {
      saved = Math.min(MOST_SAVED, saved + settings().retryBudget);
    },
    take() {
      if (saved < 1 || settings().retryBudget === 0) return false;
      saved -= 1;
      return true;
    },
    affords: () => saved >= 1 || settings().retryBudget === 0,
    giveBack() {
      saved = Math.min(MOST_SAVED, saved + 1);
    },
  };
}
