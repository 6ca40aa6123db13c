import { expect, test } from "bun:test";
import { commandsFor } from "../../../test/ledger/books.ts";
import { noState, type References } from "../decide/state.ts";
import { openKeeper } from "./keeper.ts";

const { hold, settle, voided } = commandsFor((name) => name);

/** A keeper over tables that have an account with credit and its key, and what it reads of them. */
async function open() {
  const read: References[] = [];
  const keeper = await openKeeper({
    store: {
      async load(references) {
        read.push(references);
        const state = noState();
        state.accounts.set("a", { id: "a", status: "active", balance: 1_000n, held: 0n });
        state.keys.set("k", {
          id: "k",
          account: "a",
          revokedAtMs: null,
          expiresAtMs: null,
          budget: null,
          spent: 0n,
          held: 0n,
        });
        return state;
      },
      write: async () => ({ rows: [] }),
      current: async () => {},
      close: async () => {},
    },
    left: [],
    openIntents: () => ({ note() {}, close() {} }),
    lost: () => undefined,
  });
  return { keeper, read };
}

test("a hold of an account in memory and its end read nothing", async () => {
  const { keeper, read } = await open();
  await keeper.hold(hold("first", 10n));
  expect(read).toHaveLength(1);
  for (const name of ["one", "other"]) await keeper.hold(hold(name, 10n));
  expect(await keeper.execute([settle("one", 3n), voided("other")])).toEqual([
    { answer: { ok: true, charged: 3n } },
    { answer: { ok: true } },
  ]);
  expect(read).toHaveLength(1);
  expect([keeper.count(), keeper.held().accounts.get("a")]).toEqual([1, 10n]);
});

test("a hold is abandoned when its time is over, and when its process is another than this", async () => {
  const { keeper } = await open();
  for (const boot of ["this", "before"])
    for (const expiresAtMs of [99, 100, 101])
      await keeper.hold(hold(`${boot} ${expiresAtMs}`, 1n, { boot, expiresAtMs }));
  const abandoned = keeper.abandoned({ bootId: "this", nowMs: 7, steadyMs: 100 });
  expect(await keeper.execute(abandoned)).toEqual(abandoned.map(() => ({ answer: { ok: true } })));
  expect(abandoned.map((end) => [end.hold, end.outcome, end.nowMs])).toEqual([
    ["this 99", "expired", 7],
    ["before 99", "expired", 7],
    ["before 100", "process_died", 7],
    ["before 101", "process_died", 7],
  ]);
});
