import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BooksLoad } from "./books.ts";
import { markdownTable } from "./figures/table.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { runLoadTool } from "./load-tool.ts";
import { median } from "./percentile.ts";
import { startServer } from "./processes.ts";
import { type Pace, PACES } from "./request-path.ts";
import { type Comparison, compare, ratiosTo, shown, spread, type Subject, warmUp } from "./rounds.ts";
import { requestOf, scenesNamed } from "./scenes.ts";
import { linesOf, type StageForm } from "./stage.ts";

/** Plain chat on a store that is nearly empty, and on a full one. */
export interface FilledRow {
  readonly atOnce: number;
  readonly rounds: Comparison;
}

/** What a full store has: rows are of requests, each with its entry in the ledger. */
const FULL = { accounts: 100_000, rows: 10_000_000 };
/** Accounts whose keys are used in turn, spread over all that a store has. */
const PAYING = 1_000;
const LOADS = [8, 64];
const GOAL = 1.1;
const FILLERS = 1_024;
const FILL_SECONDS = 10;
const PAGE = 1_000;
/** Keys that are made at once. */
const KEYS = 50;

/**
 * Measures a gateway on a nearly empty SQLite store in turns with one on a store that has `share` of a full one. The
 * books themselves fill it, by holds and settlements.
 */
export async function measureFilled(
  form: StageForm,
  share: number,
  pace: Pace,
  report: (line: string) => void,
): Promise<readonly FilledRow[]> {
  const [scene] = scenesNamed(["chat plain"]);
  if (scene === undefined || !(share > 0)) throw new Error(`--filled must be a number above 0, got ${share}`);
  const request = requestOf(scene);
  const bodyFile = join(form.folder, "filled.json");
  writeFileSync(bodyFile, linesOf(request.clientBodies));
  const entry = join(import.meta.dir, "../test/upstream/double-server.ts");
  const double = await startServer({ on: form.cores.others, args: [entry, ...scene.mode.upstream] });
  const filled = { accounts: Math.max(PAYING, FULL.accounts * share), rows: FULL.rows * share };
  const stores = [
    { name: "empty", accounts: PAYING, rows: 0 },
    { name: "ours", ...filled },
  ];
  const started: { name: string; gateway: Gateway; bearer: string }[] = [];
  for (const { name, accounts, rows } of stores) {
    const folder = join(form.folder, `filled-${name}`);
    await fill(join(folder, "home"), accounts, rows, report);
    const gateway = await startGateway({ folder, upstreamUrl: double.url, on: form.cores.subject });
    started.push({ name, gateway, bearer: (await keysOf(gateway, accounts)).join(",") });
  }
  const subjectsAt = (atOnce: number): Subject[] =>
    started.map(({ name, gateway, bearer }) => ({
      name,
      pid: gateway.pid,
      load: (bounds) => {
        const url = gateway.url + request.clientPath;
        const options = { url, bearer, "body-file": bodyFile, concurrency: atOnce, ...bounds };
        return runLoadTool({ name: `chat plain, ${name}`, options, on: form.cores.others });
      },
    }));
  const rows: FilledRow[] = [];
  const plan = { ...PACES[pace], units: ({ requests }: { readonly requests: number }) => requests };
  for (const atOnce of LOADS) {
    report(`a store with ${filled.accounts} accounts and ${filled.rows} rows, ${atOnce} at once …`);
    for (const subject of subjectsAt(atOnce)) await warmUp(subject, plan);
    rows.push({ atOnce, rounds: await compare(subjectsAt(atOnce), plan) });
  }
  for (const child of [...started.map(({ gateway }) => gateway), double]) await child.stop();
  return rows;
}

/** Makes a home whose store has so many accounts and at least so many rows. */
async function fill(
  home: string,
  accounts: number,
  rows: number,
  report: (line: string) => void,
): Promise<void> {
  mkdirSync(home, { recursive: true });
  const entry = join(import.meta.dir, "books-server.ts");
  const books = await startServer({ on: [], args: [entry, "--file", join(home, "switchyard.db")] });
  let written = 0;
  do {
    const seconds = rows === 0 ? 0 : FILL_SECONDS;
    const question = `callers=${FILLERS}&accounts=${accounts}&seconds=${seconds}`;
    const answer = await fetch(`${books.url}/?${question}`, { timeout: false });
    if (!answer.ok) throw new Error(`the store was not filled: ${await answer.text()}`);
    written += ((await answer.json()) as BooksLoad).pairs;
    if (rows > 0) report(`${written} of ${rows} rows …`);
  } while (written < rows);
  await books.stop();
}

/** Keys to accounts from the first to the last. */
async function keysOf({ admin }: Gateway, accounts: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = ""; after !== null;) {
    const query: string = after === "" ? `limit=${PAGE}` : `limit=${PAGE}&after=${after}`;
    const page = await admin<Page>("GET", `/accounts?${query}`);
    ids.push(...page.data.map(({ id }) => id));
    after = page.next;
  }
  const spreadOut = ids.filter((_, place) => place % Math.floor(accounts / PAYING) === 0).slice(0, PAYING);
  const keys: string[] = [];
  while (keys.length < spreadOut.length) {
    const some = spreadOut.slice(keys.length, keys.length + KEYS);
    const made = some.map((id) =>
      admin<{ key: string }>("POST", "/keys", { account_id: id, name: "benchmark" }),
    );
    keys.push(...(await Promise.all(made)).map(({ key }) => key));
  }
  return keys;
}

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next: string | null;
}

/** The rows as a table in Markdown. */
export function filledTable(rows: readonly FilledRow[]): string {
  const cpu = (rounds: Comparison, name: string): string =>
    shown(spread((rounds[name] ?? []).map(({ cpuUs }) => cpuUs)), 1);
  return markdownTable(
    ["at once", "CPU µs, nearly empty", "CPU µs, filled", "× nearly empty", "goal"],
    rows.map(({ atOnce, rounds }) => {
      const ratios = ratiosTo("empty", rounds);
      const goal = `${median(ratios) <= GOAL ? "✓" : "✗"} ≤ ${GOAL}`;
      return [String(atOnce), cpu(rounds, "empty"), cpu(rounds, "ours"), shown(spread(ratios), 2), goal];
    }),
  );
}
