import { type Clock, wait } from "../../core/time/clock.ts";
import type { Command, Heartbeat, Outcome, Void } from "../commands.ts";
import type { Held, Now, OpenHolds } from "../open-holds.ts";
import type { HoldRow, PriceVersionRow } from "../rows.ts";
import type { Executor } from "../writer.ts";
import type { Recalled } from "./allotment-statements.ts";
import type { SharedEvents, SharedTables } from "./allotment-tables.ts";
import { isConnectionFault, isStoreFault } from "./connection.ts";
import type { HoldNotes } from "./hold-notes.ts";
import { close, type Kept, move, nothingKept, releaseDead, settleDoubt } from "./keeping.ts";
import { amountOf, decideEnds, type End, heldOf, type PricesOf, type Reserve } from "./reserves.ts";
import { createTaker, holdNow, type InTurn } from "./taking.ts";

/** The books as one of several processes keeps them: it holds from allotments in memory, and else over the tables. */
export interface SharedKeeper extends Executor, OpenHolds {
  /** Whether a command of the batch before might have been refused for the account's allotments alone; asked with its answers. */
  wasContested(account: string): boolean;
  /** Has every process give back what it has of an account; `false` where one of them does not answer. */
  recall(of: Recalled): Promise<boolean>;
  /** Frees what dead processes had, and books what their holds probably cost; gives the number of those holds. */
  release(): Promise<number>;
  /** How long a lease lasts, in milliseconds. */
  leaseMs(): number;
}

/** What a keeper is made of. */
export interface SharedKeeperParts {
  readonly openTables: (events: SharedEvents) => SharedTables;
  readonly clock: Clock;
  /** Notes of holds that outlive this process; absent where there is no folder for them. */
  readonly notes?: HoldNotes | undefined;
  /** Called when the store refuses for good to book what a hold probably cost: that loss stands nowhere. */
  readonly onUnbooked?: ((hold: HoldRow, reason: string) => void) | undefined;
}

/** How long other processes are waited for. */
const RECALL_MS = 1_500;
/** The first pause between looks; each is twice as long as the one before. */
const LOOK_MS = 5;

/** Opens nothing before it is used. */
export function openSharedKeeper(parts: SharedKeeperParts): SharedKeeper {
  const { openTables, clock, notes, onUnbooked = () => {} } = parts;
  const contests = createContests();
  const tables = openTables({
    onRecall: (account) => void closeAccount(account).catch(() => undefined),
    onMissed: () => void closeThose(() => true).catch(() => undefined),
    onDecided: (accounts) => contests.note(accounts),
  });
  const kept = nothingKept({ tables, clock, notes, onUnbooked });
  const taker = createTaker(kept);
  let last: Promise<unknown> = Promise.resolve();
  /** What changes allotments, or writes of them, is done one at a time. */
  const inTurn: InTurn = (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };

  const closeAccount = (account: string): Promise<void> =>
    closeThose((reserve) => reserve.account === account);

  const closeThose = (which: (reserve: Reserve) => boolean): Promise<void> => {
    const closing = (): readonly Reserve[] => {
      const those = [...kept.reserves.values()].filter(which);
      for (const reserve of those) reserve.isClosing = true;
      return those;
    };
    // At once, so that no hold is made of them; and in turn, for one that is on its way here.
    closing();
    return inTurn(async () => {
      const those = closing();
      // One that came to be after its answer was lost is in the tables alone.
      if (those.length > 0) await close(kept, those);
      else await compareOwn(kept);
    });
  };

  return {
    hold(command, direct) {
      const made = holdNow(kept, command);
      if (made !== undefined) return made;
      if (!taker.mayTake(command)) return direct(command);
      return taker.take(command, inTurn).then(() => holdNow(kept, command) ?? direct(command));
    },
    execute: (commands) =>
      inTurn(async () => {
        contests.begin();
        const outcomes = await execute(kept, commands).catch((error: unknown) => {
          // The store was away: others get a whole lease to renew theirs before anything of them is freed.
          const { lease } = kept;
          if (lease !== undefined && commands.some(({ kind }) => kind === "heartbeat"))
            kept.lease = { ...lease, sinceMs: Infinity };
          throw error;
        });
        const beat = commands.findLast((command, i) => isDone(command, outcomes[i]));
        if (beat !== undefined) {
          renew(kept, beat as Heartbeat);
          void inTurn(() => tend(kept)).catch(() => undefined);
        }
        return outcomes;
      }),
    count: () => kept.byHold.size,
    held: () => heldIn(kept),
    abandoned: (now) => expired(kept, now),
    compare: () => inTurn(() => compare(kept)),
    wasContested: (account) => contests.has(account),
    leaseMs: () => kept.lease?.leaseMs ?? 0,
    recall: (of) => recall({ kept, inTurn, closeAccount }, of),
    release: () => inTurn(() => releaseDead(kept)),
    async close() {
      await inTurn(() => close(kept, [...kept.reserves.values()])).catch(() => undefined);
      notes?.close(kept.reserves.size === 0);
      await tables.close();
    },
  };
}

