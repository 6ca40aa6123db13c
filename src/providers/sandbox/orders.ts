import { Refusal } from "./ask.ts";

/** The request header by which an answer of the sandbox is ordered: `fail=overloaded; delay_ms=200; tokens=50; speed=20`. */
export const ORDERS_HEADER = "x-sandbox";

/** What is ordered of: text and the like, or a task. */
export type OrderedKind = "language" | "image" | "video";

const FAILURES = {
  language: ["rate_limit", "overloaded", "moderation", "timeout", "reset_mid_stream"],
  // A video's creation is never answered with a 429.
  image: ["rate_limit", "overloaded", "moderation", "timeout", "failed", "partial", "vanish"],
  video: ["overloaded", "moderation", "timeout", "failed", "vanish"],
} as const satisfies Record<OrderedKind, readonly string[]>;

type Failure<Kind extends OrderedKind> = (typeof FAILURES)[Kind][number];

/** Numbers by key: the least and the most, and of whom they can be ordered. */
const NUMBERS: Readonly<
  Record<string, { readonly range: readonly [number, number]; readonly of: readonly OrderedKind[] }>
> = {
  delay_ms: { range: [0, 600_000], of: ["language", "image", "video"] },
  tokens: { range: [1, 100_000], of: ["language"] },
  speed: { range: [0.1, 1_000_000], of: ["language"] },
  pending_ms: { range: [0, 3_600_000], of: ["image", "video"] },
  running_ms: { range: [0, 3_600_000], of: ["image", "video"] },
  images: { range: [0, 4], of: ["image"] },
};

/** What the header orders of an answer. */
export interface Orders {
  readonly fail?: Failure<"language">;
  /** Before the answer begins, in milliseconds. */
  readonly delayMs: number;
  /** How long the answer's text shall be, in tokens. */
  readonly tokens?: number;
  /** Tokens a second in a stream; absent: as fast as they are taken. */
  readonly speed?: number;
}

/** What the header orders of a task. */
export interface TaskOrders {
  readonly fail?: Failure<"image" | "video">;
  /** Before it is said that the work has begun, in milliseconds. */
  readonly delayMs: number;
  /** How long it waits before it is begun. */
  readonly pendingMs?: number;
  /** How long the work takes. */
  readonly runningMs?: number;
  /** How many images come of a failure that is `partial`. */
  readonly images?: number;
}

/** Reads the header of a request for text. Throws a 400 that names it for what it does not know. */
export function readOrders(header: string | undefined): Orders {
  const said = readItems(header, "language");
  const tokens = readNumber(said, "tokens");
  const speed = readNumber(said, "speed");
  return {
    ...readFailure(said, "language"),
    delayMs: readNumber(said, "delay_ms") ?? 0,
    ...(tokens === undefined ? {} : { tokens: Math.round(tokens) }),
    ...(speed === undefined ? {} : { speed }),
  };
}

/** The same for a task. */
export function readTaskOrders(header: string | undefined, kind: "image" | "video"): TaskOrders {
  const said = readItems(header, kind);
  const failure = readFailure(said, kind);
  const pendingMs = readNumber(said, "pending_ms");
  const runningMs = readNumber(said, "running_ms");
  const images = readNumber(said, "images");
  if (images !== undefined && failure.fail !== "partial") throw wrong("images is said without fail=partial");
  return {
    ...failure,
    delayMs: readNumber(said, "delay_ms") ?? 0,
    ...(pendingMs === undefined ? {} : { pendingMs: Math.round(pendingMs) }),
    ...(runningMs === undefined ? {} : { runningMs: Math.round(runningMs) }),
    ...(images === undefined ? {} : { images: Math.floor(images) }),
  };
}

function readItems(header: string | undefined, kind: OrderedKind): ReadonlyMap<string, string> {
  const known = Object.keys(NUMBERS).filter((key) => NUMBERS[key]?.of.includes(kind) === true);
  const said = new Map<string, string>();
  for (const item of (header ?? "").split(/[;,]/)) {
    if (item.trim() === "") continue;
    const [key = "", value = "", ...more] = item.split("=").map((word) => word.trim());
    if (key !== "fail" && !known.includes(key))
      throw wrong(`${printable(key)} is no key of it${ofKind(kind)}; it knows fail, ${known.join(", ")}`);
    if (said.has(key)) throw wrong(`${key} stands in it twice`);
    if (more.length > 0) throw wrong(`${key} has more than one =`);
    said.set(key, value);
  }
  return said;
}

function readFailure<Kind extends OrderedKind>(
  said: ReadonlyMap<string, string>,
  kind: Kind,
): { readonly fail?: Failure<Kind> } {
  const fail = said.get("fail");
  if (fail === undefined) return {};
  const failures: readonly Failure<Kind>[] = FAILURES[kind];
  const failure = failures.find((name) => name === fail);
  if (failure === undefined)
    throw wrong(`fail must be one of ${failures.join(", ")}${ofKind(kind)}, not ${printable(fail)}`);
  return { fail: failure };
}

function ofKind(kind: OrderedKind): string {
  return kind === "language" ? "" : ` for ${kind}s`;
}

function readNumber(said: ReadonlyMap<string, string>, key: string): number | undefined {
  const text = said.get(key);
  if (text === undefined) return undefined;
  const [least, most] = NUMBERS[key]?.range ?? [0, 0];
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw wrong(`${key} must be a number from ${least} to ${most}`);
}

function wrong(problem: string): Refusal {
  return new Refusal(400, "invalid", `The header ${ORDERS_HEADER} is not valid: ${problem}.`, ORDERS_HEADER);
}

function printable(word: string): string {
  return JSON.stringify(word.replace(/[^\x20-\x7e]/g, "?").slice(0, 40));
}
