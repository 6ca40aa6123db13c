import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { commandsFor, RUNS } from "../../../test/ledger/books.ts";
import type { HoldCredit, Outcome } from "../commands.ts";
import { decide } from "../decide/books.ts";
import { type BooksState, noState } from "../decide/state.ts";
import { type Allotted, decideShared } from "./contested.ts";

const { hold } = commandsFor((name) => name);

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
