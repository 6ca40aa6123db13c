import { mayBeBegun } from "../../../src/core/task.ts";
import { contentHash } from "../../../src/runtime/hash.ts";
import { faultsOfBooks, readBooks } from "../books.ts";
import { ADMIN_TOKEN } from "../station.ts";
import { admin } from "../workload.ts";
import { OVERDUE_MS, promptOf, readTasks, type TaskRow, type TaskStation } from "./station.ts";
import { ask, pathOf, priceOf, type ToldTask } from "./workload.ts";

/** How long tasks may take to end once somebody runs them again. */
const END_MS = 60_000;

/** Notes of tasks, as they stood when the gateway died, where it is not known whether a provider has them. */
export function noteDoubts(told: readonly ToldTask[], atDeath: readonly TaskRow[]): void {
  for (const row of atDeath) {
    if (row.state !== "running" || row.job !== null || !mayBeBegun(row)) continue;
    const entry = told.find(({ id }) => id === row.id);
    if (entry !== undefined && row.provider !== null) entry.inDoubtAt = row.provider;
  }
}

/** After a start: waits until every task has ended, then returns what is wrong. */
export async function verifyTasks(station: TaskStation, url: string): Promise<string[]> {
  const rows = await allEnded(station);
  if (rows === undefined) return ["tasks do not end"];
  const books = await readBooks(station.place.place);
  const audit = await admin({ url, adminToken: ADMIN_TOKEN }, "GET", "/audit?full=true");
  const isRight = (audit?.json as { readonly ok?: boolean } | undefined)?.ok === true;
  const faults = isRight ? [] : [`the audit says ${JSON.stringify(audit)}`];
  faults.push(...faultsOfBooks(books), ...faultsOfEnds(rows, books.ledger));
  faults.push(...faultsOfWork(station, rows));
  for (const told of station.told) faults.push(...(await faultsOfTold(station, url, told, rows)));
  return faults;
}

async function allEnded(station: TaskStation): Promise<readonly TaskRow[] | undefined> {
  const until = performance.now() + END_MS;
  while (performance.now() < until) {
    const rows = await readTasks(station.place.place);
    if (rows.every((row) => row.ended_at_ms !== null)) return rows;
    await Bun.sleep(100);
  }
  return undefined;
}

/** A task is charged once where it has completed, and not at all where it has not. */
function faultsOfEnds(
  rows: readonly TaskRow[],
  ledger: readonly { readonly cause: string; readonly amount: bigint }[],
): string[] {
  return rows.flatMap((row) => {
    const charges = ledger.filter(({ cause }) => cause === `${row.hold_id}:settle`);
    const charged = charges.reduce((sum, { amount }) => sum - amount, 0n);
    if (row.state !== "completed")
      return charges.length === 0 ? [] : [`${row.id} is ${row.state} and was charged ${charged}`];
    return charges.length === 1 && charged === row.charge
      ? []
      : [`${row.id} completed for ${row.charge} and was charged ${charged} in ${charges.length} entries`];
  });
}

/**
 * A provider is asked for a task once. It is asked a second time only where the gateway died in the one gap, which no
 * provider without a key of ours can close. The gap begins when the task is about to be sent, and ends when the answer
 * is written down. The second provider is asked where the first surely took no work, and nowhere else. No provider is
 * asked before that is in the books.
 */
