import { GatewayError } from "../../core/errors.ts";
import { sqliteCompiler } from "../../db/sqlite.ts";
import {
  type AnswerTo,
  type Command,
  type Failure,
  type HoldCredit,
  type MoneyCommand,
  movesMoney,
  type Outcome,
  type RecordCommand,
  type Void,
} from "../commands.ts";
import { decide } from "../decide/books.ts";
import { hold as decideHold } from "../decide/holds.ts";
import { NO_REFERENCES, noState, type References, referencesOf } from "../decide/state.ts";
import type { Now, OpenHolds } from "../open-holds.ts";
import { recordAnswer, recordStatement } from "../records.ts";
import type { AccountRow, HoldRow, KeyRow, PriceVersionRow } from "../rows.ts";
import { type Executor, storeAway } from "../writer.ts";
import { type Batch, batchOf, type RecordStatement, type Written } from "./batch.ts";
import type { Intent, Intents } from "../intents.ts";
import type { JournaledStore } from "./journal-store.ts";
import {
  admitRows,
  dropIdle,
  followRecord,
  give,
  heldBy,
  type LiveBooks,
  noLiveBooks,
  placeEffect,
  reload,
  restoreHold,
  stateFor,
  tableChanges,
  take,
  type Taking,
  untake,
  withRowsOf,
} from "./live.ts";
import type { BooksStore } from "./thread-store.ts";

/**
 * The keeper of the books where one process has them to itself: balances, budgets and open holds of requests are in
 * memory. A hold is a subtraction there and a note of it. Everything else is decided there, batch by batch, and is true
 * once its rows are durable.
 */
export interface Keeper extends Executor, OpenHolds, Pick<BooksStore, "current"> {
  /** Memory has all of the account. */
  hold(command: HoldCredit): AnswerTo<HoldCredit> | Promise<AnswerTo<HoldCredit>>;
  compareJournal(): Promise<readonly string[]>;
}

/** What a keeper is made of. */
export interface KeeperParts {
  readonly store: KeptStore;
  /** Notes of the run before; some of these holds have ended. */
  readonly left: readonly Intent[];
  /** Begins the notes of this run, with those of `open`. */
  readonly openIntents: (open: () => Iterable<Intent>) => Intents;
  /** Why nothing is written any more; `undefined` while all is well. */
  readonly lost: () => string | undefined;
  /** Accounts and keys that are kept in memory at least; absent for many. */
  readonly mostRows?: number;
}

/** What a keeper writes to: with a journal in front of it, or without. */
type KeptStore = BooksStore & Partial<Pick<JournaledStore, "compareJournal">>;

/** A batch that was decided: what is written, and what is answered when it is. */
interface Decided {
  readonly batch: Batch;
  readonly taking: Taking;
  readonly outcomes: (rows: Rows) => readonly Outcome[];
  readonly references: References;
}

type Rows = Extract<Written, { readonly rows: unknown }>["rows"];

/** Takes the books over from the run before. Rejects when the store cannot be read. */
export async function openKeeper(parts: KeeperParts): Promise<Keeper> {
  const { store, left, openIntents, lost, mostRows } = parts;
  const live = noLiveBooks(mostRows);
  await restore(store, live, left);
  const intents = openIntents(() => intentsOf(live));
  const kept: Kept = { store, live, intents, lost };
  const { execute, onTheirWay } = createBatches(kept);
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  return {
    hold: (command) => setAside(kept, command),
    execute(commands) {
      const done = last.then(() => execute(commands));
      last = done.catch(() => undefined);
      return done;
    },
    count: () => live.state.holds.size,
    held: () => heldBy(live.state.holds.values()),
    abandoned: (now) => abandonedOf(live, now),
    compare: () => compare(store, live, onTheirWay),
    compareJournal() {
      const done = last.then(() => store.compareJournal?.(live.state) ?? []);
      last = done.catch(() => undefined);
      return done;
    },
    current: () => store.current(),
    async close() {
      if (isClosed) return;
      isClosed = true;
      intents.close();
      await store.close();
    },
  };
}

/** Books that are kept in memory, and where they are written. */
interface Kept extends Pick<KeeperParts, "store" | "lost"> {
  readonly live: LiveBooks;
  readonly intents: Intents;
}

/** Sets credit aside; an account or key that was not used for long is read from the tables first. */
function setAside(kept: Kept, command: HoldCredit): AnswerTo<HoldCredit> | Promise<AnswerTo<HoldCredit>> {
  const { store, live } = kept;
  const { accounts, keys } = live.state;
  if (accounts.has(command.account) && keys.has(command.key)) return setAsideNow(kept, command);
  const { drops } = live;
  const ids = { accounts: new Set([command.account]), keys: new Set([command.key]) };
  return store.load({ ...NO_REFERENCES, ...ids }).then(
    (found) => {
      // What was dropped meanwhile may have been newer.
      if (live.drops !== drops) return setAside(kept, command);
      admitRows(live, found);
      return setAsideNow(kept, command);
    },
    (error: unknown) => {
      throw storeAway(String(error));
    },
  );
}

