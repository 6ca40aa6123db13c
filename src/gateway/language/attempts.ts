import { type Clock, wait } from "../../core/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { type CallResult, endOf } from "../routing/call-result.ts";
import type { Health, Place } from "../routing/health.ts";
import { RefusalCause } from "../../protocols/refusal.ts";
import type { Routing } from "../routing/routing.ts";
import { type Answered, MOST_WAIT_MS, readFailure, type Retry, retryOf } from "../routing/retry.ts";
import type { WayKey } from "../routing/way-key.ts";
import type { CalledWay } from "../routing/ways.ts";
import type { RetryStep } from "../metrics/meter.ts";
import type { RequestRecord } from "../request-record.ts";
import type { PreparedBody } from "./prepared-body.ts";

/** Throws a 503 where no way can be taken now, before anything is held. */
export function checkWays(
  health: Pick<Health, "look">,
  legs: readonly { readonly ways: readonly CalledWay[] }[],
): void {
  let waitMs = Infinity;
  for (const { ways } of legs) {
    for (const { key, bounds, failsAsAsked } of ways) {
      if (failsAsAsked) return;
      const standing = health.look(key, bounds);
      if (standing.waitMs <= 0) return;
      waitMs = Math.min(waitMs, standing.waitMs);
    }
  }
  throw noWay(waitMs);
}

/** A way on which a request may be sent. */
export interface Candidate<Prepared> {
  readonly way: CalledWay;
  /** See `Routing.order`; absent where requests for the model need not go the same way. */
  readonly stickyKey?: number | undefined;
  /** The request as it is sent this way; `undefined` where it cannot go this way for what is held. */
  prepare(): Promise<Prepared | undefined> | Prepared | undefined;
}

/** A request as it is sent. */
export interface Sendable<Prepared> {
  readonly body: Pick<PreparedBody, "isKept">;
  /** The same without what earlier answers were signed with; `undefined` where nothing in it is, or it is not kept. */
  unsigned?(): Prepared | undefined;
}

/** What attempts are made with. */
export interface AttemptServices {
  readonly routing: Routing;
  readonly clock: Clock;
}

/** The ways of one request. */
export interface AttemptWays<Prepared> {
  /** In the order in which they are tried. */
  readonly candidates: readonly Candidate<Prepared>[];
}

/** For how long attempts go on. */
export interface Until {
  /** The client has left, or a deadline has passed. */
  readonly signal: AbortSignal;
  /** When an answer is late, by the steady clock: no pause may last so long. */
  readonly lateMs: number;
}

/** A way that was chosen, and the call's place there. */
interface Chosen<Prepared> {
  readonly prepared: Prepared;
  readonly candidate: Candidate<Prepared>;
}

/** Attempts of one request: which way it takes, and which one after a failure, where another is safe. */
export interface Attempts<Prepared> {
  /** The first way. Throws a 503 where none can be taken now, and what ended the signal where that comes first. */
  first(until: Until): Promise<Prepared>;
  /**
   * The way to go on by after `error`; `undefined` where the request must not be sent again, or cannot. `answer` had
   * come before it. Throws a 503 where `error` says that waiting does not help, and another way may serve the request
   * later. Throws what an earlier way said of its limit where `error` is what only the operator can mend.
   */
  next(error: Error, answer: Answered | undefined): Promise<Prepared | undefined>;
  /** The answer of the present way has begun, or was read whole where it `isPlain`. */
  answered(isPlain?: boolean): void;
  /** The request has ended: well, or with an `error` that ended its last attempt. */
  end(error?: Error, answer?: Answered): void;
}

/** Begins the attempts of one request. */
export function openAttempts<Prepared extends Sendable<Prepared>>(
  services: AttemptServices,
  ways: AttemptWays<Prepared>,
  record: Pick<RequestRecord, "retried">,
): Attempts<Prepared> {
  return new OpenAttempts(services, ways, record);
}

