import { expect } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import type { MediaDouble } from "../upstream/media/media-double.ts";
import { ask, type Asked, balanceOf, ended, isVideo, qwen, told, wan } from "./media-vendors.ts";

// What becomes of images and videos whose first maker is at an address where it is not, or both are.

/** How often faster time runs. */
const TIMES = 20;

/** Where the first maker is said to be, whether the second one is said to be there too, and how often faster time runs. */
interface Where {
  readonly at?: string | undefined;
  readonly isBothAt?: boolean;
  readonly times?: number;
}

/** Each kind of request, and whether its client waits for the result. */
export const MEDIA_KINDS = ["an image", "an image that is waited for", "a video"] as const;

type Kind = (typeof MEDIA_KINDS)[number];

/** How a request ended. */
export interface MediaOutcome {
  readonly kind: Kind;
  /** Of the task, as `told` says it; of a client that waits, the status and the type of an error. */
  readonly said: string;
  readonly credit: number;
  readonly spent: number;
  /** How often the second maker took the work. */
  readonly taken: number;
  /** Of the first route: its state, failures in a row, and why it failed last. */
  readonly state: readonly unknown[];
  /** The providers of its attempts, in their order. */
  readonly attempts: readonly string[];
  /** How long the first attempt had, by the gateway's clock. */
  readonly firstMs: number;
  /** The operator is told that only they can mend it. */
  readonly hasAlarm: boolean;
}

/** Both makers, and a gateway that knows them at their own addresses or elsewhere. */
export interface MediaPlace {
  readonly gateway: TestGateway;
  readonly first: MediaDouble;
  readonly second: MediaDouble;
  outcomeOf(kind: Kind, more?: object): Promise<MediaOutcome>;
  close(): Promise<void>;
}

/** An address in place of the one that a double has, with the same path. */
const moved = (double: MediaDouble, at: string | undefined): MediaDouble =>
  at === undefined ? double : { ...double, baseUrl: at + new URL(double.baseUrl).pathname };

/** Opens it. */
export async function openMediaPlace({
  at,
  isBothAt = false,
  times = TIMES,
}: Where = {}): Promise<MediaPlace> {
  const [first, second] = await Promise.all([
    startDashscopeDouble(UPSTREAM_KEY),
    startFalDouble(UPSTREAM_KEY),
  ]);
  const gateway = await startGateway({
    clock: createFastClock(times),
    environment: {
      ...environmentOf("dashscope", moved(first, at), UPSTREAM_KEY),
      ...environmentOf("fal", moved(second, isBothAt ? at : undefined), UPSTREAM_KEY),
    },
    settings: JSON.stringify({
      outbound: { allowed_hosts: [first, second].map(({ files }) => new URL(files.url).host) },
      tasks: { lease_seconds: 3600 },
      // A busy machine takes a quarter of a second, five of them by this clock, until a large body is on its way.
      ...(at === undefined ? { timeouts: { connect_seconds: 600 } } : {}),
      routing: {},
    }),
  });
  return {
    gateway,
    first,
    second,
    outcomeOf: (kind, more = {}) => outcomeOf({ gateway, second }, kind, more),
    async close() {
      await gateway.close();
      await Promise.all([first.close(), second.close()]);
    },
  };
}

async function outcomeOf(
  { gateway, second }: Pick<MediaPlace, "gateway" | "second">,
  kind: Kind,
  more: object,
): Promise<MediaOutcome> {
  const asked: Asked = { ...(kind === "a video" ? wan : { ...qwen, n: 1 }), ...more };
  const logged = gateway.logs.length;
  const before = await balanceOf(gateway);
  const taken = second.accepted.length;
  const { said, credit } = await (kind.endsWith("waited for")
    ? waited(gateway, asked)
    : done(gateway, asked));
  const spent = Number((before - (await balanceOf(gateway))).toFixed(6));
  const { json } = await gateway.admin("GET", `/requests?account_id=${gateway.accountId}&limit=1`);
  const path = `/routes?provider=${isVideo(asked) && asked.model.includes("seedance") ? "ark" : "dashscope"}`;
  const { json: routes } = await gateway.admin("GET", `${path}&model=${encodeURIComponent(asked.model)}`);
  const [{ state, failures, last_failure: last }] = routes.data;
  const attempts: Json[] = json.data[0].attempts;
  const [one, two] = attempts.map(({ sent_at }) => sent_at as number);
  return {
    kind,
    said,
    credit,
    spent,
    taken: second.accepted.length - taken,
    state: [state, failures, last?.reason ?? null],
    attempts: attempts.map(({ provider }) => provider),
    firstMs: one === undefined || two === undefined ? 0 : Math.round((two - one) * 1_000),
    hasAlarm: gateway.logs.slice(logged).some((line) => line.operator_fault === true),
  };
}

async function done(gateway: TestGateway, asked: Asked) {
  const task = await ended(gateway, asked);
  return { said: told(task).replace(/ [\d.]+$/, ""), credit: (task.credit ?? 0) as number };
}

async function waited(gateway: TestGateway, asked: Asked) {
  const response = await ask(gateway, asked, false);
  const json = (await response.json()) as Json;
  return { said: `${response.status} ${json.error?.type ?? json.data.length}`, credit: json.credit ?? 0 };
}

const PRICES = { "an image": 350, "an image that is waited for": 350, "a video": 5_000 } as const;

/** Made by the second maker, for the model's price. */
export function madeBySecond(kind: Kind): Partial<MediaOutcome> {
  const said = kind === "an image that is waited for" ? "200 1" : "completed 1";
  const price = PRICES[kind];
  return { kind, said, credit: price, spent: price, taken: 1, attempts: ["dashscope", "fal"] };
}

/** As a failure of a type is told: tasks of videos tell no type. */
function failed(kind: Kind, type: string, status: number): string {
  if (kind === "an image that is waited for") return `${status} ${type}`;
  return kind === "a video" ? "failed" : `failed ${type}`;
}

/** Neither maker could be sent it until its time was over, in a pause or while it was sent: it costs nothing. */
export function expectTriedInVain({ said, ...outcome }: MediaOutcome, kind: Kind): void {
  expect([failed(kind, "overloaded_error", 503), failed(kind, "timeout_error", 504)]).toContain(said);
  expect(outcome).toMatchObject({ kind, spent: 0, taken: 0 });
  expect(new Set(outcome.attempts)).toEqual(new Set(["dashscope", "fal"]));
}

/** Neither maker can be trusted: it fails at once, and costs nothing. */
export function refusedByBoth(kind: Kind): Partial<MediaOutcome> {
  const said =
    kind === "an image that is waited for" ? "502 upstream_error" : failed(kind, "generation_error", 502);
  return { kind, said, spent: 0, taken: 0, attempts: ["dashscope", "fal"], hasAlarm: true };
}
