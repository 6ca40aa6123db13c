import { ERRORS } from "../../core/errors.ts";
import type { Counter, Histogram, Registry } from "../../core/metrics/registry.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { PRICE_BUCKETS, TOKEN_BUCKETS, USAGE_FIELDS } from "../../core/money/price.ts";
import type { Usage } from "../../core/money/usage.ts";
import type { Attempt } from "../../ledger/commands.ts";
import type { EndedRun } from "../../tasks/run/run-end.ts";

/** Counts what requests and tasks come to. */
export interface Meter {
  /** Milliseconds and parts of them since some moment. */
  nowMs(): number;
  began(): void;
  /** A request is sent again after the provider failed, for a reason of a short list. */
  retried(provider: string, reason: string, to: RetryStep): void;
  ended(request: CountedRequest): void;
  /** A run of a task has ended. */
  taskRun(run: EndedRun): void;
}

/** What differs of the way of the next attempt: nothing, the credential, the route of the model, the model. */
export type RetryStep = "same" | "credential" | "route" | "model";

/** A request that has ended. */
export interface CountedRequest {
  /** The path of its route, as the table has it; absent where there is none. */
  readonly endpoint: string | undefined;
  readonly model: string | undefined;
  /** The model that was asked for, where another may serve in its place. */
  readonly asked?: string | undefined;
  readonly provider: string | undefined;
  readonly outcome: string;
  readonly durationMs: number;
  /** The part of it in which neither its client's body nor a provider was waited for; absent where none was called. */
  readonly ownMs: number | undefined;
  /** From its beginning until the first content of its streamed answer had come. */
  readonly firstContentMs: number | undefined;
  readonly attempts: readonly Pick<Attempt, "provider" | "status">[];
  readonly spent: Spent | undefined;
}

/** What was used, what was charged for it, and by which rates: see `Charge`. */
export interface Spent {
  readonly usage: Usage;
  readonly charge: MicroCredits;
  readonly rates: readonly number[];
}

/** What a meter is made of. */
export interface MeterParts {
  readonly registry: Registry;
  readonly nowMs: () => number;
  /** The paths of the route table, each with what it is called in a label. */
  readonly endpoints: ReadonlyMap<string, string>;
  /** Whether there is a model of that id. */
  readonly isModel: (id: string) => boolean;
  /** The id of the provider that routes, or rows of the books, have under that name. */
  readonly providerId: (name: string) => string | undefined;
}

/** The label of a request that names no model, or was meant for no provider. */
const NONE = "none";

/** The label of whatever is not known: paths, names. */
const OTHER = "other";

/** Every outcome that is counted by itself. */
const OUTCOMES: ReadonlySet<string> = new Set([
  "completed",
  "client_gone",
  "cancelled",
  "generation_error",
  ...Object.keys(ERRORS),
]);

/** Statuses of providers that are counted by themselves. */
const STATUSES: ReadonlySet<number> = new Set([
  200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524,
  525, 526, 529, 530,
]);

const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const FIRST_TOKENS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60];
const OVERHEADS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** The series of requests and tasks. Those that a request counts in are looked up by what it is, and made once. */
export function createMeter(parts: MeterParts): Meter {
  return new RequestMeter(parts);
}

type Families = ReturnType<typeof familiesIn>;