/** A class, since one is made for each request: its functions are not. */
class OpenAttempts<Prepared extends Sendable<Prepared>> implements Attempts<Prepared> {
  readonly #routing: Routing;
  readonly #clock: Clock;
  readonly #record: Pick<RequestRecord, "retried">;
  /** Those that no failure has ruled out so far. */
  #candidates: readonly Candidate<Prepared>[];
  /** Ways by which a call has failed for the breaker. */
  readonly #failedBy: WayKey[] = [];
  /** Ways that were taken, or that the request cannot go. */
  #tried: Candidate<Prepared>[] = [];
  #calls = 0;
  #until = ALWAYS;
  #hasAnswer = false;
  #hasEnded = false;
  /** The provider has refused signatures: no way is sent any. */
  #isUnsigned = false;
  #current: Chosen<Prepared> | undefined;
  #place: Place | undefined;
  #startedMs = 0;
  /** How soon a way may take the request that has not: never, where none failed or waits but for the operator. */
  #laterMs = Infinity;
  /** By which a way said that the request alone is beyond its limit: what the client can mend, by asking for less. */
  #beyond: Error | undefined;
  /** The search for a way ended at a bound on attempts. */
  #isCut = false;

  constructor(
    { routing, clock }: AttemptServices,
    { candidates }: AttemptWays<Prepared>,
    record: Pick<RequestRecord, "retried">,
  ) {
    this.#record = record;
    this.#routing = routing;
    this.#clock = clock;
    this.#candidates = candidates;
  }

  async first(until: Until): Promise<Prepared> {
    this.#until = until;
    this.#routing.budget.earn();
    const chosen = await this.#choose(this.#candidates);
    if (typeof chosen !== "number") return this.#begin(chosen);
    until.signal.throwIfAborted();
    throw noWay(chosen);
  }

  async next(error: Error, answer: Answered | undefined): Promise<Prepared | undefined> {
    const current = this.#current;
    if (current === undefined || this.#until.signal.aborted) return undefined;
    const retry = this.#failed(error, answer);
    if (current.candidate.way.failsAsAsked) return undefined;
    const next = await this.#after(current, error, retry);
    if (retry.reason === "beyond_limit") {
      if (next === undefined) this.#throwIfLater(current, error, retry);
      this.#beyond ??= error;
    } else if (next === undefined && this.#beyond !== undefined && isOperators(retry)) {
      throw this.#beyond;
    }
    if (retry.passes) this.#mayServeIn(this.#routing.health.look(current.candidate.way.key).waitMs);
    return next;
  }

  #mayServeIn(waitMs: number): void {
    this.#laterMs = Math.min(this.#laterMs, waitMs);
  }

