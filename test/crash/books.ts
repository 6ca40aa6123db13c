import type { Selectable } from "kysely";
import { openPostgres } from "../../src/db/postgres.ts";
import type { Database, Tables } from "../../src/db/schema.ts";
import { openForReading } from "../../src/db/sqlite.ts";
import type { TestPlace } from "../gateway/engines.ts";

/** All rows of the books at one moment. */
export interface Books {
  readonly accounts: readonly Selectable<Tables["accounts"]>[];
  readonly keys: readonly Selectable<Tables["keys"]>[];
  readonly holds: readonly Selectable<Tables["holds"]>[];
  readonly ledger: readonly Selectable<Tables["ledger"]>[];
  readonly requests: readonly Selectable<Tables["requests"]>[];
  readonly prices: readonly Selectable<Tables["price_versions"]>[];
}

/** Opens the books for reading, past any gateway, and closes them again. */
export async function withBooks<Result>(
  place: TestPlace["place"],
  ask: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = "file" in place ? openForReading(place.file) : openPostgres(place.url);
  try {
    return await ask(database);
  } finally {
    await database.destroy();
  }
}

/** Reads all of the books in one snapshot. */
export function readBooks(place: TestPlace["place"]): Promise<Books> {
  return withBooks(place, (database) =>
    database
      .transaction()
      .setIsolationLevel("file" in place ? "serializable" : "repeatable read")
      .execute(async (tables) => ({
        accounts: await tables.selectFrom("accounts").selectAll().orderBy("seq").execute(),
        keys: await tables.selectFrom("keys").selectAll().orderBy("seq").execute(),
        holds: await tables.selectFrom("holds").selectAll().execute(),
        ledger: await tables.selectFrom("ledger").selectAll().orderBy("seq").execute(),
        requests: await tables.selectFrom("requests").selectAll().orderBy("seq").execute(),
        prices: await tables.selectFrom("price_versions").selectAll().execute(),
      })),
  );
}

/** What is wrong with the books in themselves, one sentence each; holds may be open. */
export function faultsOfBooks(books: Books): string[] {
  return [
    ...faultsOfAccounts(books),
    ...faultsOfKeys(books),
    ...faultsOfHolds(books),
    ...faultsOfEntries(books),
    ...faultsOfPrices(books),
  ];
}

function faultsOfAccounts({ accounts, holds, ledger }: Books): string[] {
  return accounts.flatMap(({ id, balance, held }) => {
    const faults: string[] = [];
    let sum = 0n;
    for (const entry of ledger.filter((row) => row.account_id === id)) {
      sum += entry.amount;
      if (entry.balance_after !== sum)
        faults.push(`${entry.cause} says ${entry.balance_after} is left where ${sum} is`);
    }
    if (balance !== sum) faults.push(`the account ${id} has ${balance} and its ledger comes to ${sum}`);
    const open = total(holds.filter((row) => row.account_id === id && row.state === "held"));
    if (held !== open) faults.push(`the account ${id} holds ${held} and its holds come to ${open}`);
    if (held < 0n || held > balance) faults.push(`the account ${id} holds ${held} of ${balance}`);
    return faults;
  });
}

function faultsOfKeys({ keys, holds }: Books): string[] {
  return keys.flatMap(({ id, spent, held }) => {
    const own = holds.filter((row) => row.key_id === id);
    const charged = own.reduce((sum, row) => sum + (row.settled ?? 0n), 0n);
    const open = total(own.filter((row) => row.state === "held"));
    const faults: string[] = [];
    if (spent !== charged) faults.push(`the key ${id} has spent ${spent} and was charged ${charged}`);
    if (held !== open) faults.push(`the key ${id} holds ${held} and its holds come to ${open}`);
    return faults;
  });
}

/** Every end of a hold is whole: its state, its request, its entry stand together or not at all. */
function faultsOfHolds({ holds, ledger, requests }: Books): string[] {
  const byCause = new Map(ledger.map((row) => [row.cause, row]));
  return holds.flatMap((hold) => {
    const faults: string[] = [];
    const rows = requests.filter((row) => row.hold_id === hold.id);
    if (rows.length !== (hold.state === "held" ? 0 : 1))
      faults.push(`the hold ${hold.id} is ${hold.state} and has ${rows.length} requests`);
    const charge = byCause.get(`${hold.id}:settle`);
    if ((charge !== undefined) !== (hold.state === "settled"))
      faults.push(`the hold ${hold.id} is ${hold.state} and its charge is ${charge?.amount}`);
    if (charge !== undefined && (-charge.amount !== hold.settled || rows[0]?.charge !== hold.settled))
      faults.push(
        `the hold ${hold.id} settled ${hold.settled}, its entry ${charge.amount}, its row ${rows[0]?.charge}`,
      );
    const loss = byCause.get(`${hold.id}:loss`);
    if (hold.end_reason === "process_died") {
      if (hold.expected_cost <= 0n) faults.push(`the hold ${hold.id} expects to cost nothing`);
      if (-(loss?.amount ?? 0n) !== hold.expected_cost)
        faults.push(`the hold ${hold.id} lost ${hold.expected_cost} and its entry says ${loss?.amount}`);
      if (rows[0]?.charge !== 0n) faults.push(`the dead ${hold.id} was charged ${rows[0]?.charge}`);
    }
    return faults;
  });
}

function faultsOfEntries({ holds, ledger, requests }: Books): string[] {
  const known = new Set(holds.map((row) => row.id));
  const faults = ledger
    .filter((row) => row.kind === "settle" && !known.has(row.cause.replace(/:settle$/, "")))
    .map((row) => `${row.cause} is a charge without a hold`);
  const perRequest = Map.groupBy(holds, (row) => row.request_id);
  for (const [id, same] of perRequest) if (same.length > 1) faults.push(`${id} has ${same.length} holds`);
  if (requests.some((row) => !known.has(row.hold_id))) faults.push("a request stands without its hold");
  return faults;
}

/** A request has its hold's model and prices, or both of another model; the rules are stored. */
function faultsOfPrices({ holds, requests, prices }: Books): string[] {
  const known = new Map(holds.map((hold) => [hold.id, hold]));
  const stored = new Map(prices.map(({ version, model }) => [version, model]));
  return requests.flatMap(({ id, hold_id, model, price_version }) => {
    const hold = known.get(hold_id);
    const faults: string[] = [];
    if (stored.get(price_version) !== model)
      faults.push(`the prices of ${id} are not stored as those of ${model}`);
    if ((model === hold?.model) !== (price_version === hold?.price_version))
      faults.push(`${id} has the prices ${price_version} of ${model}, and its hold others of ${hold?.model}`);
    return faults;
  });
}

function total(rows: readonly { readonly amount: bigint }[]): bigint {
  return rows.reduce((sum, row) => sum + row.amount, 0n);
}