function familiesIn(registry: Registry) {
  const served = ["model", "provider"];
  return {
    requests: registry.counters({
      name: "switchyard_requests_total",
      help: "Requests that have ended, by the path of their route and how they ended",
      labels: ["endpoint", ...served, "outcome"],
    }),
    durations: registry.histograms(
      {
        name: "switchyard_request_duration_seconds",
        help: "From a request's headers until its answer was handed to the connection",
        labels: ["endpoint"],
      },
      DURATIONS,
    ),
    overheads: registry.histograms(
      {
        name: "switchyard_overhead_seconds",
        help: "Of the duration of a paid request the part in which nobody else was waited for",
        labels: ["endpoint"],
      },
      OVERHEADS,
    ),
    firstTokens: registry.histograms(
      {
        name: "switchyard_time_to_first_token_seconds",
        help: "From a streamed request's headers until the first content of its answer had come",
        labels: served,
      },
      FIRST_TOKENS,
    ),
    tokens: registry.counters({
      name: "switchyard_tokens_total",
      help: "Tokens that were charged for, by the bucket of their price",
      labels: [...served, "bucket"],
    }),
    units: registry.counters({
      name: "switchyard_units_total",
      help: "Images, seconds of video and web searches that were charged for",
      labels: [...served, "unit"],
    }),
    credits: registry.counters(
      {
        name: "switchyard_credits_total",
        help: "Credits that were charged, by the bucket of their price",
        labels: [...served, "bucket"],
      },
      (micro) => creditsText(BigInt(micro)),
    ),
    attempts: registry.counters({
      name: "switchyard_attempts_total",
      help: "Calls to providers for paid requests and tasks, by the status of the answer",
      labels: ["provider", "result"],
    }),
    retries: registry.counters({
      name: "switchyard_retries_total",
      help: "Requests that were sent again, by the provider that failed, why, and to where",
      labels: ["provider", "reason", "to"],
    }),
    fallbacks: registry.counters({
      name: "switchyard_fallbacks_total",
      help: "Requests that another model than the one asked for has served, by both",
      labels: ["asked", "model"],
    }),
    taskRuns: registry.counters({
      name: "switchyard_task_runs_total",
      help: "Runs of tasks in this process, by how they ended",
      labels: ["kind", "end"],
    }),
  };
}

/** A model at a provider. */
class Way {
  readonly #families: Families;
  readonly #labels: readonly [model: string, provider: string];
  /** By price bucket, as `PRICE_BUCKETS` has them. */
  readonly #buckets: Bucket[] = [];
  #firstTokens: Histogram | undefined;

  constructor(families: Families, labels: readonly [string, string]) {
    this.#families = families;
    this.#labels = labels;
  }

