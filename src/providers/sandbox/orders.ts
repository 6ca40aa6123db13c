import { joinBytes } from "../../core/bytes/bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import { type Clock, wait } from "../../core/time/clock.ts";
import { readAnswerJson } from "../../protocols/answer-json.ts";
import { printable } from "../../protocols/printable.ts";
import type { OutboundRequest } from "../../runtime/fetch.ts";
import { Refusal } from "./formats/ask.ts";

/** The request header by which an answer of the sandbox is ordered: `fail=overloaded; delay_ms=200; tokens=50; speed=20`. */
export const ORDERS_HEADER = "x-sandbox";

/** What is ordered of: text and the like, or a task. */
type OrderedKind = "language" | "image" | "video";

const FAILURES = {
  language: ["rate_limit", "overloaded", "moderation", "timeout", "reset_mid_stream"],
  // A video's creation is never answered with a 429.
  image: ["rate_limit", "overloaded", "moderation", "timeout", "failed", "partial", "vanish"],
  video: ["overloaded", "moderation", "timeout", "failed", "vanish"],
} as const satisfies Record<OrderedKind, readonly string[]>;

type Failure<Kind extends OrderedKind> = (typeof FAILURES)[Kind][number];

/** What the header orders of an answer or a task. */
export interface Orders<Kind extends OrderedKind = "language"> {
  readonly fail?: Failure<Kind>;
  /** Before the answer begins, or before it is said that the work has begun. */
  readonly delayMs: number;
  /** How long the answer's text shall be. */
  readonly tokens?: number;
  /** Tokens a second in a stream; absent: as fast as they are taken. */
  readonly speed?: number;
  /** How long a task waits before it is begun. */
  readonly pendingMs?: number;
  /** How long the work takes. */
  readonly runningMs?: number;
  /** How many images come of a failure that is `partial`. */
  readonly images?: number;
}

interface NumberOrder {
  readonly name: Exclude<keyof Orders, "fail">;
  readonly least: number;
  readonly most: number;
  readonly of: readonly OrderedKind[];
  readonly whole?: (value: number) => number;
}

const MEDIA = ["image", "video"] as const;
const HOUR = 3_600_000;

const NUMBERS: Readonly<Record<string, NumberOrder>> = {
  delay_ms: { name: "delayMs", least: 0, most: 600_000, of: ["language", ...MEDIA] },
  tokens: { name: "tokens", least: 1, most: 100_000, of: ["language"], whole: Math.round },
  speed: { name: "speed", least: 0.1, most: 1_000_000, of: ["language"] },
  pending_ms: { name: "pendingMs", least: 0, most: HOUR, of: MEDIA, whole: Math.round },
  running_ms: { name: "runningMs", least: 0, most: HOUR, of: MEDIA, whole: Math.round },
  images: { name: "images", least: 0, most: 4, of: ["image"], whole: Math.floor },
};

/** Reads the header of a request. Throws a 400 that names it for what it does not know. */
export function readOrders<Kind extends OrderedKind>(header: string | undefined, kind: Kind): Orders<Kind> {
  const known = new Map(Object.entries(NUMBERS).filter(([, { of }]) => of.includes(kind)));
  const failures: readonly Failure<Kind>[] = FAILURES[kind];
  const ofKind = kind === "language" ? "" : ` for ${kind}s`;
  const said = new Set<string>();
  const numbers: Partial<Record<NumberOrder["name"], number>> = {};
  let fail: Failure<Kind> | undefined;
  for (const item of (header ?? "").split(/[;,]/)) {
    if (item.trim() === "") continue;
    const [key = "", value = "", ...more] = item.split("=").map((word) => word.trim());
    const order = known.get(key);
    if (key !== "fail" && order === undefined)
      throw wrong(
        `"${printable(key)}" is no key of it${ofKind}; it knows fail, ${[...known.keys()].join(", ")}`,
      );
    if (said.has(key)) throw wrong(`${key} stands in it twice`);
    if (more.length > 0) throw wrong(`${key} has more than one =`);
    said.add(key);
    if (order !== undefined) {
      numbers[order.name] = numberIn(value, key, order);
      continue;
    }
    fail = failures.find((name) => name === value);
    if (fail === undefined)
      throw wrong(`fail must be one of ${failures.join(", ")}${ofKind}, not "${printable(value)}"`);
  }
  if (said.has("images") && fail !== "partial") throw wrong("images is said without fail=partial");
  return { delayMs: 0, ...(fail === undefined ? {} : { fail }), ...numbers };
}

function numberIn(text: string, key: string, { least, most, whole }: NumberOrder): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw wrong(`${key} must be a number from ${least} to ${most}`);
  return whole === undefined ? value : whole(value);
}

function wrong(problem: string): Refusal {
  return new Refusal(400, "invalid", `The header ${ORDERS_HEADER} is not valid: ${problem}.`, ORDERS_HEADER);
}

const REFUSALS: Partial<Record<NonNullable<Orders["fail"]>, ConstructorParameters<typeof Refusal>>> = {
  overloaded: [503, "overloaded", "The sandbox was told to be overloaded."],
  timeout: [504, "timeout", "The sandbox was told not to answer in time."],
  moderation: [400, "moderation", "Output blocked by content filtering policy: the sandbox was told to."],
};

/** Answers a call of a language format as its header orders. `writeRefusal` writes what `answer` refuses. */
export async function answerAsOrdered(
  clock: Clock,
  { headers, signal, body = [] }: OutboundRequest,
  writeRefusal: (refusal: Refusal) => JsonObject,
  answer: (body: JsonObject, orders: Orders) => Response | Promise<Response>,
): Promise<Response> {
  try {
    const orders = readOrders(headers[ORDERS_HEADER], "language");
    const { fail, delayMs } = orders;
    if (delayMs > 0) await wait(clock, delayMs, signal);
    // A provider's own limit reaches clients as an overload; what is tried here is how they take a 429.
    if (fail === "rate_limit") throw rateLimit();
    const ordered = fail === undefined ? undefined : REFUSALS[fail];
    if (ordered !== undefined) throw new Refusal(...ordered);
    return await answer(readAnswerJson(joinBytes(body)).value, orders);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status } = error;
    return Response.json(writeRefusal(error), { status, headers: { "retry-after": "1" } });
  }
}

/** The 429 that was ordered. */
export function rateLimit(headers: Readonly<Record<string, string>> = {}): GatewayError {
  const more = { retryAfterSec: 1, headers };
  return new GatewayError("rate_limit_error", "The sandbox was told to limit the rate.", more);
}
