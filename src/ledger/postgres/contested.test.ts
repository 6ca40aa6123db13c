import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { commandsFor, RUNS } from "../../../test/ledger/books.ts";
import type { HoldCredit, MoneyCommand, Outcome } from "../commands.ts";
import { decide } from "../decide/books.ts";
import { type BooksState, noState } from "../decide/state.ts";
import { type Allotted, decideShared, isForCredit } from "./contested.ts";

const { grant, hold, settle } = commandsFor((name) => name);

/** One account with two keys; of each, what is free and what is allotted. */
interface Case {
  readonly free: number;
  readonly allotted: readonly [number, number];
  readonly budgets: readonly [number | null, number | null];
  readonly wanted: readonly {
    readonly key: 0 | 1;
    readonly amount: number;
    readonly most: number | undefined;
    readonly isFinal: boolean;
  }[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  free: fc.nat(60),
  allotted: fc.tuple(fc.nat(60), fc.nat(60)),
  budgets: fc.tuple(fc.option(fc.nat(120), { nil: null }), fc.option(fc.nat(120), { nil: null })),
  wanted: fc.array(
    fc.record({
      key: fc.constantFrom(0 as const, 1 as const),
      amount: fc.nat(40),
      most: fc.option(fc.integer({ min: 1, max: 80 }), { nil: undefined }),
      isFinal: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

/** The rows; with what is allotted as held, or free. */
function stateOf({ free, allotted, budgets }: Case, isHeld: boolean): BooksState {
  const state = noState();
  const sum = BigInt(allotted[0] + allotted[1]);
  state.accounts.set("a", {
    id: "a",
    status: "active",
    balance: BigInt(free) + sum,
    held: isHeld ? sum : 0n,
  });
  for (const i of [0, 1] as const) {
    const given = budgets[i];
    const budget = given === null ? null : BigInt(given);
    const held = isHeld ? BigInt(allotted[i]) : 0n;
    state.keys.set(`k${i}`, {
      id: `k${i}`,
      account: "a",
      revokedAtMs: null,
      expiresAtMs: null,
      budget,
      spent: 0n,
      held,
    });
  }
  return state;
}

const allottedOf = ({ allotted: [one, two] }: Case): Allotted => ({
  accounts: new Map([["a", BigInt(one + two)]]),
  keys: new Map([
    ["k0", BigInt(one)],
    ["k1", BigInt(two)],
  ]),
});

const commandsOf = ({ wanted }: Case): readonly HoldCredit[] =>
  wanted.map(({ key, amount, most, isFinal }, i) =>
    hold(`h${i}`, BigInt(amount), {
      key: `k${key}`,
      ...(most === undefined ? {} : { elastic: { tokenPrice: 1n, maxTokens: most, floorTokens: 1 } }),
      ...(isFinal ? { isBoundFinal: true } : {}),
    }),
  );

const isOk = (outcome: Outcome | undefined): boolean =>
  outcome !== undefined && "answer" in outcome && outcome.answer.ok;

describe("a decision beside allotments", () => {
  test("is contested wherever a refused hold would be made were they given back, and bounds no output by them", () => {
    let contests = 0;
    fc.assert(
      fc.property(cases, (made) => {
        const commands = commandsOf(made);
        const { outcomes, changes, contested } = decideShared(
          stateOf(made, true),
          allottedOf(made),
          commands,
        );
        expect(changes.newHolds.size).toBe(outcomes.filter(isOk).length);
        contests += contested.size;
        if (contested.size > 0) return;
        const accepted = commands.filter((_, i) => isOk(outcomes[i]));
        expect(decide(stateOf(made, false), accepted).outcomes).toEqual(outcomes.filter(isOk));
        for (const [i, command] of commands.entries())
          if (!isOk(outcomes[i]))
            expect(isOk(decide(stateOf(made, false), [...accepted, command]).outcomes.at(-1))).toBe(false);
      }),
      { ...RUNS, numRuns: RUNS.numRuns * 20 },
    );
    expect(contests).toBeGreaterThan(0);
  });

  test("is the usual one where nothing is allotted", () => {
    fc.assert(
      fc.property(cases, (drawn) => {
        const made: Case = { ...drawn, allotted: [0, 0] };
        const { outcomes, contested } = decideShared(stateOf(made, true), allottedOf(made), commandsOf(made));
        expect(contested.size).toBe(0);
        expect(outcomes).toEqual(decide(stateOf(made, false), commandsOf(made)).outcomes);
      }),
      RUNS,
    );
  });
});

/** What one command is decided among. */
interface Beside {
  readonly name: string;
  /** What is free of the account `a`, and what is allotted of it and of its key `k`. */
  readonly free: bigint;
  readonly allotted: bigint;
  /** What is free of the budget of `k`; absent: it has none. */
  readonly budget?: bigint;
  readonly command: MoneyCommand;
  readonly outcome: Outcome;
  readonly isContested: boolean;
}

const upTo = (maxTokens: number, more: Partial<HoldCredit> = {}): Partial<HoldCredit> => ({
  elastic: { tokenPrice: 1n, maxTokens, floorTokens: 1 },
  ...more,
});
const refused = (reason: "insufficient_credits" | "budget_exceeded" | "below_held"): Outcome => ({
  answer: { ok: false, reason },
});

const BESIDE: readonly Beside[] = [
  {
    name: "a hold that finds room",
    free: 10n,
    allotted: 20n,
    command: hold("h", 10n),
    outcome: { answer: { ok: true, amount: 10n } },
    isContested: false,
  },
  {
    name: "a hold that would find room were allotments given back",
    free: 10n,
    allotted: 20n,
    command: hold("h", 11n),
    outcome: refused("insufficient_credits"),
    isContested: true,
  },
  {
    name: "a hold that would find none in any case",
    free: 10n,
    allotted: 20n,
    command: hold("h", 31n),
    outcome: refused("insufficient_credits"),
    isContested: false,
  },
  {
    name: "a hold for which the budget would have room",
    free: 100n,
    allotted: 20n,
    budget: 5n,
    command: hold("h", 6n),
    outcome: refused("budget_exceeded"),
    isContested: true,
  },
  {
    name: "credit that is taken back from below what is allotted",
    free: 10n,
    allotted: 20n,
    command: grant("back", -11n),
    outcome: refused("below_held"),
    isContested: true,
  },
  {
    name: "an output that is bounded by allotments alone",
    free: 10n,
    allotted: 20n,
    command: hold("h", 4n, upTo(40)),
    outcome: refused("insufficient_credits"),
    isContested: true,
  },
  {
    name: "the same output once others were asked for what they have",
    free: 10n,
    allotted: 20n,
    command: hold("h", 4n, upTo(40, { isBoundFinal: true })),
    outcome: { answer: { ok: true, amount: 5n, outputTokens: 1 } },
    isContested: true,
  },
  {
    name: "an output that is as long as it may be",
    free: 88n,
    allotted: 20n,
    command: hold("h", 4n, upTo(40)),
    outcome: { answer: { ok: true, amount: 44n, outputTokens: 40 } },
    isContested: false,
  },
];

describe("beside allotments is decided:", () => {
  const stateWith = ({ free, allotted, budget }: Beside): BooksState => {
    const state = stateOf({ free: 0, allotted: [0, 0], budgets: [null, null], wanted: [] }, true);
    state.accounts.set("a", { id: "a", status: "active", balance: free + allotted, held: allotted });
    const key = state.keys.get("k0")!;
    const most = budget === undefined ? null : budget + allotted;
    state.keys.set("k", { ...key, id: "k", budget: most, held: allotted });
    // Of these nothing is allotted.
    state.accounts.set("b", { id: "b", status: "active", balance: 10n, held: 0n });
    state.keys.set("of b", { ...key, id: "of b", account: "b", budget: null });
    state.keys.set("poor", { ...key, id: "poor", account: "c", budget: 10n });
    state.accounts.set("c", { id: "c", status: "active", balance: 100n, held: 0n });
    return state;
  };
  const ofOthers: readonly MoneyCommand[] = [
    settle("nobody's", 1n),
    hold("made", 10n, { account: "b", key: "of b" }),
    // A failure: the hold is another account's.
    settle("made", 1n),
    hold("one too much", 1n, { account: "b", key: "of b" }),
    hold("over a budget", 11n, { account: "c", key: "poor" }),
  ];
  const othersAlone = decide(stateWith(BESIDE[0]!), ofOthers).outcomes;

  for (const made of BESIDE)
    test(`${made.name}, also among commands of others`, () => {
      const allotted: Allotted = {
        accounts: new Map([["a", made.allotted]]),
        keys: new Map([["k", made.allotted]]),
      };
      const contested = made.isContested ? ["a"] : [];
      const alone = decideShared(stateWith(made), allotted, [made.command]);
      expect([alone.outcomes, [...alone.contested]]).toEqual([[made.outcome], contested]);
      const isHeld = "answer" in made.outcome && made.outcome.answer.ok;
      expect([...alone.changes.newHolds.keys()]).toEqual(isHeld ? ["h"] : []);
      const among = decideShared(stateWith(made), allotted, [...ofOthers, made.command]);
      expect([among.outcomes, [...among.contested]]).toEqual([[...othersAlone, made.outcome], contested]);
    });

  test("an output that its budget bounds as it did before, and no process is asked for more", () => {
    const state = stateWith({ ...BESIDE[0]!, free: 100n });
    const allotted: Allotted = { accounts: new Map([["a", 20n]]), keys: new Map() };
    state.keys.set("k", { ...state.keys.get("k")!, budget: 20n, held: 0n });
    const { outcomes, contested } = decideShared(state, allotted, [hold("h", 4n, upTo(40))]);
    expect(outcomes).toEqual([{ answer: { ok: true, amount: 10n, outputTokens: 6 } }]);
    expect([...contested]).toEqual([]);
  });

  test("a refusal for want of credit is one of three", () => {
    for (const reason of ["insufficient_credits", "budget_exceeded", "below_held"] as const)
      expect(isForCredit({ ok: false, reason })).toBe(true);
    expect([isForCredit({ ok: false, reason: "unknown_hold" }), isForCredit({ ok: true })]).toEqual([
      false,
      false,
    ]);
  });
});
