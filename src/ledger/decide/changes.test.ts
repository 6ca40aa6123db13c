import { describe, expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { stateRead as state } from "../../../test/ledger/state-read.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import { MAX_MICRO_CREDITS } from "../../core/money/credits.ts";
import type { MoneyCommand } from "../commands.ts";
import type { KeyRow } from "../rows.ts";
import { decide } from "./books.ts";
import { hasChanges } from "./changes.ts";

const { grant, hold, settle } = commandsFor((name) => name);
const { submit, claim, finish, cancel } = taskCommandsFor((name) => name);

describe("what a batch writes", () => {
  test("is written where credit moved or a task changed, and only there", () => {
    const read = state({});
    const isWritten = (...commands: readonly MoneyCommand[]) => hasChanges(decide(read, commands).changes);
    expect([isWritten(), isWritten(hold("x", 41n)), isWritten(grant("g", 1n))]).toEqual([false, false, true]);
    expect([isWritten(submit("x", 10n)), isWritten(claim("x")), isWritten(claim("x"))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("is what was asked of a task until the task ends", () => {
    const read = state({});
    const kept = (...commands: readonly MoneyCommand[]) => {
      const { payloads, endedTasks } = decide(read, commands).changes;
      return [[...payloads.keys()], [...endedTasks]];
    };
    expect(kept(submit("x", 1n), submit("y", 1n), cancel("y"))).toEqual([["x"], []]);
    expect(kept(claim("x"))).toEqual([[], []]);
    expect(kept(finish("x", 1n))).toEqual([[], ["x"]]);
  });

  test("is a grant once, where the batch has it twice", () => {
    const { outcomes, changes } = decide(state({}), [grant("g", 7n), grant("g", 7n), grant("g", 8n)]);
    const given = { answer: { ok: true, balance: 107n } } as const;
    expect(outcomes).toEqual([given, given, { answer: { ok: false, reason: "other_grant" } }]);
    expect(changes.entries).toHaveLength(1);
  });

  test("counts at once for the commands behind it", () => {
    const answers = (key: Partial<KeyRow>, ...commands: readonly MoneyCommand[]) =>
      decide(state({ key }), commands).outcomes.at(-1);
    const budget = { budget: 70n, spent: 0n };
    expect(answers(budget, settle("h", 20n), hold("x", 50n))).toMatchObject({ answer: { ok: true } });
    expect(answers(budget, settle("h", 20n), hold("x", 51n))).toEqual({
      answer: { ok: false, reason: "budget_exceeded" },
    });
  });
});

test("an account can have all that a number can tell, and no more", () => {
  const given = (amount: bigint) => decide(state({}), [grant("g", amount)]).outcomes[0];
  expect(given(MAX_MICRO_CREDITS - 100n)).toEqual({ answer: { ok: true, balance: MAX_MICRO_CREDITS } });
  expect(given(MAX_MICRO_CREDITS - 99n)).toEqual({ answer: { ok: false, reason: "too_large" } });
});

test("a closed account is given nothing more, and what it has left may be taken back", () => {
  const given = (amount: bigint) =>
    decide(state({ account: { status: "disabled" } }), [grant("g", amount)]).outcomes[0];
  expect(given(1n)).toEqual({ answer: { ok: false, reason: "closed" } });
  expect(given(0n)).toEqual({ answer: { ok: true, balance: 100n } });
  expect(given(-40n)).toEqual({ answer: { ok: true, balance: 60n } });
});