function faultsOfWork({ makers, told }: TaskStation, rows: readonly TaskRow[]): string[] {
  return told.flatMap(({ id, plan, inDoubtAt }) => {
    const asked = makers.map((maker) => maker.asked.get(plan.label) ?? 0);
    const taken = makers.map(
      ({ double }) => double.accepted.filter((work) => promptOf(work) === plan.label).length,
    );
    const what = `${plan.label} was asked for ${asked.join(" and ")} times, and taken ${taken.join(" and ")} times`;
    const row = rows.find((each) => each.id === id);
    if (row === undefined) return sum(asked) > 1 + makers.length ? [what] : [];
    const faults: string[] = [];
    const most = makers.map(({ provider }) => (inDoubtAt === provider ? 2 : 1));
    if (asked.some((times, i) => times > (most[i] as number))) faults.push(what);
    if (BigInt(sum(asked)) > row.attempts) faults.push(`${what}, where ${row.attempts} attempts are known`);
    if (BigInt(sum(taken)) > row.attempts - row.refusals)
      faults.push(`${what}, where ${row.refusals} of ${row.attempts} attempts were refused`);
    if (row.state === "cancelled" && sum(asked) > 0) faults.push(`${what}, and is cancelled`);
    if (row.state !== "completed") return faults;
    const [first] = makers;
    const isSecond = plan.busy && inDoubtAt !== first?.provider;
    if (makers[isSecond ? 1 : 0]?.provider !== row.provider)
      faults.push(`${what}, and made by ${row.provider}`);
    const byOthers = isSecond ? asked[0] !== 1 : sum(asked.slice(1)) > 0;
    if (byOthers) faults.push(`${what}, and is one for the ${isSecond ? "second" : "first"}`);
    return faults;
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

async function faultsOfTold(
  station: TaskStation,
  url: string,
  told: ToldTask,
  rows: readonly TaskRow[],
): Promise<string[]> {
  const { id, plan, end, credit, cancel } = told;
  const expected = plan.fails ? 0n : priceOf(plan);
  if (id === undefined)
    return credit === undefined || credit === expected ? [] : [`${plan.label} was told ${credit}`];
  const row = rows.find((each) => each.id === id);
  if (row === undefined) return [`${id} was given out and is lost`];
  const faults: string[] = [];
  if (end !== undefined && end !== row.state) faults.push(`${id} was told ${end} and is ${row.state}`);
  if (credit !== undefined && credit !== row.charge)
    faults.push(`${id} was told ${credit} and was charged ${row.charge}`);
  if (row.state === "completed" && row.charge !== expected)
    faults.push(`${id} costs ${expected} and was charged ${row.charge}`);
  if (cancel === 200 && row.state !== "cancelled") faults.push(`${id} was cancelled and is ${row.state}`);
  if (cancel === 409 && row.state === "cancelled") faults.push(`${id} could not be cancelled and is`);
  const isOverdue = row.error_type === "timeout_error";
  const wanted = plan.fails ? "failed" : "completed";
  if (!plan.cancels && row.state !== wanted && !isOverdue)
    faults.push(`${id} is to be ${wanted} and is ${row.state}: ${row.error_type} ${row.error_message}`);
  return [...faults, ...(await faultsOfFiles(station, url, told, row))];
}

/** The files of a completed task are there, whole, as long as the task names them. */
async function faultsOfFiles(
  { tenants }: TaskStation,
  url: string,
  told: ToldTask,
  row: TaskRow,
): Promise<string[]> {
  if (row.state !== "completed") return [];
  const key = tenants.find(({ account }) => account === told.account)?.key ?? "";
  const { status, json } = await ask({ url, key, account: told.account }, "GET", pathOf(told));
  if (status !== 200) return [`${row.id} is read with ${status}`];
  const task = json as { readonly data?: { url: string }[]; readonly output?: { urls: string[] } };
  const urls = task.data?.map((each) => each.url) ?? task.output?.urls ?? [];
  const isKept = row.files_until_ms !== null && row.files_until_ms > OVERDUE_MS;
  const wanted = isKept ? told.plan.n : 0;
  if (urls.length !== wanted) return [`${row.id} names ${urls.length} files and has ${wanted}`];
  const faults: string[] = [];
  for (const file of urls) {
    const answer = await fetch(file);
    const hash = contentHash(new Uint8Array(await answer.arrayBuffer()));
    if (answer.status !== 200 || !new URL(file).pathname.includes(hash.slice(0, 32)))
      faults.push(`${file} is answered with ${answer.status} and other bytes`);
  }
  return faults;
}
