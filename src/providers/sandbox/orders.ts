import { Refusal } from "./ask.ts";

/** The request header by which an answer of the sandbox is ordered: `fail=overloaded; delay_ms=200; tokens=50; speed=20`. */
export const ORDERS_HEADER = "x-sandbox";

const FAILURES = ["rate_limit", "overloaded", "moderation", "timeout", "reset_mid_stream"] as const;

/** What the header orders. */
export interface Orders {
  readonly fail?: (typeof FAILURES)[number];
  /** Before the answer begins, in milliseconds. */
  readonly delayMs: number;
  /** How long the answer's text shall be, in tokens. */
  readonly tokens?: number;
  /** Tokens a second in a stream; absent: as fast as they are taken. */
  readonly speed?: number;
}

/** Numbers by key: the least and the most. */
const NUMBERS: Readonly<Record<string, readonly [number, number]>> = {
  delay_ms: [0, 600_000],
  tokens: [1, 100_000],
  speed: [0.1, 1_000_000],
};

/** Reads the header. Throws a 400 that names it for what it does not know. */
export function readOrders(header: string | undefined): Orders {
  const said = new Map<string, string>();
  for (const item of (header ?? "").split(/[;,]/)) {
    if (item.trim() === "") continue;
    const [key = "", value = "", ...more] = item.split("=").map((word) => word.trim());
    if (key !== "fail" && !Object.hasOwn(NUMBERS, key))
      throw wrong(`${printable(key)} is no key of it; it knows fail, ${Object.keys(NUMBERS).join(", ")}`);
    if (said.has(key)) throw wrong(`${key} stands in it twice`);
    if (more.length > 0) throw wrong(`${key} has more than one =`);
    said.set(key, value);
  }
  const fail = said.get("fail");
  const failure = FAILURES.find((name) => name === fail);
  if (fail !== undefined && failure === undefined)
    throw wrong(`fail must be one of ${FAILURES.join(", ")}, not ${printable(fail)}`);
  const tokens = readNumber(said, "tokens");
  const speed = readNumber(said, "speed");
  return {
    ...(failure === undefined ? {} : { fail: failure }),
    delayMs: readNumber(said, "delay_ms") ?? 0,
    ...(tokens === undefined ? {} : { tokens: Math.round(tokens) }),
    ...(speed === undefined ? {} : { speed }),
  };
}

function readNumber(said: ReadonlyMap<string, string>, key: string): number | undefined {
  const text = said.get(key);
  if (text === undefined) return undefined;
  const [least, most] = NUMBERS[key] ?? [0, 0];
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
