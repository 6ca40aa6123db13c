import { expect, test } from "bun:test";
import pg from "pg";
import { all, inTransaction, isConflict, isConnectionFault, isRace, isStoreFault } from "./connection.ts";

/** An error as the server tells it. */
const refusal = (code: string): Error => Object.assign(new pg.DatabaseError(code, 1, "error"), { code });

test("an error of the server is of the connection, of a race, of the store, or of the command", () => {
  const kinds = { connection: isConnectionFault, conflict: isConflict, race: isRace, store: isStoreFault };
  const kindsOf = (error: unknown): string =>
    Object.entries(kinds)
      .filter(([, is]) => is(error))
      .map(([name]) => name)
      .join(" ");
  const codes: Readonly<Record<string, string>> = {
    "08006": "connection",
    "57P01": "connection store",
    "57014": "store",
    "23505": "conflict race",
    "22012": "conflict race",
    "40001": "race",
    "40P01": "race",
    "25006": "store",
    "53100": "store",
    "55P03": "store",
    "58030": "store",
    XX000: "store",
    "23514": "",
    "42P01": "",
  };
  const found = Object.keys(codes).map((code) => [code, kindsOf(refusal(code))]);
  expect(Object.fromEntries(found)).toEqual(codes);
  // What comes from the socket has no state, whatever it is called.
  expect(kindsOf(Object.assign(new Error("reset"), { code: "23505" }))).toBe("connection");
});

test("every answer is waited for before the first error is thrown", async () => {
  const late = Promise.withResolvers<number>();
  let isDone = false;
  const waiting = all([Promise.reject(new Error("first")), late.promise, Promise.reject(new Error("second"))])
    .catch((error: Error) => error.message)
    .finally(() => (isDone = true));
  await Bun.sleep(0);
  expect(isDone).toBe(false);
  late.resolve(1);
  expect(await waiting).toBe("first" as never);
  expect(await all([Promise.resolve(1), "two"])).toEqual([1, "two"]);
});

test("a transaction that fails is rolled back, unless its connection is gone", async () => {
  for (const [error, end] of [
    [undefined, "commit"],
    [refusal("23514"), "rollback"],
    [new Error("reset"), "commit"],
  ] as const) {
    const sent: unknown[] = [];
    const client = {
      async query(query: string | { readonly text: string }) {
        sent.push(query);
        if (typeof query !== "string" && error !== undefined) throw error;
        if (query === "rollback") throw new Error("gone meanwhile");
        return { rows: [sent.length] };
      },
    } as unknown as pg.Client;
    const statement = { name: "n", text: "select $1", values: [1] };
    const done = await inTransaction(client, [statement]).catch((refused: Error) => refused);
    expect(done).toEqual(error ?? ([{ rows: [2] }] as never));
    expect([sent[0], sent[1], sent.at(-1)]).toEqual(["begin isolation level read committed", statement, end]);
  }
});
