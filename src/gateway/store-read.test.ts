import { expect, test } from "bun:test";
import { createStoreReader } from "./store-read.ts";

test("a read begins when the store has everything that was answered before", async () => {
  const order: string[] = [];
  const read = createStoreReader(async () => {
    await Promise.resolve();
    order.push("current");
  });
  await read(async () => order.push("read"));
  expect(order).toEqual(["current", "read"]);
});

test("on a full disk the store is read as it is", async () => {
  const read = createStoreReader(() => Promise.reject(new Error("SQLITE_FULL: database or disk is full")));
  expect(await read(async () => ["row"])).toEqual(["row"]);
});

test("a store that another program has locked is not read: requests go on, and it does not have them", async () => {
  const read = createStoreReader(() => Promise.reject(new Error("database is locked")));
  expect(await read(async () => ["row"]).catch((error: unknown) => error)).toMatchObject({
    type: "overloaded_error",
  });
});

test("a store that cannot be read is an error of its own, with a wait", async () => {
  const read = createStoreReader(() => Promise.resolve());
  const answer = read(() => Promise.reject(new Error("gone")));
  expect(await answer.catch((error: unknown) => error)).toMatchObject({
    type: "overloaded_error",
    retryAfterSec: 2,
  });
});