/** Accounts that were contested when they were last decided over; a batch may be decided in parts. */
function createContests() {
  const contested = new Map<string, number>();
  let batches = 0;
  return {
    begin: (): void => void (batches += 1),
    note(accounts: ReadonlyMap<string, boolean>): void {
      for (const [account, isContested] of accounts)
        if (isContested) contested.set(account, batches);
        else if (contested.get(account) !== batches) contested.delete(account);
    },
    has: (account: string): boolean => contested.has(account),
  };
}

/** Asks every process, itself too, until nothing is left of the account, or for as long as others are waited for. */
async function recall(
  {
    kept,
    inTurn,
    closeAccount,
  }: {
    readonly kept: Kept;
    readonly inTurn: InTurn;
    readonly closeAccount: (account: string) => Promise<void>;
  },
  of: Recalled,
): Promise<boolean> {
  const { tables, clock } = kept;
  const account = await inTurn(() => tables.recall(of));
  if (account === undefined) return true;
  await closeAccount(account);
  const sinceMs = clock.steadyMs();
  for (let pauseMs = LOOK_MS; ; pauseMs *= 2) {
    const { lease } = kept;
    // After an outage of the store every process gets a whole lease to renew its own.
    if (lease !== undefined && clock.steadyMs() - lease.sinceMs >= lease.leaseMs)
      await inTurn(() => tables.free([account], { deadBut: lease.boot }));
    if ((await inTurn(() => tables.left(account))).length === 0) return true;
    if (clock.steadyMs() - sinceMs >= RECALL_MS) return false;
    await wait(clock, pauseMs);
  }
}

const isDone = (command: Command, outcome: Outcome | undefined): boolean =>
  command.kind === "heartbeat" && outcome !== undefined && "answer" in outcome;

/** Retries after others were quicker. */
const MAX_TRIES = 3;

async function execute(kept: Kept, commands: readonly Command[]): Promise<readonly Outcome[]> {
  const leaving = commands.some(({ kind, ...more }) => kind === "leave" && isOwn(kept, more));
  if (leaving) await leave(kept);
  const outcomes = new Map<Command, Outcome>();
  await settleDoubt(kept);
  for (let tries = 1; ; tries += 1) {
    const { ends, above } = endsIn(
      kept,
      commands.filter((command) => !outcomes.has(command)),
    );
    // A charge above the hold is decided over what is free of the whole account, and so are ends that come with it.
    if (above.size > 0) {
      await closeNow(
        kept,
        [...kept.reserves.values()].filter(({ account }) => above.has(account)),
      );
      continue;
    }
    if (ends.size === 0) break;
    try {
      if (await save(kept, ends, outcomes)) continue;
    } catch (error) {
      if (isConnectionFault(error) || isStoreFault(error)) throw error;
      // One of them is refused. Over the tables it is found out which, and the others do not fail with it.
      await settleDoubt(kept);
      const refused = new Set([...ends.values()].flat().map(({ hold }) => hold));
      await move(kept, [...ends.keys()], ({ id }) => refused.has(id));
    }
    if (tries >= MAX_TRIES) throw new Error("The allotments were not as they had been.");
    await settleDoubt(kept);
  }
  const others = commands.filter((command) => !outcomes.has(command));
  if (others.length > 0) {
    const done = await kept.tables.run(others);
    others.forEach((command, i) => outcomes.set(command, done[i] as Outcome));
  }
  return commands.map((command) => outcomes.get(command) as Outcome);
}

const isOwn = ({ lease }: Kept, command: object): boolean =>
  lease !== undefined && "boot" in command && command.boot === lease.boot;

/** From here on the tables have every hold. */
async function leave(kept: Kept): Promise<void> {
  const { lease } = kept;
  if (lease !== undefined) kept.lease = { ...lease, untilMs: -Infinity };
  await settleDoubt(kept);
  await closeNow(kept, [...kept.reserves.values()]);
}

/** Nothing else is in its turn: no hold is made before they are back. */
function closeNow(kept: Kept, reserves: readonly Reserve[]): Promise<void> {
  for (const reserve of reserves) reserve.isClosing = true;
  return close(kept, reserves);
}

/** The first end of each hold in memory, and the accounts of those that charge more than is held. */
function endsIn({ byHold }: Kept, commands: readonly Command[]) {
  const ends = new Map<Reserve, End[]>();
  const above = new Set<string>();
  const known = new Set<string>();
  for (const command of commands) {
    if ((command.kind !== "settle" && command.kind !== "void") || known.has(command.hold)) continue;
    const reserve = byHold.get(command.hold);
    const hold = reserve?.state.holds.get(command.hold);
    if (reserve === undefined || hold === undefined) continue;
    known.add(command.hold);
    if (command.kind === "settle" && command.used > hold.amount) above.add(command.account);
    else ends.getOrInsertComputed(reserve, () => []).push(command);
  }
  return { ends, above };
}