function setAsideNow({ live, intents, lost }: Kept, command: HoldCredit): AnswerTo<HoldCredit> {
  const reason = lost();
  if (reason !== undefined) throw storeAway(reason);
  const { answer, effect } = decideHold(live.state, command);
  if (effect === undefined) return answer;
  try {
    intents.note({ hold: effect.hold as HoldRow, prices: effect.prices as PriceVersionRow });
  } catch (error) {
    throw storeAway(String(error));
  }
  placeEffect(live, effect);
  return answer;
}

/** Decides and writes batches, one at a time. */
function createBatches(kept: Kept): {
  execute: Executor["execute"];
  /** What the batch refers to that is being written. */
  onTheirWay(): References | undefined;
} {
  const { store, live, lost } = kept;
  /** A batch of which it is not known yet, or will not be known, whether it was written. */
  let unknown: Decided | undefined;

  const write = async (decided: Decided): Promise<Written> => {
    const { records, money } = decided.batch;
    if (records.length === 0 && money === undefined) return { rows: [] };
    unknown = decided;
    const written = await store.write(decided.batch);
    unknown = undefined;
    return written;
  };

  /** Rejects when it is not known whether the commands were written: they can be sent again. */
  const together = async (commands: readonly Command[]): Promise<readonly Outcome[]> => {
    if (unknown !== undefined) {
      const { references, taking } = unknown;
      const found = await store.load(references);
      untake(live, taking);
      reload(live, found);
      unknown = undefined;
    }
    const decided = await decideBatch(kept, commands);
    const written = await write(decided);
    if ("rows" in written) {
      give(live, decided.taking);
      return decided.outcomes(written.rows);
    }
    untake(live, decided.taking);
    // A store that takes no write takes none one by one either: every command fails at once.
    if (commands.length === 1 || written.passing === true) return commands.map(() => written);
    const apart: Outcome[] = [];
    for (const command of commands) apart.push(...(await together([command])));
    return apart;
  };

  const execute = async (commands: readonly Command[]): Promise<readonly Outcome[]> => {
    const outcomes = new Map<Command, Outcome>();
    for (const group of groupsOf(commands)) {
      const done = await executeGroup(group);
      group.forEach((command, i) => outcomes.set(command, done[i] as Outcome));
    }
    if (unknown === undefined) dropIdle(live);
    return commands.map((command) => outcomes.get(command) as Outcome);
  };

  const executeGroup = async (group: readonly Command[]): Promise<readonly Outcome[]> => {
    const reason = lost();
    if (reason !== undefined) return group.map((): Failure => ({ failure: reason, passing: true }));
    const [first] = group;
    return first?.kind === "hold" ? [await holdOnce(kept, first)] : together(group);
  };

  return { execute, onTheirWay: () => unknown?.references };
}

const build = sqliteCompiler();

async function decideBatch({ store, live }: Kept, commands: readonly Command[]): Promise<Decided> {
  const records = commands.filter((command): command is RecordCommand => !movesMoney(command));
  const money = commands.filter(movesMoney);
  const found = await find(store, live, money);
  const references = referencesOf(money);
  // Nothing waits from here on: what is decided is taken before anything else is decided.
  const decision = decide(stateFor(live, references, found), money);
  const batch = batchOf(records.map(statementOf), tableChanges(live, decision.changes));
  return {
    batch: { ...batch, nobodyWaits: live.state.holds.size === 1 },
    references: withRowsOf(records, references, live),
    taking: take(live, decision.changes),
    outcomes(rows) {
      const answers = records.map((command, i) => {
        const answer = recordAnswer(command, rows[i] ?? []);
        if (answer.ok) followRecord(live, command);
        return { answer };
      });
      const [ofMoney, ofRecords] = [decision.outcomes.values(), answers.values()];
      return commands.map((command) => (movesMoney(command) ? ofMoney : ofRecords).next().value as Outcome);
    },
  };
}

function statementOf(command: RecordCommand): RecordStatement {
  const { sql, parameters } = recordStatement(build, "sqlite", command);
  return { sql, values: [...parameters] };
}

/** A hold that may have been made before. */
async function holdOnce(kept: Kept, command: HoldCredit): Promise<Outcome> {
  const { store, live } = kept;
  const { holds } = await store.load({ ...NO_REFERENCES, holds: new Set([command.hold]) });
  const { outcomes } = decide({ ...live.state, holds }, holds.size > 0 ? [command] : []);
  if (outcomes[0] !== undefined) return outcomes[0];
  try {
    return { answer: await setAside(kept, command) };
  } catch (error) {
    return failureOf(error);
  }
}

