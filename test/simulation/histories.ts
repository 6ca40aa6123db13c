import fc from "fast-check";
import { ABANDONED, type Command, type HoldCredit, type MoneyCommand } from "../../src/ledger/commands.ts";
import type { SubmitTask } from "../../src/ledger/task-commands.ts";
import { taskCommandOf, type TaskStep, taskStep } from "./task-histories.ts";

/** What happens next, in small numbers, so that accounts run dry, holds meet their ends and causes repeat. */
type Step =
  | { readonly do: "account"; readonly who: number }
  | { readonly do: "grant"; readonly who: number; readonly cause: number; readonly amount: bigint }
  | { readonly do: "issue"; readonly who: number; readonly budget: number | null; readonly expires: boolean }
  | { readonly do: "change"; readonly key: number; readonly budget: number | null }
  | { readonly do: "revoke"; readonly key: number }
  | { readonly do: "close" | "revoke all"; readonly who: number }
  | { readonly do: "hold"; readonly hold: HoldStep }
  | { readonly do: "settle"; readonly at: number; readonly used: "as held" | number }
  | { readonly do: "void"; readonly at: number; readonly outcome: number }
  | { readonly do: "repeat"; readonly at: number }
  | { readonly do: "task"; readonly step: TaskStep };

interface HoldStep {
  readonly key: number;
  /** Asks for the key with an account that it may not belong to. */
  readonly other: boolean;
  readonly amount: number;
  readonly expected: number;
  readonly elastic: { readonly price: number; readonly floor: number; readonly more: number } | null;
}

const amount = fc.oneof(
  { weight: 12, arbitrary: fc.bigInt({ min: -60n, max: 150n }) },
  { weight: 1, arbitrary: fc.constantFrom(2n ** 53n - 1n, 2n ** 53n - 200n, 1n - 2n ** 53n) },
);
const budget = fc.option(fc.nat(90), { freq: 3 });
/** Recent ones are meant more often than old ones. */
const at = fc.oneof(fc.nat(2), fc.nat(7), fc.nat(40));

const holdStep: fc.Arbitrary<HoldStep> = fc.record({
  key: fc.nat(3),
  other: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  amount: fc.nat(40),
  expected: fc.nat(50),
  elastic: fc.option(fc.record({ price: fc.nat(3), floor: fc.nat(4), more: fc.nat(20) }), { freq: 2 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant("account" as const), who: fc.nat(2) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("grant" as const), who: fc.nat(2), cause: fc.nat(30), amount }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("issue" as const),
      who: fc.nat(2),
      budget,
      expires: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("change" as const), key: fc.nat(5), budget }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("revoke" as const), key: fc.integer({ min: 2, max: 9 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("close" as const, "revoke all" as const),
      // Mostly the account that comes late or never: with the others' goes much of what a history tries.
      who: fc.oneof({ weight: 5, arbitrary: fc.constant(2) }, { weight: 1, arbitrary: fc.nat(1) }),
    }),
  },
  { weight: 9, arbitrary: fc.record({ do: fc.constant("hold" as const), hold: holdStep }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      at,
      used: fc.oneof(fc.constant("as held" as const), fc.nat(90)),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("void" as const), at, outcome: fc.nat(4) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("repeat" as const), at }) },
  { weight: 25, arbitrary: fc.record({ do: fc.constant("task" as const), step: taskStep }) },
);

/** A history in batches, and names that keep it apart from others in one store. */
export type Steps = readonly (readonly Step[])[];

/** Histories in arbitrary batches. */
export const histories: fc.Arbitrary<Steps> = fc.array(fc.array(step, { minLength: 1, maxLength: 9 }), {
  minLength: 1,
  maxLength: 18,
  size: "max",
});

/** The commands of a history: two accounts with a key each come first; `name` keeps it apart from others in a store. */
export function commandsOf(steps: Steps, name: string): Command[][] {
  const world = newWorld(name);
  const opening = [0, 1].flatMap((who): Command[] => [
    world.account(who, 0),
    world.grant(who, `${name}-first-${who}`, 100n, 0),
    world.issue(who, null, null, 0),
  ]);
  return [
    opening,
    ...steps.map((batch, i) => batch.map((next) => world.remembered(commandOf(world, next, (i + 1) * 1000)))),
  ];
}

type World = ReturnType<typeof newWorld>;

