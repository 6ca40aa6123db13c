import type { AnswerTo, Command, HoldCredit } from "../../src/ledger/commands.ts";
import type {
  MemoryChanges,
  Recalled,
  Taken,
  Wanted,
} from "../../src/ledger/postgres/allotment-statements.ts";
import type { Freed } from "../../src/ledger/postgres/allotment-statements.ts";
import type { Own } from "../../src/ledger/postgres/allotment-tables.ts";
import type { HoldNotes } from "../../src/ledger/postgres/hold-notes.ts";
import { ENTRIES, HOLDS, PRICE_VERSIONS, REQUESTS, type Rows } from "../../src/ledger/rows.ts";
import type { Intent } from "../../src/ledger/intents.ts";
import type { SqliteDatabase, SqliteValue } from "../../src/runtime/sqlite.ts";
import type { LedgerModel } from "./ledger-model.ts";
import type { World } from "./world.ts";

/**
 * What processes have allotted of the one store of a simulation, and a model that is told of every hold in memory. For
 * whoever decides over the tables, `held` has what is allotted, until `end`.
 */
export interface SimulatedAllotments {
  take(wanted: Wanted, nowMs: number): Taken | undefined;
  save(changes: MemoryChanges, removed: readonly string[]): boolean;
  own(boot: string, holds: readonly string[]): Own;
  free(accounts: readonly string[], which: Freed): number;
  isLive(boot: string): boolean;
  dead(but: string): readonly string[];
  recall(of: Recalled): string | undefined;
  left(account: string): readonly string[];
  /** A process has made a hold from its allotment. Throws where there was no credit for it. */
  made(command: HoldCredit, answer: AnswerTo<HoldCredit>): void;
  /** What is allotted of an account or a key and not held in memory. */
  idle(of: "account_id" | "key_id", id: string): bigint;
  /** Takes every allotment back, so that nothing is counted as held but holds. */
  end(): void;
  /** Notes of all processes, which outlive them. */
  notesOf(): HoldNotes;
  readonly counts: Record<"taken" | "inMemory" | "recalled" | "freed" | "givenUp", number>;
}

/** What the double asks the rest of the store. */
export interface AllotmentParts {
  readonly world: World;
  readonly database: SqliteDatabase;
  readonly model: () => LedgerModel;
  /** Tells the model of a command that is no batch's. */
  tell(command: Command): unknown;
}

const REST_MS = 10_000;

