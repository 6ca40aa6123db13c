import type { Changes } from "./decide/changes.ts";
import {
  ACCOUNTS,
  type Column,
  ENTRIES,
  HOLDS,
  KEYS,
  PRICE_VERSIONS,
  REQUESTS,
  type RowOf,
  type Rows,
  TASKS,
} from "./rows.ts";

/** The write of a batch into one table. Both stores make their statements from it. */
export type Write = Insert | Update;

/** Adds whole rows. */
export interface Insert {
  readonly kind: "insert";
  readonly rows: Rows;
  /** Whether a row that is there already stays as it is, and the new one is dropped. */
  readonly isOnce: boolean;
  of(changes: Changes): Iterable<Readonly<Record<string, unknown>>>;
}

/** Changes rows that exist. The batch fails when one of them is gone or is not as it was read. */
export interface Update {
  readonly kind: "update";
  readonly rows: Rows;
  /** The values that it takes for each row. */
  readonly given: Readonly<Record<string, Column>>;
  /** SQL of the assignments and of the condition; `value` gives the SQL of a given value. */
  set(value: TextOf): string;
  /** Whether it only adds to values: changes of a row can then be added up and written at once. */
  readonly isSum: boolean;
  where(value: TextOf): string;
  of(changes: Changes): Iterable<Readonly<Record<string, unknown>>>;
}

type TextOf = (member: string) => string;

function insert<Described extends Rows>(
  rows: Described,
  of: (changes: Changes) => Iterable<RowOf<Described>>,
): Insert {
  return { kind: "insert", rows, isOnce: false, of };
}

/** SQL behind the values of an insert. */
export function endOf({ isOnce }: Pick<Insert, "isOnce">): string {
  return isOnce ? "on conflict do nothing" : "";
}

/** The members that it sets, those that it adds to, and its conditions on the row beside the key. */
interface Changed<Member> {
  readonly set?: readonly Member[];
  readonly add?: readonly Member[];
  readonly given?: Readonly<Record<string, Column>>;
  readonly where?: (value: TextOf) => string;
}

function update<Described extends Rows, Member extends keyof RowOf<Described> & string>(
  rows: Described,
  { set = [], add = [], given = {}, where = () => "true" }: Changed<Member>,
  of: (changes: Changes) => Iterable<Pick<RowOf<Described>, Member>>,
): Update {
  const { table, key, keyColumn, columns } = rows;
  const some = (members: readonly string[]) =>
    Object.entries(columns).filter(([member]) => members.includes(member));
  return {
    kind: "update",
    rows,
    isSum: set.length === 0,
    given: { ...Object.fromEntries(some([key, ...set, ...add])), ...given },
    set: (value) =>
      [
        ...some(set).map(([member, { name }]) => `${name} = ${value(member)}`),
        ...some(add).map(([member, { name }]) => `${name} = ${table}.${name} + ${value(member)}`),
      ].join(", "),
    where: (value) => `${table}.${keyColumn} = ${value(key)} and ${where(value)}`,
    of,
  };
}

/** Holds and their money, in the order of writing. */
export const MONEY_WRITES: readonly Write[] = [
  { ...insert(PRICE_VERSIONS, ({ prices }) => prices.values()), isOnce: true },
  update(
    ACCOUNTS,
    {
      add: ["balance", "held"],
      where: (value) =>
        `accounts.held + ${value("held")} >= 0 and accounts.balance + ${value("balance")} >= accounts.held + ${value("held")}`,
    },
    ({ accounts }) => accounts.values(),
  ),
  update(KEYS, { add: ["spent", "held"] }, ({ keys }) => keys.values()),
  insert(HOLDS, ({ newHolds }) => newHolds.values()),
  update(
    HOLDS,
    {
      set: ["expectedCost", "state", "settled", "endReason", "endedAtMs"],
      where: () => "holds.ended_at_ms is null",
    },
    ({ endedHolds }) => endedHolds.values(),
  ),
  insert(ENTRIES, ({ entries }) => entries),
  insert(REQUESTS, ({ requests }) => requests),
];

/** Tasks, which follow their money. */
export const TASK_WRITES: readonly Write[] = [
  insert(TASKS, ({ newTasks }) => newTasks.values()),
  update(
    TASKS,
    {
      set: [
        "state",
        "epoch",
        "owner",
        "leaseUntilMs",
        "provider",
        "job",
        "attempts",
        "refusals",
        "result",
        "errorType",
        "errorMessage",
        "charge",
        "filesUntilMs",
        "startedAtMs",
        "endedAtMs",
      ],
      given: { was: TASKS.columns.state, atEpoch: TASKS.columns.epoch },
      where: (value) => `tasks.state = ${value("was")} and tasks.epoch = ${value("atEpoch")}`,
    },
    ({ changedTasks }) => changedTasks.values(),
  ),
];