function newWorld(name: string) {
  const past: Command[] = [];
  const holds: HoldCredit[] = [];
  const keys: string[] = [];
  const submitted: SubmitTask[] = [];
  const accountId = (who: number): string => `${name}-acct-${who}`;
  return {
    past,
    holds,
    keys,
    submitted,
    accountId,
    name,
    remembered(command: Command): Command {
      past.push(command);
      return command;
    },
    account: (who: number, nowMs: number): Command => ({
      kind: "create_account",
      account: accountId(who),
      name: "any",
      nowMs,
    }),
    grant: (who: number, cause: string, amount: bigint, nowMs: number): Command => ({
      kind: "grant",
      cause,
      account: accountId(who),
      amount,
      reason: "any",
      requestId: cause,
      nowMs,
    }),
    issue(who: number, budget: number | null, expiresAtMs: number | null, nowMs: number): Command {
      const key = `${name}-key-${keys.length}-${who}`;
      keys.push(key);
      return {
        kind: "issue_key",
        key,
        account: accountId(who),
        name: "any",
        hash: key,
        hint: "any",
        models: null,
        budget: budget === null ? null : BigInt(budget),
        expiresAtMs,
        nowMs,
      };
    },
  };
}

function commandOf(world: World, next: Step, nowMs: number): Command {
  const key = (n: number): string => world.keys[n] ?? `${world.name}-key-of-nobody`;
  switch (next.do) {
    case "account":
      return world.account(next.who, nowMs);
    case "grant":
      return world.grant(next.who, `${world.name}-${next.cause}`, next.amount, nowMs);
    case "issue":
      return world.issue(next.who, next.budget, next.expires ? nowMs + 3000 : null, nowMs);
    case "change":
      return {
        kind: "change_key",
        key: key(next.key),
        budget: next.budget === null ? null : BigInt(next.budget),
      };
    case "revoke":
      return { kind: "revoke_key", key: key(next.key), nowMs };
    case "close":
      return { kind: "close_account", account: world.accountId(next.who) };
    case "revoke all":
      return { kind: "revoke_keys", account: world.accountId(next.who), nowMs };
    case "hold":
      return holdOf(world, next.hold, nowMs);
    case "settle":
    case "void":
      return endOf(world, next, nowMs);
    case "task":
      return taskCommandOf(world, next.step, nowMs);
    case "repeat":
      // Equal, but not the same object: it was sent by another.
      return { ...(world.past.at(-1 - next.at) ?? world.account(0, nowMs)) };
  }
}

function holdOf(world: World, step: HoldStep, nowMs: number): Command {
  const key = world.keys[step.key % world.keys.length]!;
  const owner = Number(key.slice(key.lastIndexOf("-") + 1));
  const id = `${world.name}-hold-${world.holds.length}`;
  const made: HoldCredit = {
    kind: "hold",
    hold: id,
    account: world.accountId(step.other ? (owner + 1) % 2 : owner),
    key,
    requestId: `${id}-request`,
    boot: "boot",
    model: "any",
    amount: BigInt(step.amount),
    ...(step.elastic === null
      ? {}
      : {
          elastic: {
            tokenPrice: BigInt(step.elastic.price),
            floorTokens: step.elastic.floor,
            maxTokens: step.elastic.floor + step.elastic.more,
          },
        }),
    expectedCost: BigInt(step.expected),
    priceVersion: "any",
    priceRules: "{}",
    nowMs,
    expiresAtMs: nowMs + 7_200_000,
  };
  world.holds.push(made);
  return made;
}

function endOf(world: World, next: Step & { do: "settle" | "void" }, nowMs: number): MoneyCommand {
  const made = world.holds.at(-1 - next.at);
  const end = {
    hold: made?.hold ?? `${world.name}-hold-of-nobody`,
    account: made?.account ?? world.accountId(0),
    key: made?.key ?? world.keys[0]!,
    nowMs,
  };
  if (next.do === "void") {
    const outcome = [...ABANDONED, "client_gone"][next.outcome] ?? "process_died";
    return { kind: "void", ...end, outcome };
  }
  const used = next.used === "as held" ? (made?.amount ?? 0n) : BigInt(next.used);
  const settle = { kind: "settle", ...end, outcome: "completed", used, usage: "{}", flags: [] } as const;
  return used % 3n === 1n ? { ...settle, served: ANOTHER, cost: used * 2n } : settle;
}

/** A model that serves in the place of that of the hold. */
const ANOTHER = { model: "another", priceVersion: "another", priceRules: "{}" };
