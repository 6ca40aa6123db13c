import { expect, test } from "bun:test";
import { describeOnEngines } from "../../../test/gateway/engines.ts";
import { useBooks } from "../../../test/ledger/books.ts";
import { readSpendable, type Spendable } from "./spendable.ts";

describeOnEngines("what a key may still spend", (engine) => {
  const books = useBooks(engine);
  const read = (key: string): Promise<Spendable | undefined> =>
    readSpendable(books.store.database, books.id(key), books.held());

  test("is what its account has free, and what its budget leaves beside what it spent and holds", async () => {
    await books.apply(
      books.issueKey("bounded", { budget: 50n }),
      books.grant("g", 100n),
      books.hold("h", 20n),
      books.hold("spent", 10n, { key: books.id("bounded") }),
      books.settle("spent", 7n, { key: books.id("bounded") }),
      books.hold("held", 5n, { key: books.id("bounded") }),
    );
    expect(await read("k")).toEqual({ free: 68n, budget: null });
    expect(await read("bounded")).toEqual({ free: 68n, budget: 38n });
  });

  test("is all of both where nothing is held", async () => {
    await books.apply(books.issueKey("bounded", { budget: 50n }), books.grant("g", 100n));
    expect(await read("bounded")).toEqual({ free: 100n, budget: 50n });
  });

  test("of a key that is not there is not known", async () => {
    expect(await read("nobody")).toBeUndefined();
  });
});
