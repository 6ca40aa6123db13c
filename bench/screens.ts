import type { Gateway } from "./gateway.ts";

/** A read that a screen of the console makes. */
export interface ScreenRead {
  readonly screen: string;
  readonly name: string;
  /** Below /admin/v1. */
  readonly path: string;
  /** How often the screen reads it anew while it is open; absent: once. */
  readonly everyMs?: number;
}

/** What a filled store has that is much used, and what is hardly used. */
export interface StoreFacts {
  readonly nowSec: number;
  readonly busy: Names;
  readonly quiet: Names;
  /** A request that ended. */
  readonly request: string;
  /** A task that ended; absent where there is none. */
  readonly task: string | undefined;
}

interface Names {
  readonly account: string;
  readonly key: string;
  readonly model: string;
  readonly provider: string;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const PAGE = 100;
const LIVE_MS = 5_000;

interface Group {
  readonly group: string | null;
  readonly requests: number;
}

/** Finds what is used the most and the least in a year. */
export async function readFacts({ admin }: Pick<Gateway, "admin">): Promise<StoreFacts> {
  const nowSec = Math.ceil(Date.now() / 60_000) * 60;
  const ends = async (by: string): Promise<readonly [string, string]> => {
    const path = `/usage?from=${nowSec - YEAR}&interval=all&group_by=${by}`;
    const { data } = await admin<{ readonly data: readonly Group[] }>("GET", path);
    const named = data.filter(({ group }) => group !== null).toSorted((a, b) => b.requests - a.requests);
    return [named[0]?.group ?? "", named.at(-1)?.group ?? ""];
  };
  const [accounts, keys] = [await ends("account"), await ends("key")];
  const [models, providers] = [await ends("model"), await ends("provider")];
  const first = async (path: string): Promise<string | undefined> =>
    (await admin<{ readonly data: readonly { readonly id: string }[] }>("GET", path)).data[0]?.id;
  return {
    nowSec,
    busy: { account: accounts[0], key: keys[0], model: models[0], provider: providers[0] },
    quiet: { account: accounts[1], key: keys[1], model: models[1], provider: providers[1] },
    request: (await first("/requests?limit=1")) ?? "",
    task: await first("/tasks?limit=1"),
  };
}

/** What an open overview of a range reads, and how often. */
export function overviewReads(nowSec: number, range: "24h" | "1y"): readonly ScreenRead[] {
  const length = range === "24h" ? DAY : YEAR;
  const step = range === "24h" ? "hour" : "day";
  const chartMs = range === "24h" ? 15_000 : 60_000;
  const stepSec = range === "24h" ? HOUR : DAY;
  const from = startOfHour(nowSec - length);
  const before = startOfHour(from - (nowSec - from));
  const steps = `from=${Math.floor(from / stepSec) * stepSec}&to=${nowSec}`;
  const of = (name: string, path: string, everyMs: number): ScreenRead => ({
    screen: `overview, ${range}`,
    name,
    path,
    everyMs,
  });
  const all = (start: number, end: number) => `/usage?from=${start}&to=${end}&interval=all&group_by=`;
  const totals = "none&figures=requests,failed,input_tokens,output_tokens,credit,latency_ms,first_byte_ms";
  const top = (by: string) => `${all(from, nowSec)}${by}&top=5&figures=credit`;
  const today = Math.floor(nowSec / DAY) * DAY;
  return [
    of("figures", `${all(from, nowSec)}${totals}`, LIVE_MS),
    of("figures of the period before", `${all(before, from)}${totals}`, 60_000),
    of(
      "forecast",
      `/usage?from=${today - 31 * DAY}&to=${today + DAY}&interval=day&group_by=none&figures=credit`,
      15_000,
    ),
    of("charts by model", `/usage?${steps}&interval=${step}&group_by=model&figures=requests,credit`, chartMs),
    of(
      "charts",
      `/usage?${steps}&interval=${step}&group_by=none&figures=failed,latency_ms,first_byte_ms,latency_spread`,
      chartMs,
    ),
    of("refusals by step", `/refusals/counts?${steps}&interval=${step}`, chartMs),
    of("refusals", `/refusals/counts?from=${from}&to=${nowSec}&interval=all`, 15_000),
    of("tasks by state", `/tasks/counts?from=${from}&to=${nowSec}`, 20_000),
    of("top models", top("model"), 15_000),
    of("top accounts", top("account"), 15_000),
    of("top keys", top("key"), 15_000),
    of("status", "/status", LIVE_MS),
    of("routes", "/routes", LIVE_MS),
  ];
}

/** Ranges of the console begin with an hour. */
const startOfHour = (sec: number): number => Math.floor(sec / HOUR) * HOUR;

/** What an open list of tasks reads, and how often. */
export function taskReads(nowSec: number): readonly ScreenRead[] {
  const path = `/tasks?from=${startOfHour(nowSec - DAY)}&limit=${PAGE}`;
  return [{ screen: "tasks", name: "24 h", path, everyMs: 3_000 }];
}

/** Every kind of read that the screens make, each of a store's busiest and quietest names. */
export function screenReads({ nowSec, busy, quiet, request, task }: StoreFacts): readonly ScreenRead[] {
  const on = (screen: string, reads: Readonly<Record<string, string>>): readonly ScreenRead[] =>
    Object.entries(reads).map(([name, path]) => ({ screen, name, path }));
  const from = (seconds: number): string => `from=${startOfHour(nowSec - seconds)}`;
  const list = (what: string, query: string): string => `/${what}?${query}&limit=${PAGE}`;
  const year = from(YEAR);
  const longAgo = `from=${nowSec - 300 * DAY}&to=${nowSec - 299 * DAY}`;
  const requests = (query: string): string => list("requests", query);
  const tasks = (query: string): string => list("tasks", query);
  const ofKey = `&key_id=${busy.key}`;
  return [
    ...overviewReads(nowSec, "24h"),
    ...overviewReads(nowSec, "1y"),
    ...on("requests", {
      "24 h": requests(from(DAY)),
      "a day of 300 days ago": requests(longAgo),
      "the same of a busy key": requests(`${longAgo}&key_id=${busy.key}`),
      "the same of a quiet model": requests(`${longAgo}&model=${quiet.model}`),
      "year, quiet account": requests(`${year}&account_id=${quiet.account}`),
      "year, quiet key": requests(`${year}&key_id=${quiet.key}`),
      "year, quiet model": requests(`${year}&model=${quiet.model}`),
      "year, busy model": requests(`${year}&model=${busy.model}`),
      "year, quiet provider": requests(`${year}&provider=${quiet.provider}`),
      "year, failed": requests(`${year}&outcome=upstream_error`),
      "year, outcome that none has": requests(`${year}&outcome=process_died`),
      "year, quiet model, failed": requests(`${year}&model=${quiet.model}&outcome=upstream_error`),
      "year, busy model, outcome that none has": requests(`${year}&model=${busy.model}&outcome=cancelled`),
      "year, provider that is not the model's": requests(
        `${year}&model=${busy.model}&provider=${quiet.provider}`,
      ),
      "year, quiet key, busy model, failed": requests(
        `${year}&key_id=${quiet.key}&model=${busy.model}&outcome=upstream_error`,
      ),
      "by its id": requests(`id=${request}`),
      "one request": `/requests/${request}`,
      refused: list("refusals", from(DAY)),
      "refused, of one key": list("refusals", `${year}&key_id=${quiet.key}`),
    }),
    ...taskReads(nowSec),
    ...on("tasks", {
      "30 days": tasks(from(30 * DAY)),
      "a day of 25 days ago": tasks(`from=${nowSec - 25 * DAY}&to=${nowSec - 24 * DAY}`),
      failed: tasks(`${from(30 * DAY)}&status=failed`),
      pending: tasks(`${from(30 * DAY)}&status=pending`),
      "quiet model": tasks(`${from(30 * DAY)}&model=${quiet.model}`),
      "quiet provider": tasks(`${from(30 * DAY)}&provider=${quiet.provider}`),
      "quiet key": tasks(`${from(30 * DAY)}&key_id=${quiet.key}`),
      "videos of a busy key, failed": tasks(`${from(30 * DAY)}&kind=video&status=failed${ofKey}`),
      ...(task === undefined ? {} : { "one task": `/tasks/${task}` }),
    }),
    ...on("accounts", {
      "accounts, for their names": "/accounts?limit=1000",
      "keys, for their names": "/keys?limit=1000",
      "one account": `/accounts/${busy.account}`,
      "keys of an account": list("keys", `account_id=${busy.account}`),
      "ledger, 24 h": `/accounts/${busy.account}/ledger?${from(DAY)}&limit=1000`,
      "ledger, year": `/accounts/${busy.account}/ledger?${year}&limit=1000`,
      "one key": `/keys/${busy.key}`,
      "last requests of a key": `/requests?key_id=${busy.key}&limit=10`,
      "charts of a key, 24 h": `/usage?${from(DAY)}&interval=hour&group_by=model&figures=requests,credit&key_id=${busy.key}`,
      "charts of a key, year": `/usage?${year}&interval=day&group_by=model&figures=requests,credit&key_id=${busy.key}`,
      "charts of an account, year": `/usage?${year}&interval=day&group_by=model&figures=requests,credit&account_id=${busy.account}`,
    }),
    ...on("health", { status: "/status", routes: "/routes" }),
  ];
}
