import type { Random } from "../../core/random.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { WindowEntry } from "../../limits/window.ts";
import { type CallBounds, createCallUse, NO_BOUNDS } from "./bounds.ts";
import { createBreaker } from "./breaker.ts";
import { type CallResult, endOf, type FailedCall, type GoodCall } from "./call-result.ts";
import { createLatency } from "./latency.ts";
import { createPause, type PauseLengths } from "./pause.ts";
import type { RoutingSettings } from "./settings.ts";
import { type CredentialKey, routeOf, serviceOf, type WayKey } from "./way-key.ts";
import type { LastFailure, State, WaySnapshot } from "./way-snapshot.ts";

/** A call's place. */
export interface Place {
  /**
   * The first content of a stream has come, or a plain answer whole, so many milliseconds after the call. The place stays
   * taken until its end.
   */
  answered(tookMs: number, isPlain?: boolean): void;
  /** The call has ended. Only the first call has an effect. */
  end(result: CallResult): void;
}

/** No call can be made now. */
export interface Refused {
  readonly waitMs: number;
  /** It is for a reason that only the operator can mend. */
  readonly isOperators?: true;
}

/** How a way stands, for choosing among several. */
export interface Standing {
  readonly state: State;
  /** How long until a call may be tried; 0 is now, and of a half-open breaker too. */
  readonly waitMs: number;
  /** Of the credential, in a row. */
  readonly failures: number;
  /** Of late, until a stream's first content, or until an image or a video was made; `undefined` without a recent one. */
  readonly latencyMs: number | undefined;
  /** Of late, until a plain answer was read whole. */
  readonly plainMs: number | undefined;
  /** Calls with the credential. */
  readonly underWay: number;
  /** Larger for a credential that was used later; 0 for one that never was. */
  readonly lastUse: number;
}

/** How routes and credentials fare: of this process, learned from its calls. */
export interface Health {
  /**
   * Takes a place for one call, or tells how long to wait. `anyway`: whatever its calls have met, so that `bounds` alone
   * keep it back.
   */
  admit(way: WayKey, bounds: CallBounds, anyway?: boolean): Place | Refused;
  /** `bounds` of the credential count as far as they are given. */
  look(way: WayKey, bounds?: CallBounds): Standing;
  /** An image or a video was made, so many milliseconds after the call that began it. */
  made(way: WayKey, tookMs: number): void;
  /**
   * How long until a probe of a credential is due. It is due when nothing is under way by the credential and nothing
   * was for `quietMs`. At 0 it begins, and no other does until `probed`. It takes no place from calls.
   */
  probe(credential: CredentialKey, quietMs: number): number;
  /** The probe has ended. `ok` says that the provider is there, and knows the credential. */
  probed(credential: CredentialKey, result: CallResult): void;
  /** All ways of the current offer. */
  snapshot(): WaySnapshot[];
  /** Forgets what the current offer has no more. */
  retain(): void;
}

export interface HealthParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Those in force: they are read at each use. */
  settings(): Pick<RoutingSettings, "breakerFailures" | "breakerMs">;
  ways(): Iterable<WayKey>;
}

/** Where the provider limits the rate or refuses a model by one credential, and names no pause. */
const COOLING: PauseLengths = { firstMs: 1_000, mostMs: 60_000 };

/** Where a provider does not know a model. */
const UNKNOWN_MODEL: PauseLengths = { firstMs: 60_000, mostMs: 600_000 };

/** Reasons of failures that last until the operator does something. */
const OPERATORS: ReadonlySet<string> = new Set(
  "credential_refused access_refused model_unknown untrusted redirected".split(" "),
);

/** A model at a provider, by one name. */
class RouteHealth {
  readonly pause = createPause();
  readonly latency = createLatency();
  /** A plain answer takes as long as a whole stream: one figure of both would compare routes by their mix of requests. */
  readonly plain = createLatency();
}

/** A credential of a provider. */
class CredentialHealth {
  readonly breaker = createBreaker();
  /** Why the last call failed that its breaker counts. */
  lastReason = "";
  readonly use = createCallUse();
  lastUse = 0;
  /** The end of its last call or probe; at first, when it was first looked at. */
  quietSinceMs: number;
  /** `Breaker.count` at the start of the probe that is under way. */
  probeBegan: number | undefined;
  /** Of a probe. */
  lastFailure: LastFailure | null = null;
  readonly ways = new Map<string, WayHealth>();

  constructor(nowMs: number) {
    this.quietSinceMs = nowMs;
  }
}

/** A route by a credential. Vendors limit the rate of each model apart, so a pause is the model's alone. */
class WayHealth {
  readonly credential: CredentialHealth;
  readonly route: RouteHealth;
  readonly pause = createPause();
  calls = 0;
  failed = 0;
  lastFailure: LastFailure | null = null;

  constructor(credential: CredentialHealth, route: RouteHealth) {
    this.credential = credential;
    this.route = route;
  }

  pausedUntilMs(): number {
    return Math.max(this.pause.untilMs, this.route.pause.untilMs);
  }