  /** Where less was charged than the usage comes to, the first buckets have it. */
  charge({ usage, charge, rates }: Spent): void {
    let left = Number(charge);
    for (let i = 0; i < PRICE_BUCKETS.length; i += 1) {
      const count = usage[FIELDS[i] as keyof Usage] ?? 0;
      if (count === 0) continue;
      const { used, credits } = (this.#buckets[i] ??= this.#bucket(i));
      const part = Math.min(left, count * (rates[i] as number));
      left -= part;
      used.add(count);
      credits.add(part);
    }
  }

  sawFirstToken(seconds: number): void {
    (this.#firstTokens ??= this.#families.firstTokens(...this.#labels)).observe(seconds);
  }

  #bucket(i: number): Bucket {
    const { tokens, units, credits } = this.#families;
    const labels = [...this.#labels, PRICE_BUCKETS[i] as string];
    return { used: (i < TOKEN_BUCKETS.length ? tokens : units)(...labels), credits: credits(...labels) };
  }
}

/** Of a model at a provider what was used in a bucket, and what was charged for it. */
interface Bucket {
  readonly used: Counter;
  readonly credits: Counter;
}

const FIELDS = PRICE_BUCKETS.map((bucket) => USAGE_FIELDS[bucket]);

/** A route of the table. */
class Endpoint {
  readonly #families: Families;
  readonly #path: string;
  readonly #ways = new Map<string, Map<string, Map<string, Counter>>>();
  #durations: Histogram | undefined;
  #overheads: Histogram | undefined;

  constructor(families: Families, path: string) {
    this.#families = families;
    this.#path = path;
  }

  took(durationMs: number, ownMs: number | undefined): void {
    (this.#durations ??= this.#families.durations(this.#path)).observe(durationMs / 1_000);
    if (ownMs === undefined) return;
    (this.#overheads ??= this.#families.overheads(this.#path)).observe(ownMs / 1_000);
  }

  /** The requests of labels that are all known. */
  requests(model: string, provider: string, outcome: string): Counter {
    const outcomes = mapIn(mapIn(this.#ways, model), provider);
    return (
      outcomes.get(outcome) ??
      put(outcomes, outcome, this.#families.requests(this.#path, model, provider, outcome))
    );
  }
}

class RequestMeter implements Meter {
  readonly nowMs: () => number;
  readonly #parts: MeterParts;
  readonly #families: Families;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  readonly #others: Endpoint;
  readonly #ways = new Map<string, Map<string, Way>>();
  /** Ids by names. */
  readonly #providers = new Map<string, string>();
  readonly #attempts = new Map<string, Map<string, Counter>>();
  #underWay = 0;

  constructor(parts: MeterParts) {
    const { registry, endpoints } = parts;
    this.nowMs = parts.nowMs;
    this.#parts = parts;
    this.#families = familiesIn(registry);
    this.#endpoints = new Map(
      [...endpoints].map(([path, shown]) => [path, new Endpoint(this.#families, shown)]),
    );
    this.#others = new Endpoint(this.#families, OTHER);
    registry.readings({
      name: "switchyard_requests_in_flight",
      help: "Requests that have begun and not ended",
      labels: [],
      type: "gauge",
      read: () => [[[], this.#underWay]],
    });
  }

  began(): void {
    this.#underWay += 1;
  }

  ended(request: CountedRequest): void {
    const { durationMs, ownMs, firstContentMs } = request;
    const endpoint = this.#endpoints.get(request.endpoint ?? "") ?? this.#others;
    const model = this.#model(request.model);
    const provider = this.#provider(request.provider);
    const outcome = OUTCOMES.has(request.outcome) ? request.outcome : OTHER;
    this.#underWay -= 1;
    endpoint.requests(model, provider, outcome).add(1);
    endpoint.took(durationMs, ownMs);
    if (firstContentMs !== undefined) this.#way(model, provider).sawFirstToken(firstContentMs / 1_000);
    this.#charge(model, provider, request);
    if (request.asked !== undefined && request.spent !== undefined) this.#served(request.asked, model);
  }

  /** Counts it where that is another model: a caller may name one by two of its names. */
  #served(asked: string, model: string): void {
    const meant = this.#model(asked);
    if (meant !== model) this.#families.fallbacks(meant, model).add(1);
  }

  retried(provider: string, reason: string, to: RetryStep): void {
    this.#families.retries(this.#provider(provider), reason, to).add(1);
  }

  taskRun(run: EndedRun): void {
    this.#families.taskRuns(run.kind, run.end).add(1);
    this.#charge(this.#model(run.model), this.#provider(run.provider), run);
  }

  #charge(model: string, provider: string, { spent, attempts }: CountedRequest | EndedRun): void {
    if (spent !== undefined) this.#way(model, provider).charge(spent);
    for (const { provider: asked, status } of attempts) this.#attempt(this.#provider(asked), status).add(1);
  }

  #attempt(provider: string, status: number | null): Counter {
    const result = resultOf(status);
    const results = mapIn(this.#attempts, provider);
    return results.get(result) ?? put(results, result, this.#families.attempts(provider, result));
  }

  #way(model: string, provider: string): Way {
    const ways = mapIn(this.#ways, model);
    return ways.get(provider) ?? put(ways, provider, new Way(this.#families, [model, provider]));
  }

  #model(id: string | undefined): string {
    if (id === undefined) return NONE;
    return this.#ways.has(id) || this.#parts.isModel(id) ? id : OTHER;
  }

  #provider(name: string | undefined): string {
    if (name === undefined) return NONE;
    const known = this.#providers.get(name);
    if (known !== undefined) return known;
    const id = this.#parts.providerId(name);
    if (id !== undefined) this.#providers.set(name, id);
    return id ?? OTHER;
  }
}

function resultOf(status: number | null): string {
  if (status === null) return "no_answer";
  return STATUSES.has(status) ? String(status) : OTHER;
}

/** The map under that name, made where it is not there. */
function mapIn<Value>(maps: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  return maps.get(name) ?? put(maps, name, new Map<string, Value>());
}

function put<Value>(map: Map<string, Value>, name: string, value: Value): Value {
  map.set(name, value);
  return value;
}
