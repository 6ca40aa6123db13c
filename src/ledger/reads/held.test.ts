import { expect, test } from "bun:test";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import { kyselyOver } from "../../db/sqlite.ts";
import { readHeld } from "./held.ts";

test("what is held beyond the tables is this process's, and what other processes wrote down of theirs", async () => {
  const file = await openMemoryStore();
  // The rows of the keys do not matter here.
  file.execute("pragma foreign_keys = off");
  const database = kyselyOver(file);
  const allot = (boot: string, key: string, held: bigint) => ({
    id: `${boot} ${key}`,
    boot_id: boot,
    account_id: "a",
    key_id: key,
    amount: 100n,
    held,
  });
  await database
    .insertInto("allotments")
    .values([
      allot("own", "k", 50n),
      allot("other", "k", 7n),
      allot("third", "k", 1n),
      allot("other", "k2", 0n),
      allot("third", "k3", 2n),
    ])
    .execute();
  const own = { accounts: new Map([["a", 5n]]), keys: new Map([["k", 5n]]) };
  expect(await readHeld(database, "own", own)).toEqual({
    accounts: new Map([["a", 15n]]),
    keys: new Map([
      ["k", 13n],
      ["k3", 2n],
    ]),
  });
  expect(own.accounts.get("a")).toBe(5n);
  await database.destroy();
});
