import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { useBooks } from "../../test/ledger/books.ts";
import { findKey } from "./key-store.ts";

describeOnEngineOfSuite("a key that is looked up by its hash or its id", (engine) => {
  const books = useBooks(engine);
  const find = (name: string) => findKey(books.store.database, { hash: books.id(`hash-${name}`) });
  const plain = (name: string) => ({
    keyId: books.id(name),
    accountId: books.id("a"),
    models: null,
    expiresAtMs: null,
    revoked: false,
    accountActive: true,
  });

  test("is as it was issued, and has no limits where it was given none", async () => {
    await books.apply(books.issueKey("plain"));
    expect(await find("plain")).toEqual(plain("plain"));
    expect(await find("nobody")).toBeUndefined();
    expect(await findKey(books.store.database, { id: books.id("plain") })).toEqual(plain("plain"));
    expect(await findKey(books.store.database, { id: books.id("hash-plain") })).toBeUndefined();
    await books.apply(books.issueKey("bounded", { models: ["m", "n"], expiresAtMs: 1_000 }));
    expect(await find("bounded")).toEqual({ ...plain("bounded"), models: ["m", "n"], expiresAtMs: 1_000 });
  });

  test("has its limits, be it one of the three", async () => {
    const none = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null };
    for (const [name, value] of [
      ["requestsPerMinute", 5],
      ["tokensPerMinute", 6],
      ["concurrency", 7],
    ] as const) {
      const limits = { ...none, [name]: value };
      await books.apply(books.issueKey(name, { limits }));
      expect(await find(name)).toEqual({ ...plain(name), limits });
    }
  });

  test("may ask for a route where it was issued so, until that is changed", async () => {
    await books.apply(books.issueKey("routes", { routes: true }));
    expect(await find("routes")).toEqual({ ...plain("routes"), routes: true });
    await books.apply({ kind: "change_key", key: books.id("routes"), name: "other" });
    expect(await find("routes")).toMatchObject({ routes: true });
    await books.apply({ kind: "change_key", key: books.id("routes"), routes: false });
    expect(await find("routes")).toEqual(plain("routes"));
  });

  test("is revoked, or of a disabled account, where it is", async () => {
    await books.apply(books.issueKey("gone"), { kind: "revoke_key", key: books.id("gone"), nowMs: 2 });
    expect(await find("gone")).toEqual({ ...plain("gone"), revoked: true });
    await books.apply(books.issueKey("idle"));
    await books.execute(`update accounts set status = 'disabled' where id = '${books.id("a")}'`);
    expect(await find("idle")).toEqual({ ...plain("idle"), accountActive: false });
  });
});