  /** Another way may take what is beyond the limit of this one: then trying again helps. */
  #throwIfLater({ candidate }: Chosen<Prepared>, error: Error, retry: Retry): void {
    const isOneLeft = this.#isCut && this.#othersAfter(candidate, retry).length > 0;
    const waitMs = isOneLeft ? 0 : this.#laterMs;
    if (waitMs < Infinity) throw noWay(waitMs, error);
  }

  async #after(current: Chosen<Prepared>, error: Error, retry: Retry): Promise<Prepared | undefined> {
    this.#isCut = this.#calls >= this.#routing.settings().attempts;
    if (this.#isCut) return undefined;
    const isUnread = error.cause instanceof RefusalCause && error.cause.aboutSignatures;
    if (!isUnread && retry.where === "nowhere") return undefined;
    const next = await this.#withinBudget(() =>
      isUnread ? this.#withoutSignatures(current) : this.#elsewhereOrAgain(current, retry),
    );
    if (next !== undefined && this.#current !== undefined) {
      const { way } = current.candidate;
      const reason = isUnread ? "signatures" : retry.reason;
      this.#record.retried(way.key.provider, reason, stepTo(this.#current.candidate.way, way));
    }
    return next;
  }

  /** What `choose` gives, where all requests together have a retry left. */
  async #withinBudget(choose: () => Promise<Prepared | undefined>): Promise<Prepared | undefined> {
    const { budget } = this.#routing;
    this.#isCut = !budget.take();
    if (this.#isCut) return undefined;
    let next: Prepared | undefined;
    try {
      next = await choose();
      return next;
    } finally {
      if (next === undefined) budget.giveBack();
    }
  }

  async #elsewhereOrAgain(current: Chosen<Prepared>, retry: Retry): Promise<Prepared | undefined> {
    this.#candidates = this.#othersAfter(current.candidate, retry);
    return (await this.#goOn(this.#candidates)) ?? (await this.#sameAgain(current, retry));
  }

  /** The same way once more, after the pause that it needs. */
  async #sameAgain(
    { candidate, prepared }: Chosen<Prepared>,
    { where, waitMs: backoffMs }: Retry,
  ): Promise<Prepared | undefined> {
    if (where !== "anywhere" || backoffMs === undefined || !prepared.body.isKept) return undefined;
    const waitMs = Math.max(backoffMs, this.#routing.health.look(candidate.way.key).waitMs);
    if (waitMs > MOST_WAIT_MS || this.#clock.steadyMs() + waitMs >= this.#until.lateMs) return undefined;
    await wait(this.#clock, waitMs, this.#until.signal);
    return this.#goOn([{ ...candidate, prepare: () => prepared }]);
  }

  answered(isPlain = false): void {
    this.#hasAnswer = true;
    const { way, stickyKey } = this.#current?.candidate ?? {};
    if (way !== undefined && stickyKey !== undefined) this.#routing.served(stickyKey, way.key);
    // Nothing is tried any more: what the ways hold goes.
    this.#candidates = [];
    this.#tried = [];
    this.#current = undefined;
    this.#place?.answered(this.#clock.steadyMs() - this.#startedMs, isPlain);
  }

  end(error?: Error, answer?: Answered): void {
    this.#hasEnded = true;
    if (this.#place === undefined) return;
    if (error === undefined) {
      // A client that left says nothing of a provider that had not answered.
      this.#place.end(this.#hasAnswer ? GOOD : NEUTRAL);
      this.#place = undefined;
    } else this.#failed(error, answer);
  }

  /** Ends the call's place with what its failure says of the way. */
  #failed(error: Error, answer: Answered | undefined): Retry {
    const { settings, random } = this.#routing;
    const { unsafeRetries } = settings();
    const retry = retryOf(readFailure(error, answer), { unsafeRetries, retries: this.#calls - 1, random });
    this.#place?.end(this.#toldOnce(retry.result));
    this.#place = undefined;
    return retry;
  }

  /** The result of the present call, marked where an earlier one has failed by the same credential. */
  #toldOnce(result: CallResult): CallResult {
    const key = this.#current?.candidate.way.key;
    if (key === undefined || result.kind !== "failed" || endOf(result) !== "failed") return result;
    const isRepeated = this.#failedBy.some((other) => isSameCredential(key, other));
    this.#failedBy.push(key);
    return isRepeated ? { ...result, isRepeated } : result;
  }

  /** The same way once more, without what it says others have signed. */
  async #withoutSignatures({ candidate, prepared }: Chosen<Prepared>): Promise<Prepared | undefined> {
    const unsigned = this.#isUnsigned ? undefined : prepared.unsigned?.();
    this.#isUnsigned = true;
    return unsigned && this.#goOn([{ ...candidate, prepare: () => unsigned }]);
  }

  /** Ways that were not tried, as far as the failure leaves them. */
  #othersAfter(
    { way: failed }: Candidate<Prepared>,
    { where, reason }: Retry,
  ): readonly Candidate<Prepared>[] {
    const { attempts } = this.#routing.settings();
    const others = this.#candidates.filter((other) => {
      if (this.#tried.includes(other)) return false;
      const { route, key } = other.way;
      if (where === "other_route") return route !== failed.route;
      return where === "anywhere" || !isSameCredential(key, failed.key);
    });
    // A server that cannot be reached is out of reach by its other credentials, too. A provider that fails by all of
    // them must not have the last call as well.
    if (reason !== "not_sent" && this.#calls + 1 < attempts) return others;
    const asked = new Set(this.#tried.map(({ way }) => way.key.provider));
    const wasAsked = ({ way }: Candidate<Prepared>): number => Number(asked.has(way.key.provider));
    return others.toSorted((a, b) => wasAsked(a) - wasAsked(b));
  }

  async #goOn(ways: readonly Candidate<Prepared>[]): Promise<Prepared | undefined> {
    const chosen = await this.#choose(ways);
    if (typeof chosen !== "number") return this.#begin(chosen);
    this.#until.signal.throwIfAborted();
    return undefined;
  }

  #begin(chosen: Chosen<Prepared>): Prepared {
    this.#current = chosen;
    this.#tried.push(chosen.candidate);
    this.#calls += 1;
    this.#startedMs = this.#clock.steadyMs();
    return chosen.prepared;
  }

  /** The first of `ways` that can be taken now, or for how long none can. */
  async #choose(ways: readonly Candidate<Prepared>[]): Promise<Chosen<Prepared> | number> {
    let waitMs = Infinity;
    for (const candidate of this.#surestFirst(ways)) {
      const { key, bounds, failsAsAsked } = candidate.way;
      const place = failsAsAsked ? NO_PLACE : this.#routing.health.admit(key, bounds);
      if ("waitMs" in place) {
        waitMs = Math.min(waitMs, place.waitMs);
        if (place.isOperators !== true) this.#mayServeIn(place.waitMs);
        continue;
      }
      let isTaken = false;
      try {
        const preparing = candidate.prepare();
        const prepared = preparing instanceof Promise ? await preparing : preparing;
        // The client may have left, or its time may be over, while it was prepared: then no call is made.
        if (this.#hasEnded || this.#until.signal.aborted) break;
        isTaken = prepared !== undefined;
        if (prepared !== undefined) {
          this.#place = place;
          return { prepared: this.#unsignedNow(prepared), candidate };
        }
        this.#tried.push(candidate);
      } finally {
        if (!isTaken) place.end(NOT_MADE);
      }
    }
    return waitMs;
  }

  /**
   * In their order while a retry is left. Without one a failure would be the request's. Then ways by which the last
   * call failed, half-open breakers among them, come behind all others, and are tried once the budget has grown.
   */
  #surestFirst(ways: readonly Candidate<Prepared>[]): readonly Candidate<Prepared>[] {
    const { budget, health } = this.#routing;
    if (ways.length <= 1 || budget.affords()) return ways;
    const hasFailed = ({ way }: Candidate<Prepared>): boolean => health.look(way.key).failures > 0;
    return [...ways.filter((each) => !hasFailed(each)), ...ways.filter(hasFailed)];
  }

  #unsignedNow(prepared: Prepared): Prepared {
    return (this.#isUnsigned ? prepared.unsigned?.() : undefined) ?? prepared;
  }
}

