import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { SQLITE } from "../../test/gateway/engines.ts";
import { useBooks } from "../../test/ledger/books.ts";
import { createEndings } from "./endings.ts";

const books = useBooks(SQLITE);
const POLL_MS = 500;

function open() {
  const clock = createFakeClock();
  let reads = 0;
  const database = books.store.database.withPlugin({
    transformQuery({ node }) {
      reads += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  return { clock, endings: createEndings({ database, clock, pollMs: POLL_MS }), reads: () => reads };
}

test("of two that wait for a task one may leave: the other is told", async () => {
  const { clock, endings } = open();
  const leaving = new AbortController();
  const told: string[] = [];
  const first = endings.wait("task", leaving.signal);
  void endings.wait("task", new AbortController().signal).then(() => told.push("second"));
  const left = first.catch((error: unknown) => String(error));
  leaving.abort(new Error("gone"));
  expect(await left).toBe("Error: gone");
  endings.ended("task");
  await clock.advance(0);
  expect(told).toEqual(["second"]);
});

test("the store is asked after a task as long as anybody waits for it, and no longer", async () => {
  const { clock, endings, reads } = open();
  const leaving = [new AbortController(), new AbortController()];
  const waits = Promise.allSettled(leaving.map(({ signal }) => endings.wait("task", signal)));
  const readsIn = async (polls: number): Promise<number> => {
    const before = reads();
    for (let i = 0; i < polls; i += 1) await clock.advance(POLL_MS);
    return reads() - before;
  };
  expect(await readsIn(4)).toBe(4);
  leaving[0]!.abort(new Error("gone"));
  expect(await readsIn(4)).toBe(4);
  leaving[1]!.abort(new Error("gone"));
  expect((await waits).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await readsIn(1);
  expect(await readsIn(4)).toBe(0);
});