/** Writes ends; `false` where the tables are not as memory has them. */
async function save(
  kept: Kept,
  ends: ReadonlyMap<Reserve, readonly End[]>,
  outcomes: Map<Command, Outcome>,
): Promise<boolean> {
  const pricesOf: PricesOf = (version, given = kept.prices.get(version)) =>
    kept.stored.has(version) ? undefined : given;
  const ended = decideEnds(ends, pricesOf);
  kept.isInDoubt = true;
  // Memory has all of them: that one is not found is no answer.
  if ([...ended.outcomes.values()].some(isUnknown)) return false;
  if (!(await kept.tables.save(ended.saving))) return false;
  kept.isInDoubt = false;
  for (const version of ended.saving.changes.prices.keys()) kept.stored.add(version);
  for (const id of ended.saving.changes.newHolds.keys()) kept.byHold.delete(id);
  ended.apply();
  for (const [end, outcome] of ended.outcomes) outcomes.set(end, outcome);
  return true;
}

const isUnknown = (outcome: Outcome): boolean =>
  "answer" in outcome && !outcome.answer.ok && outcome.answer.reason === "unknown_hold";

/** The lease lasts from when the heartbeat was made. Once it had run out, others may have freed the allotments. */
function renew(kept: Kept, { boot, steadyMs, leaseMs }: Heartbeat): void {
  const before = kept.lease;
  const nowMs = kept.clock.steadyMs();
  const isUnbroken = before !== undefined && before.boot === boot && nowMs < before.untilMs;
  if (!isUnbroken) for (const reserve of kept.reserves.values()) reserve.isClosing = true;
  const sinceMs = isUnbroken ? Math.min(before.sinceMs, nowMs) : nowMs;
  kept.lease = { boot, leaseMs, sinceMs, untilMs: steadyMs + leaseMs };
  // Another on the same folder may have taken it for dead, and removed its notes.
  if (!isUnbroken) kept.notes?.open(boot, () => intentsOf(kept));
}

function* intentsOf({ reserves, prices }: Kept) {
  for (const { state } of reserves.values())
    for (const hold of state.holds.values())
      yield { hold, prices: prices.get(hold.priceVersion) as PriceVersionRow };
}

/** Goes on from what the tables have of this process, where it has ever taken anything. */
async function compareOwn(kept: Kept): Promise<void> {
  if (kept.nextNumber === 0) return;
  kept.isInDoubt = true;
  await settleDoubt(kept);
}

/**
 * Runs from time to time. It compares what the tables have, and gives back allotments that are not used. It moves holds
 * that are open for long to the tables, and tells them what else is held.
 */
async function tend(kept: Kept): Promise<void> {
  const { clock, lease, reserves } = kept;
  if (lease === undefined) return;
  await compareOwn(kept);
  const unusedMs = clock.steadyMs() - lease.leaseMs;
  const unused = [...reserves.values()].filter(
    ({ isClosing, usedAtMs, state }) => isClosing || (usedAtMs < unusedMs && state.holds.size === 0),
  );
  await closeNow(kept, unused);
  const oldMs = clock.nowMs() - lease.leaseMs / 3;
  await move(kept, [...reserves.values()], ({ createdAtMs }) => createdAtMs <= oldMs);
}

function heldIn({ reserves }: Kept): Held {
  const accounts = new Map<string, bigint>();
  const keys = new Map<string, bigint>();
  for (const reserve of reserves.values()) {
    accounts.set(reserve.account, (accounts.get(reserve.account) ?? 0n) + heldOf(reserve));
    keys.set(reserve.key, (keys.get(reserve.key) ?? 0n) + heldOf(reserve));
  }
  return { accounts, keys };
}

function expired({ reserves }: Kept, { nowMs, steadyMs }: Now): readonly Void[] {
  return [...reserves.values()].flatMap(({ state }) =>
    [...state.holds.values()]
      .filter(({ expiresAtMs }) => expiresAtMs < steadyMs)
      .map(({ id: hold, account, key }) => ({
        kind: "void",
        hold,
        account,
        key,
        outcome: "expired",
        nowMs,
      })),
  );
}

/** Allotments that the tables have with another amount. */
async function compare(kept: Kept): Promise<readonly string[]> {
  const { tables, lease, reserves } = kept;
  if (lease === undefined || reserves.size === 0) return [];
  await settleDoubt(kept);
  const { allotments } = await tables.own(lease.boot, []);
  const amounts = new Map(allotments.map(({ id, amount }) => [id, amount]));
  return [...reserves.values()].filter((each) => amounts.get(each.id) !== amountOf(each)).map(({ id }) => id);
}
