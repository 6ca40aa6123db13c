import { expect, test } from "bun:test";
import { sessionName } from "./session.ts";
import { forgetTab, keepInTab, keptInTab, whenForgotten } from "./tab-memory.ts";

/** The storage of a tab that has room for `most` characters. */
function storageOf(most = 1_000) {
  const entries = new Map<string, string>();
  return {
    entries,
    get length() {
      return entries.size;
    },
    key: (at: number) => [...entries.keys()][at] ?? null,
    getItem: (name: string) => entries.get(name) ?? null,
    setItem(name: string, value: string) {
      if (value.length > most) throw new DOMException("full", "QuotaExceededError");
      entries.set(name, value);
    },
    removeItem: (name: string) => void entries.delete(name),
  };
}

const OPERATOR = {
  role: "operator",
  key: null,
  account: null,
  expires_at: 1_000.001,
  version: "1",
  sandbox: false,
  public_url: "",
  example_model: "",
} as const;

test("what is kept is there for the same session, and another one finds and leaves nothing", () => {
  const storage = storageOf();
  const [mine, theirs] = [sessionName(OPERATOR), sessionName({ ...OPERATOR, expires_at: 1_000.002 })];
  expect(keepInTab("talk", mine, { said: ["hi"] }, storage)).toBe(true);
  expect(keptInTab("talk", mine, storage)).toEqual({ said: ["hi"] });
  expect(keptInTab("talk", theirs, storage)).toBeUndefined();
  expect(storage.entries.size).toBe(0);
});

test("a session is another one by its role, its key, its sign-in and the build", () => {
  const key = { id: "key_1", name: "k", hint: "…" };
  const names = [
    sessionName(OPERATOR),
    sessionName({ ...OPERATOR, role: "developer", key }),
    sessionName({ ...OPERATOR, role: "developer", key: { ...key, id: "key_2" } }),
    sessionName({ ...OPERATOR, version: "2" }),
  ];
  expect(new Set(names).size).toBe(names.length);
});

test("the end of a session deletes what is a session's, and nothing else", () => {
  const storage = storageOf();
  storage.setItem("switchyard-theme", "dark");
  keepInTab("a", "s", 1, storage);
  keepInTab("b", "s", 2, storage);
  // A listener that still has it in memory may write it once more.
  whenForgotten(() => void keepInTab("c", "s", 3, storage));
  forgetTab(storage);
  expect([...storage.entries.keys()]).toEqual(["switchyard-theme"]);
});

test("what is too large is not kept, and what was there before does not come back in its place", () => {
  const storage = storageOf(100);
  expect(keepInTab("talk", "s", "short", storage)).toBe(true);
  expect(keepInTab("talk", "s", "x".repeat(200), storage)).toBe(false);
  expect(keptInTab("talk", "s", storage)).toBeUndefined();
});

test("an entry that `keepInTab` did not write counts as none, and is deleted", () => {
  for (const entry of ["", "{", "null", "1", '"text"', "[]", "{}", '{"session":1,"value":2}']) {
    const storage = storageOf();
    keepInTab("talk", "mine", "said", storage);
    for (const name of storage.entries.keys()) storage.entries.set(name, entry);
    expect([entry, keptInTab("talk", "mine", storage)]).toEqual([entry, undefined]);
    expect(storage.entries.size).toBe(0);
  }
});
