import { expect, test } from "bun:test";
import type { SessionCommand } from "../../src/ledger/commands.ts";
import { describeOnEngines } from "../gateway/engines.ts";
import { useBooks } from "./books.ts";

describeOnEngines("a session", (engine) => {
  const books = useBooks(engine);
  const run = async (command: SessionCommand) => expect(await books.run(command)).toEqual({ ok: true });
  const open = (name: string, nowMs: number, tokenHash = "token") =>
    run({ kind: "open_session", session: books.id(name), opener: { tokenHash }, nowMs });
  const see = (name: string, nowMs: number) => run({ kind: "see_session", session: books.id(name), nowMs });
  const forget = (openedByMs: number, usedByMs: number) =>
    run({ kind: "forget_sessions", openedByMs, usedByMs, tokenHash: "token" });
  const row = (name: string) => books.row("sessions", "id", books.id(name));
  const known = async () => {
    const rows = await books.store.database.selectFrom("sessions").select("id").orderBy("id").execute();
    return rows.map(({ id }) => id).filter((id) => id.startsWith(books.id("")));
  };
  const ids = (...names: readonly string[]) => names.map((name) => books.id(name));

  test("is of the operator's token or of a key, and is opened once", async () => {
    await open("one", 5);
    await open("one", 6, "other");
    expect(await row("one")).toEqual({
      id: books.id("one"),
      token_hash: "token",
      key_id: null,
      created_at_ms: 5n,
      seen_at_ms: 5n,
    });
    const opener = { keyId: books.id("k") };
    await run({ kind: "open_session", session: books.id("two"), opener, nowMs: 5 });
    expect(await row("two")).toMatchObject({ token_hash: null, key_id: books.id("k") });
  });

  test("was used when it was used last, whatever comes late", async () => {
    await open("one", 5);
    await open("two", 5);
    await see("one", 9);
    await see("one", 8);
    expect([(await row("one")).seen_at_ms, (await row("two")).seen_at_ms]).toEqual([9n, 5n]);
    expect((await row("one")).created_at_ms).toBe(5n);
  });

  test("ends by itself, without the others", async () => {
    await open("one", 5);
    await open("two", 5);
    await run({ kind: "end_session", session: books.id("one") });
    expect(await known()).toEqual(ids("two"));
  });

  test("is forgotten at the very moment that it is too old or was not used for too long", async () => {
    await open("one", 10);
    await open("two", 11);
    await see("one", 30);
    await see("two", 20);
    await forget(9, 19);
    expect(await known()).toEqual(ids("one", "two"));
    await forget(10, 19);
    expect(await known()).toEqual(ids("two"));
    await forget(10, 20);
    expect(await known()).toEqual([]);
  });

  test("of another token is forgotten, and one of a key is not", async () => {
    await open("one", 10);
    await open("two", 10, "other");
    const opener = { keyId: books.id("k") };
    await run({ kind: "open_session", session: books.id("three"), opener, nowMs: 10 });
    await forget(0, 0);
    expect(await known()).toEqual(ids("one", "three").toSorted());
  });
});
