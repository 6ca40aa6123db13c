import { describe, expect, test } from "bun:test";
import { stateRead } from "../../../test/ledger/state-read.ts";
import { taskCommandsFor } from "../../../test/ledger/task-commands.ts";
import type { HoldRow } from "../rows.ts";
import { decide } from "./books.ts";

const { submit, claim, finish, cancel, fail } = taskCommandsFor((name) => name);

test("a task is awaited by the process whose request waits for it, and by none else", () => {
  const awaitedBy = (more: Parameters<typeof submit>[2]) =>
    decide(stateRead({}), [submit("x", 1n, more)]).changes.newTasks.get("x")?.awaitedBy;
  expect([awaitedBy({ awaited: true }), awaitedBy({ awaited: false }), awaitedBy({})]).toEqual([
    "b1",
    null,
    null,
  ]);
});

describe("a task cannot go on", () => {
  const cases: readonly { name: string; hold: Partial<HoldRow> | undefined; failure: string }[] = [
    { name: "whose hold is gone", hold: undefined, failure: "The task x has no hold." },
    { name: "whose hold is another's", hold: { task: "y" }, failure: "The task x has no hold." },
    {
      name: "whose hold has ended",
      hold: { state: "voided" },
      failure: "The hold of the task x has ended before it.",
    },
  ];
  for (const { name, hold, failure } of cases)
    test(name, () => {
      for (const command of [submit("x", 1n), finish("x", 1n), fail("x")]) {
        const read = stateRead({});
        decide(read, [submit("x", 10n), claim("x")]);
        if (hold === undefined) read.holds.delete("x-hold");
        else read.holds.set("x-hold", { ...read.holds.get("x-hold")!, ...hold });
        expect(decide(read, [command]).outcomes).toEqual([{ failure }]);
      }
    });

  test("but one that has ended with its hold answers once more what it held", () => {
    const read = stateRead({});
    const { outcomes } = decide(read, [submit("x", 10n), cancel("x"), submit("x", 10n)]);
    expect(outcomes.at(-1)).toEqual({ answer: { ok: true, amount: 10n } });
  });
});