function isSameCredential(one: WayKey, other: WayKey): boolean {
  return one.provider === other.provider && one.credential === other.credential;
}

/** What differs of two ways, the largest. */
function stepTo(to: CalledWay, from: CalledWay): RetryStep {
  if (to.key.model !== from.key.model) return "model";
  if (to.route !== from.route) return "route";
  return to.key.credential === from.key.credential ? "same" : "credential";
}

/** Whether the failure lasts until the operator mends it, and no provider can have begun. */
function isOperators({ passes, where }: Retry): boolean {
  return !passes && where !== "nowhere";
}

/** Before the first call. */
const ALWAYS: Until = { signal: new AbortController().signal, lateMs: Infinity };
const NO_PLACE: Place = { answered() {}, end() {} };
const GOOD = { kind: "ok" } as const;
const NEUTRAL = { kind: "neutral" } as const;
const NOT_MADE = { kind: "not_made" } as const;

/** Every way has an open breaker, waits, or has as many calls as it may. */
function noWay(waitMs: number, cause?: Error): GatewayError {
  const retryAfterSec = Math.min(60, Math.max(1, Math.ceil(waitMs / 1_000)));
  const sentence = "Every provider of this model fails or is at its limits now. Try again shortly.";
  return new GatewayError("overloaded_error", sentence, { retryAfterSec, cause });
}
