import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../../test/gateway/engines.ts";
import { figuresOf, insertRequests, makeRequest } from "../../../test/ledger/made-requests.ts";
import type { Database } from "../../db/schema.ts";
import { createHorizon } from "./horizon.ts";

describeOnEngineOfSuite("a horizon", (engine) => {
  const { database, random } = figuresOf(engine);
  let count = 0;
  const insert = async (over: Database = database()): Promise<void> => {
    count += 1;
    await insertRequests(over, [makeRequest(random)], count);
  };

  test("is the newest number, and 0 before the first", async () => {
    const horizon = createHorizon(database(), engine.name, "requests");
    expect(await horizon()).toBe(0n);
    await insert();
    await insert();
    expect([await horizon(), await horizon()]).toEqual([2n, 2n]);
    expect(await createHorizon(database(), engine.name, "ledger")()).toBe(0n);
  });

  if (engine.name === "postgres")
    test("passes no number while a transaction is under way that may write a lower one", async () => {
      const horizon = createHorizon(database(), engine.name, "requests");
      /** A transaction that has written; the result commits it. */
      const begin = async (): Promise<() => Promise<void>> => {
        const begun = Promise.withResolvers<void>();
        const ends = Promise.withResolvers<void>();
        const done = database()
          .transaction()
          .execute(async (tx) => {
            await insert(tx);
            begun.resolve();
            await ends.promise;
          });
        await begun.promise;
        return async () => {
          ends.resolve();
          await done;
        };
      };
      await insert();
      const commitSecond = await begin();
      expect([await horizon(), await horizon()]).toEqual([0n, 0n]);
      await commitSecond();
      const commitThird = await begin();
      // What was the newest when the second was under way; the third may still be written.
      expect([await horizon(), await horizon()]).toEqual([1n, 1n]);
      await commitThird();
      expect(await horizon()).toBe(3n);
    });
});