function abandonedOf({ state }: LiveBooks, { bootId, nowMs, steadyMs }: Now): readonly Void[] {
  const found: Void[] = [];
  for (const { id, account, key, boot, expiresAtMs } of state.holds.values()) {
    if (boot === bootId && expiresAtMs >= steadyMs) continue;
    const outcome = expiresAtMs < steadyMs ? "expired" : "process_died";
    found.push({ kind: "void", hold: id, account, key, outcome, nowMs });
  }
  return found;
}

function failureOf(error: unknown): Failure {
  const failure = error instanceof Error ? error.message : String(error);
  return error instanceof GatewayError ? { failure, passing: true } : { failure };
}

/** Rows that are looked up at a time. */
const LOOKED_UP = 500;

/** Puts back the holds of the run before that have no end in the tables. */
async function restore(store: BooksStore, live: LiveBooks, left: readonly Intent[]): Promise<void> {
  for (let i = 0; i < left.length; i += LOOKED_UP) {
    const some = left.slice(i, i + LOOKED_UP);
    const found = await store.load({
      ...NO_REFERENCES,
      accounts: new Set(some.map(({ hold }) => hold.account)),
      keys: new Set(some.map(({ hold }) => hold.key)),
      holds: new Set(some.map(({ hold }) => hold.id)),
    });
    admitRows(live, found);
    const { accounts, keys } = live.state;
    for (const intent of some) {
      const { id, account, key } = intent.hold;
      // A note of an account or a key that is not there is of another copy of these books.
      if (!found.holds.has(id) && accounts.has(account) && keys.has(key)) restoreHold(live, intent);
    }
  }
}

function* intentsOf({ state, prices }: LiveBooks): Iterable<Intent> {
  for (const hold of state.holds.values())
    yield { hold, prices: prices.get(hold.priceVersion) as PriceVersionRow };
}

/**
 * Groups that are done one after the other. The first is of commands that change rows, other than by the books, that
 * the rest may refer to. Then the others follow together, but each hold alone.
 */
function* groupsOf(commands: readonly Command[]): Iterable<readonly Command[]> {
  const first = commands.filter(({ kind }) => GROUND.has(kind));
  if (first.length > 0) yield first;
  let group: Command[] = [];
  for (const command of commands) {
    if (GROUND.has(command.kind)) continue;
    if (command.kind !== "hold") {
      group.push(command);
      continue;
    }
    if (group.length > 0) yield group;
    group = [];
    yield [command];
  }
  if (group.length > 0) yield group;
}

const GROUND: ReadonlySet<Command["kind"]> = new Set([
  "create_account",
  "close_account",
  "issue_key",
  "change_key",
  "revoke_key",
  "revoke_keys",
  "forget_tasks",
]);

/** Reads what the commands refer to and memory does not have; the end of an open hold of a request needs nothing. */
async function find(store: BooksStore, live: LiveBooks, money: readonly MoneyCommand[]) {
  const { accounts, keys, holds } = live.state;
  const others = money.filter((command) => !isEndOf(command, holds));
  if (others.length === 0) return noState();
  const references = referencesOf(others);
  const found = await store.load({
    ...references,
    accounts: without(references.accounts, accounts),
    keys: without(references.keys, keys),
    holds: without(references.holds, holds),
  });
  admitRows(live, found);
  return found;
}

function isEndOf(command: MoneyCommand, holds: ReadonlyMap<string, HoldRow>): boolean {
  return (command.kind === "settle" || command.kind === "void") && holds.has(command.hold);
}

function without(ids: ReadonlySet<string>, known: ReadonlyMap<string, unknown>): ReadonlySet<string> {
  return new Set([...ids].filter((id) => !known.has(id)));
}

function isSame(one: AccountRow | KeyRow, other: AccountRow | KeyRow): boolean {
  const members = Object.entries(other) as [keyof typeof one, unknown][];
  return members.every(([member, value]) => one[member] === value);
}

/** Accounts and keys in memory that are not what the tables and the open holds come to. */
async function compare(
  store: BooksStore,
  live: LiveBooks,
  onTheirWay: () => References | undefined,
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const ids = [...live.state.accounts.keys(), ...live.state.keys.keys()];
  for (let i = 0; i < ids.length; i += LOOKED_UP) {
    const some = new Set(ids.slice(i, i + LOOKED_UP));
    const changed = new Set<string>();
    live.watching.add(changed);
    const found = await store
      .load({ ...NO_REFERENCES, accounts: some, keys: some })
      .finally(() => live.watching.delete(changed));
    const writing = onTheirWay();
    const said = noLiveBooks();
    for (const hold of live.state.holds.values()) said.state.holds.set(hold.id, hold);
    reload(said, found);
    for (const [of, rows] of [
      ["accounts", said.state.accounts],
      ["keys", said.state.keys],
    ] as const)
      for (const [id, row] of rows) {
        // What is being written, or was meanwhile, stands in one of them and not in the other.
        if (changed.has(id) || writing?.[of].has(id) === true) continue;
        const known = live.state[of].get(id);
        if (known !== undefined && !isSame(known, row)) wrong.push(id);
      }
  }
  return wrong;
}