  waitMs(nowMs: number): number {
    return Math.max(this.credential.breaker.waitMs(nowMs), this.pausedUntilMs() - nowMs, 0);
  }

  /** Whether it is left alone for a reason that only the operator can mend. */
  isOperators(nowMs: number): boolean {
    const { breaker, lastReason } = this.credential;
    if (breaker.waitMs(nowMs) > 0) return OPERATORS.has(lastReason);
    if (this.route.pause.untilMs > nowMs) return true;
    return this.pause.untilMs > nowMs && OPERATORS.has(this.lastFailure?.reason ?? "");
  }

  state(nowMs: number): State {
    if (this.credential.breaker.isOpen) return "open";
    return this.pausedUntilMs() > nowMs ? "cooling" : "healthy";
  }
}

/** By names within a service: two providers may read the same variable. */
class ServiceHealth {
  readonly credentials = new Map<string, CredentialHealth>();
  readonly routes = new Map<string, RouteHealth>();
}

/** The health of this process, of which nothing is known yet. */
export function createHealth(parts: HealthParts): Health {
  return new ProcessHealth(parts);
}

class ProcessHealth implements Health {
  readonly #parts: HealthParts;
  readonly #services = new Map<string, ServiceHealth>();
  #uses = 0;

  constructor(parts: HealthParts) {
    this.#parts = parts;
  }

  admit(key: WayKey, bounds: CallBounds, anyway = false): Place | Refused {
    const nowMs = this.#parts.clock.steadyMs();
    const way = this.#way(key);
    const { credential } = way;
    const waitMs = Math.max(anyway ? 0 : this.#waitMs(way, nowMs), credential.use.waitMs(nowMs, bounds));
    if (waitMs > 0) return { waitMs, ...(way.isOperators(nowMs) ? { isOperators: true } : {}) };
    const counted = credential.use.begin(nowMs, bounds);
    credential.lastUse = this.#uses += 1;
    way.calls += 1;
    return new OpenPlace(this.#parts, way, counted);
  }

  look(key: WayKey, bounds: CallBounds = NO_BOUNDS): Standing {
    const nowMs = this.#parts.clock.steadyMs();
    const way = this.#way(key);
    const { use, lastUse, breaker } = way.credential;
    return {
      state: this.#isHeeded() ? way.state(nowMs) : "healthy",
      waitMs: Math.max(this.#waitMs(way, nowMs), use.waitMs(nowMs, bounds)),
      failures: this.#isHeeded() ? breaker.failures : 0,
      latencyMs: way.route.latency.ofLateMs(nowMs),
      plainMs: way.route.plain.ofLateMs(nowMs),
      underWay: use.underWay,
      lastUse,
    };
  }

  made(key: WayKey, tookMs: number): void {
    this.#way(key).route.latency.sample(this.#parts.clock.steadyMs(), tookMs);
  }

  probe(key: CredentialKey, quietMs: number): number {
    const credential = this.#credential(key);
    if (credential.use.underWay > 0 || credential.probeBegan !== undefined) return quietMs;
    const waitMs = Math.max(0, credential.quietSinceMs + quietMs - this.#parts.clock.steadyMs());
    if (waitMs === 0) credential.probeBegan = credential.breaker.count;
    return waitMs;
  }

  probed(key: CredentialKey, result: CallResult): void {
    const { clock, random, settings } = this.#parts;
    const credential = this.#credential(key);
    const { probeBegan, breaker } = credential;
    if (probeBegan === undefined) return;
    const nowMs = clock.steadyMs();
    credential.probeBegan = undefined;
    credential.quietSinceMs = nowMs;
    const end = endOf(result);
    breaker.end(probeBegan, end === "ok" ? "found" : end, nowMs, { settings: settings(), random });
    if (result.kind !== "failed" || end === "neutral") return;
    credential.lastReason = result.reason;
    credential.lastFailure = { reason: result.reason, status: result.status ?? null, atMs: clock.nowMs() };
  }

  snapshot(): WaySnapshot[] {
    return [...this.#parts.ways()].map((key) => this.#snapshotOf(key));
  }

  #snapshotOf(key: WayKey): WaySnapshot {
    const { clock } = this.#parts;
    const nowMs = clock.steadyMs();
    const aheadMs = nowMs - clock.nowMs();
    const way = this.#way(key);
    const { breaker } = way.credential;
    const untilMs = Math.max(breaker.isOpen ? breaker.untilMs : 0, way.pausedUntilMs());
    return {
      ...key,
      state: this.#isHeeded() ? way.state(nowMs) : "healthy",
      untilMs: this.#isHeeded() && untilMs > nowMs ? untilMs - aheadMs : null,
      failures: breaker.failures,
      latencyMs: rounded(way.route.latency.ofLateMs(nowMs)),
      plainMs: rounded(way.route.plain.ofLateMs(nowMs)),
      calls: way.calls,
      failed: way.failed,
      lastFailure: later(way.lastFailure, way.credential.lastFailure),
    };
  }

  retain(): void {
    const ways = Map.groupBy(this.#parts.ways(), serviceOf);
    for (const [name, { credentials, routes }] of this.#services) {
      const kept = ways.get(name);
      if (kept === undefined) {
        this.#services.delete(name);
        continue;
      }
      const names = new Set(kept.map(routeOf));
      keepOnly(routes, names);
      keepOnly(credentials, new Set(kept.map(({ credential }) => credential)));
      for (const credential of credentials.values()) keepOnly(credential.ways, names);
    }
  }

  /** Whether failures keep calls from a way: the operator may not want that. */
  #isHeeded(): boolean {
    return this.#parts.settings().breakerFailures > 0;
  }

  #waitMs(way: WayHealth, nowMs: number): number {
    return this.#isHeeded() ? way.waitMs(nowMs) : 0;
  }

  #way(key: WayKey): WayHealth {
    const name = routeOf(key);
    const service = this.#service(serviceOf(key));
    const way = service.credentials.get(key.credential)?.ways.get(name);
    if (way !== undefined) return way;
    const { routes } = service;
    const credential = this.#credential(key);
    const route = routes.get(name) ?? newEntry(routes, name, new RouteHealth());
    return newEntry(credential.ways, name, new WayHealth(credential, route));
  }

  #service(name: string): ServiceHealth {
    return this.#services.get(name) ?? newEntry(this.#services, name, new ServiceHealth());
  }

  #credential(key: CredentialKey): CredentialHealth {
    const { credentials } = this.#service(serviceOf(key));
    const nowMs = this.#parts.clock.steadyMs();
    return (
      credentials.get(key.credential) ?? newEntry(credentials, key.credential, new CredentialHealth(nowMs))
    );
  }
}

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms);
}