/** No allotments in `database` yet. */
export function createSimulatedAllotments({
  world,
  database,
  model,
  tell,
}: AllotmentParts): SimulatedAllotments {
  /** Open holds that stand in no table, with their allotments. */
  const inMemory = new Map<string, string>();
  const notes = new Map<string, Map<string, Intent>>();
  const counts = { taken: 0, inMemory: 0, recalled: 0, freed: 0, givenUp: 0 };
  const all = (sql: string, ...values: SqliteValue[]) => database.prepare(sql).all(...values);
  const run = (sql: string, ...values: SqliteValue[]) => database.prepare(sql).run(...values);
  const isLive = (boot: string): boolean =>
    all("select 1 from processes where boot_id = ? and lease_until_ms > ?", boot, BigInt(world.nowMs()))
      .length > 0;
  const addHeld = (account: unknown, key: unknown, amount: bigint): void => {
    run("update accounts set held = held + ? where id = ?", amount, String(account));
    run("update keys set held = held + ? where id = ?", amount, String(key));
  };

  const insert = ({ table, columns }: Rows, rows: Iterable<object>, end = ""): void => {
    const members = Object.keys(columns);
    const names = Object.values(columns).map(({ name }) => name);
    for (const row of rows)
      run(
        `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")}) ${end}`,
        ...members.map((member) => (row as Record<string, SqliteValue>)[member] ?? null),
      );
  };

  const isAsExpected = ({ changes, allotments }: MemoryChanges): boolean =>
    allotments.every(
      ({ id, less }) => all("select 1 from allotments where id = ? and amount >= ?", id, less).length > 0,
    ) && [...changes.newHolds.keys()].every((id) => all("select 1 from holds where id = ?", id).length === 0);

  const tellOf = ({ changes }: MemoryChanges): void => {
    for (const hold of changes.newHolds.values()) {
      inMemory.delete(hold.id);
      const { id, account, key, endReason, endedAtMs } = hold;
      const end = { hold: id, account, key, outcome: endReason ?? "", nowMs: endedAtMs ?? 0 };
      if (hold.state === "voided") tell({ kind: "void", ...end });
      if (hold.state !== "settled") continue;
      tell({ kind: "settle", ...end, used: hold.settled ?? 0n, usage: "{}", flags: [] });
      if (model().holds.get(id)?.charged !== hold.settled)
        throw new Error(`${id} was charged ${hold.settled}, not ${model().holds.get(id)?.charged}.`);
    }
  };

  return {
    counts,
    isLive,
    take({ id, isNew, boot, account, key, atLeast }, nowMs) {
      const [row] = all(
        `select a.status, a.recalled_at_ms, a.balance - a.held as free, k.budget - k.spent - k.held as room,
           k.revoked_at_ms, k.expires_at_ms from accounts a join keys k on k.account_id = a.id
         where a.id = ? and k.id = ?`,
        account,
        key,
      );
      if (row === undefined || row.revoked_at_ms !== null || !isLive(boot)) return undefined;
      if (row.expires_at_ms !== null && Number(row.expires_at_ms) <= nowMs) return undefined;
      if (Number(row.recalled_at_ms) + REST_MS > world.nowMs()) return undefined;
      if (!isNew && all("select 1 from allotments where id = ?", id).length === 0) return undefined;
      const free = row.free as bigint;
      const room = (row.room as bigint | null) ?? free;
      const part = (free < room ? free : room) / 4n;
      // Small amounts are enough here, so that allotments meet the ends of what there is.
      if (part <= 0n || part < atLeast / 8n) return undefined;
      counts.taken += 1;
      if (isNew) run("insert into allotments values (?, ?, ?, ?, ?, 0)", id, boot, account, key, part);
      else run("update allotments set amount = amount + ? where id = ?", part, id);
      addHeld(account, key, part);
      return { amount: part, expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms) };
    },
    save(saving, removed) {
      if (!isAsExpected(saving)) return false;
      const { changes, allotments } = saving;
      database.execute("begin");
      for (const { id, account, key, less, held } of allotments) {
        run("update allotments set amount = amount - ?, held = ? where id = ?", less, held, id);
        addHeld(account, key, -less);
      }
      for (const { id, balance, held } of changes.accounts.values())
        run("update accounts set balance = balance + ?, held = held + ? where id = ?", balance, held, id);
      for (const { id, spent, held } of changes.keys.values())
        run("update keys set spent = spent + ?, held = held + ? where id = ?", spent, held, id);
      insert(PRICE_VERSIONS, changes.prices.values(), "on conflict do nothing");
      insert(HOLDS, changes.newHolds.values());
      const last = new Map(changes.entries.map(({ account }) => [account, 0n]));
      for (const account of last.keys())
        last.set(
          account,
          all("select coalesce(sum(amount), 0) as sum from ledger where account_id = ?", account)[0]!
            .sum as bigint,
        );
      insert(
        ENTRIES,
        changes.entries.map((entry) => {
          const balanceAfter = last.get(entry.account)! + entry.amount;
          last.set(entry.account, balanceAfter);
          return { ...entry, balanceAfter: entry.account === "operator" ? 0n : balanceAfter };
        }),
      );
      insert(REQUESTS, changes.requests);
      for (const id of removed) run("delete from allotments where id = ? and amount = 0", id);
      database.execute("commit");
      if (allotments.length === 0) counts.givenUp += changes.newHolds.size;
      tellOf(saving);
      return true;
    },
    own: (boot, holds) => ({
      allotments: all("select id, account_id, amount from allotments where boot_id = ?", boot).map((row) => ({
        id: String(row.id),
        account: String(row.account_id),
        amount: row.amount as bigint,
      })),
      holds: new Set(holds.filter((id) => all("select 1 from holds where id = ?", id).length > 0)),
    }),
    free(accounts, which) {
      const gone = all("select * from allotments").filter(
        ({ id, boot_id, account_id }) =>
          accounts.includes(String(account_id)) &&
          ("deadBut" in which
            ? String(boot_id) !== which.deadBut && !isLive(String(boot_id))
            : which.includes(String(id))),
      );
      for (const { id, account_id, key_id, amount } of gone) {
        counts.freed += 1;
        run("delete from allotments where id = ?", String(id));
        addHeld(account_id, key_id, -(amount as bigint));
        for (const [hold, allotment] of inMemory)
          if (allotment === id) {
            inMemory.delete(hold);
            const end = { hold, account: String(account_id), key: String(key_id), nowMs: world.nowMs() };
            tell({ kind: "void", ...end, outcome: "process_died" });
          }
      }
      return gone.length;
    },
    dead: (but) => [
      ...new Set(
        all("select account_id, boot_id from allotments where boot_id <> ?", but)
          .filter(({ boot_id }) => !isLive(String(boot_id)))
          .map(({ account_id }) => String(account_id)),
      ),
    ],
    recall(of) {
      const account =
        "account" in of
          ? of.account
          : String(all("select account_id from keys where id = ?", of.key)[0]?.account_id);
      if (all("select 1 from allotments where account_id = ?", account).length === 0) return undefined;
      counts.recalled += 1;
      run("update accounts set recalled_at_ms = ? where id = ?", BigInt(world.nowMs()), account);
      return account;
    },
    left: (account) =>
      all("select id from allotments where account_id = ?", account).map(({ id }) => String(id)),
    made(command, answer) {
      const [row] = all(
        "select id from allotments where boot_id = ? and key_id = ? order by cast(substr(id, length(boot_id) + 2) as integer) desc",
        command.boot,
        command.key,
      );
      if (row === undefined) throw new Error(`${command.hold} was made of an allotment that is gone.`);
      counts.inMemory += 1;
      const said = tell(command);
      if (!Bun.deepEquals(said, [{ answer }]))
        throw new Error(
          `${command.hold} of ${command.amount} was made in memory, and there is no credit for it.`,
        );
      inMemory.set(command.hold, String(row.id));
    },
    idle(of, id) {
      const [row] = all(`select coalesce(sum(amount), 0) as sum from allotments where ${of} = ?`, id);
      let sum = row!.sum as bigint;
      for (const hold of inMemory.keys()) {
        const made = model().holds.get(hold);
        if (made?.state === "held" && (of === "key_id" ? made.key : made.account) === id) sum -= made.amount;
      }
      return sum;
    },
    end() {
      for (const { account_id, key_id, amount } of all("select * from allotments"))
        addHeld(account_id, key_id, -(amount as bigint));
      run("delete from allotments");
    },
    notesOf() {
      let own = "";
      const read = new Map<string, string>();
      const stateOf = (boot: string): string => [...(notes.get(boot)?.keys() ?? [])].join(" ");
      return {
        open(boot, holds) {
          own = boot;
          notes.set(boot, new Map([...holds()].map((intent) => [intent.hold.id, intent])));
        },
        note: (intent) => void notes.get(own)?.set(intent.hold.id, intent),
        left: () => [...notes.keys()].filter((boot) => boot !== own),
        read(boot) {
          const noted = [...(notes.get(boot)?.values() ?? [])];
          read.set(boot, stateOf(boot));
          return noted;
        },
        remove: (boot) => void (stateOf(boot) === read.get(boot) && notes.delete(boot)),
        close: (isDone) => void (isDone && notes.delete(own)),
      };
    },
  };
}
