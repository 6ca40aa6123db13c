import { GatewayError } from "../../core/errors.ts";
import type { Clock, Timer } from "../../core/time/clock.ts";
import { readRefusal } from "../../protocols/refusal.ts";
import { permitList } from "../../providers/permits.ts";
import type { Provider, SpokenProtocol } from "../../providers/provider.ts";
import { callUpstream, type UpstreamAnswer } from "../../providers/upstream.ts";
import type { CallResult } from "./call-result.ts";
import { type Answered, isGoodStatus, readFailure, retryOf } from "./retry.ts";
import type { Routing } from "./routing.ts";

/** Asks providers that have no traffic whether they are there, where the operator has turned that on. */
export interface Prober {
  /** Begins, or goes on by settings that have changed. */
  start(): void;
  /** Probes no more; those under way are let go of. */
  close(): void;
}

/** What probes are made with. */
export interface ProberParts {
  readonly clock: Clock;
  readonly routing: Pick<Routing, "health" | "settings" | "random">;
  /** Those that can be called now. */
  providers(): ReadonlyMap<string, Provider>;
}

/** A prober that has not begun. */
export function createProber(parts: ProberParts): Prober {
  return new OpenProber(parts);
}

/** How long a provider may take to answer. */
const MOST_MS = 5_000;

/** A list that needs more is not read to its end. */
const MOST_BYTES = 64 * 1024;

class OpenProber implements Prober {
  readonly #parts: ProberParts;
  readonly #probes = new Set<AbortController>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, routing, providers } = this.#parts;
    const { probeMs } = routing.settings();
    this.#timer?.cancel();
    if (probeMs === undefined || this.#isClosed) return;
    let nextMs = probeMs;
    for (const { provider, credential, spoken } of probed(providers())) {
      const waitMs = routing.health.probe({ provider: provider.id, credential }, probeMs);
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      else void this.#probe({ provider, credential, spoken });
    }
    this.#timer = clock.setTimer(nextMs, () => this.start());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    for (const probe of this.#probes) probe.abort(new Error("The gateway is shutting down."));
  }

  async #probe({ provider, credential, spoken }: Probed): Promise<void> {
    const { clock, routing } = this.#parts;
    const controller = new AbortController();
    this.#probes.add(controller);
    const late = new GatewayError("timeout_error", "The provider did not answer a probe in time.");
    const timer = clock.setTimer(MOST_MS, () => controller.abort(late));
    const result = await this.#ask(provider, spoken, controller.signal);
    timer.cancel();
    this.#probes.delete(controller);
    // What has not been read of an answer is not waited for.
    controller.abort();
    routing.health.probed({ provider: provider.id, credential }, result);
  }

  async #ask(provider: Provider, spoken: SpokenProtocol, signal: AbortSignal): Promise<CallResult> {
    const { routing, clock } = this.#parts;
    const { permit, path } = permitList(spoken.id);
    let answered: Answered | undefined;
    try {
      const call = { provider: spoken, method: "GET", path, headers: {}, stream: false, signal } as const;
      const answer = await callUpstream(permit, call);
      const { status, retryAfter } = answer;
      answered = { status, stream: false };
      if (isGoodStatus(status)) return { kind: "ok" };
      if (NO_LIST.has(status)) return { kind: "neutral" };
      if (status < 400) throw new GatewayError("upstream_error", "The provider sends a probe elsewhere.");
      const body = await answer.readAll(MOST_BYTES);
      if (MAY_NOT_LIST.test(new TextDecoder().decode(body)) && isForbidden(answer))
        return { kind: "neutral" };
      throw readRefusal({ status, body, retryAfter }, contextOf(provider, clock));
    } catch (error) {
      const { unsafeRetries } = routing.settings();
      return retryOf(readFailure(error, answered), { unsafeRetries, retries: 0, random: routing.random })
        .result;
    }
  }
}

/** Of a server that is there, and lists no models. */
const NO_LIST: ReadonlySet<number> = new Set([404, 405, 501]);

/**
 * A credential that may ask models and not list them. OpenAI says so with a 401 ("Missing scopes: api.model.read"),
 * Anthropic with a 403 (`permission_error`).
 */
const MAY_NOT_LIST = /\bscopes?\b|permission/i;

function isForbidden({ status }: UpstreamAnswer): boolean {
  return status === 401 || status === 403;
}

/** A credential that can be probed. */
interface Probed {
  readonly provider: Provider;
  readonly credential: string;
  readonly spoken: SpokenProtocol;
}

/** Each credential of each provider, in the format that it prefers. The sandbox is part of this process. */
function* probed(providers: ReadonlyMap<string, Provider>): Iterable<Probed> {
  for (const provider of providers.values())
    for (const { name, protocols } of provider.credentials ?? [{ ...provider, name: "" }]) {
      const [spoken] = protocols;
      if (spoken !== undefined && spoken.transport === undefined)
        yield { provider, credential: name, spoken };
    }
}

/** Nobody is shown the refusal of a probe. */
function contextOf({ secrets }: Provider, clock: Clock) {
  const nowSec = Math.floor(clock.nowMs() / 1_000);
  return {
    model: "",
    native: true,
    padding: [],
    secrets,
    requestId: "",
    nowSec,
    choices: 1,
    expectedInput: 0,
  };
}