function later(a: LastFailure | null, b: LastFailure | null): LastFailure | null {
  return a === null || (b !== null && b.atMs > a.atMs) ? b : a;
}

function newEntry<T>(map: Map<string, T>, name: string, value: T): T {
  map.set(name, value);
  return value;
}

function keepOnly(map: Map<string, unknown>, names: ReadonlySet<string>): void {
  for (const name of map.keys()) if (!names.has(name)) map.delete(name);
}

/** A class, since one is made for each call: its functions are not. */
class OpenPlace implements Place {
  readonly #parts: HealthParts;
  readonly #way: WayHealth;
  /** See `CallUse.begin`. */
  readonly #counted: WindowEntry | undefined;
  /** What began before a pause neither makes the next one longer nor shows that the last one helped. */
  readonly #began: number;
  readonly #wayBegan: number;
  readonly #routeBegan: number;
  #hasAnswer = false;
  #hasEnded = false;

  constructor(parts: HealthParts, way: WayHealth, counted: WindowEntry | undefined) {
    this.#parts = parts;
    this.#way = way;
    this.#counted = counted;
    this.#began = way.credential.breaker.begin(parts.clock.steadyMs());
    this.#wayBegan = way.pause.count;
    this.#routeBegan = way.route.pause.count;
  }

  answered(tookMs: number, isPlain = false): void {
    if (this.#hasAnswer || this.#hasEnded) return;
    this.#hasAnswer = true;
    this.#learn({ kind: "ok", tookMs, isPlain });
  }

  end(result: CallResult): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { use } = this.#way.credential;
    if (result.kind === "not_made") {
      this.#way.calls -= 1;
      use.cancel(this.#counted);
    } else {
      use.end();
      this.#way.credential.quietSinceMs = this.#parts.clock.steadyMs();
    }
    if (!this.#hasAnswer || result.kind === "failed") this.#learn(result);
  }

  #learn(result: CallResult): void {
    const { clock, random, settings } = this.#parts;
    const nowMs = clock.steadyMs();
    const { breaker } = this.#way.credential;
    breaker.end(this.#began, endOf(result), nowMs, { settings: settings(), random });
    if (result.kind === "ok") this.#succeeded(nowMs, result);
    if (result.kind === "failed") this.#failed(nowMs, result);
  }

  #succeeded(nowMs: number, { tookMs, isPlain }: GoodCall): void {
    const { pause, route } = this.#way;
    if (tookMs !== undefined) (isPlain === true ? route.plain : route.latency).sample(nowMs, tookMs);
    if (this.#wayBegan === pause.count) pause.reset();
    if (this.#routeBegan === route.pause.count) route.pause.reset();
  }

  #failed(nowMs: number, { blame, reason, status, retryAfterMs, cools }: FailedCall): void {
    const way = this.#way;
    const { clock, random } = this.#parts;
    way.failed += 1;
    way.lastFailure = { reason, status: status ?? null, atMs: clock.nowMs() };
    if (blame === "credential" && cools !== true) way.credential.lastReason = reason;
    if (blame === "route") {
      const { pause } = way.route;
      if (this.#routeBegan === pause.count) pause.begin(nowMs, UNKNOWN_MODEL, random);
    } else if (retryAfterMs !== undefined) {
      way.pause.atLeast(nowMs, retryAfterMs);
    } else if (cools === true && this.#wayBegan === way.pause.count) {
      way.pause.begin(nowMs, COOLING, random);
    }
  }
}
