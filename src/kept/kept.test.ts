import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeClock, type FakeClock } from "../../test/gateway/fake-clock.ts";
import { openKeptFile } from "../db/kept-file.ts";
import { createCipher } from "../runtime/cipher.ts";
import { createKeptResponses, type KeptResponses } from "./kept.ts";
import { type KeptStore, keptStoreOver } from "./tables.ts";

const HOUR_MS = 3_600_000;

let folder: string;
let clock: FakeClock;
let store: KeptStore;
let kept: KeptResponses;
/** What the store was asked to trim, in order, and the settings in force. */
let trimmed: (readonly [account: string, most: number])[];
let settings: { keptMs: number; mostBytes: number };
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-kept-"));
  clock = createFakeClock();
  [trimmed, lines, settings] = [[], [], { keptMs: HOUR_MS, mostBytes: 8_000_000 }];
  const own = keptStoreOver(openKeptFile(join(folder, "responses.db")));
  store = {
    ...own,
    trim(account, most) {
      trimmed.push([account, most]);
      return own.trim(account, most);
    },
  };
  const note = (message: string): void => void lines.push(message);
  kept = createKeptResponses({
    store,
    cipher: createCipher("0".repeat(64)),
    clock,
    log: { info: note, warn: note, error: note },
    settings: () => settings,
  });
});
afterEach(async () => {
  await kept.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

const said = (text: string, id?: string) => ({
  type: "message",
  role: "user",
  content: text,
  ...(id && { id }),
});
const keep = (
  id: string,
  {
    previous,
    text = "",
    account = "a",
    items = [`msg_${id}`],
  }: {
    previous?: string;
    text?: string;
    account?: string;
    items?: readonly string[];
  } = {},
) =>
  kept.keep({
    account,
    previous,
    input: JSON.stringify([said(`asked ${id}${text}`)]),
    response: JSON.stringify({
      id,
      status: "completed",
      output: items.map((item) => said(`said ${item}`, item)),
    }),
  });
const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing",
    (error: Error) => error.message,
  );
const find = (names: { previous?: string; items?: readonly string[] }, account = "a") =>
  kept.find(account, { items: [], ...names });

describe("what a request names", () => {
  test("is the whole conversation before it, oldest first, and each item by its id", async () => {
    await keep("resp_1");
    await keep("resp_2", { previous: "resp_1" });
    const { before, items } = await find({ previous: "resp_2", items: ["msg_resp_1", "msg_0_resp_2"] });
    expect(JSON.parse(`[${before}]`)).toEqual([
      said("asked resp_1"),
      said("said msg_resp_1", "msg_resp_1"),
      said("asked resp_2"),
      said("said msg_resp_2", "msg_resp_2"),
    ]);
    expect(Object.entries(items).map(([id, text]) => [id, JSON.parse(text)])).toEqual([
      ["msg_resp_1", said("said msg_resp_1", "msg_resp_1")],
      ["msg_0_resp_2", said("asked resp_2")],
    ]);
    store.owners = () => Promise.reject(new Error("away"));
    expect(await find({})).toMatchObject({ before: "", items: {} });
  });

  test("may be items of many answers, the newest of an id that several have", async () => {
    const names = Array.from({ length: 40 }, (_, i) => `resp_${i}`);
    for (const name of names) await keep(name);
    await keep("resp_again", { items: ["msg_resp_3"] });
    const items = names.map((name) => `msg_${name}`);
    expect(Object.keys((await find({ items })).items).sort()).toEqual(items.toSorted());
    expect(await kept.remove("a", "resp_again")).toBe(true);
    expect(await failure(find({ items: ["msg_resp_3"] }))).toContain("msg_resp_3");
  });

  test("is refused by its name where it is not there, or another account's", async () => {
    await keep("resp_1");
    expect(await failure(find({ items: ["msg_resp_1", "msg_none"] }))).toContain("'msg_none' not found");
    expect(await failure(find({ items: ["msg_1_resp_1"] }))).toContain("'msg_1_resp_1' not found");
    expect(await failure(find({ previous: "resp_none" }))).toContain("'resp_none' not found");
    expect(await failure(find({ previous: "resp_1" }, "b"))).toContain("'resp_1' not found");
    expect(await failure(find({ items: ["msg_resp_1"] }, "b"))).toContain("not found");
  });

  test("goes on from a hundred answers at the most, none of which may be missing", async () => {
    for (let i = 1; i <= 101; i += 1) await keep(`r${i}`, i === 1 ? {} : { previous: `r${i - 1}` });
    expect(JSON.parse(`[${(await find({ previous: "r100" })).before}]`)).toHaveLength(200);
    expect(await failure(find({ previous: "r101" }))).toContain("more than 100 answers");
    expect((await kept.rounds("a", "r101")).length).toBe(100);
    await kept.remove("a", "r1");
    expect(await failure(find({ previous: "r100" }))).toContain("goes on from 'r1'");
  });
});

describe("an answer", () => {
  test("is read as its client had it, and is none without an id", async () => {
    await keep("resp_1");
    const text = new TextDecoder().decode(await kept.response("a", "resp_1"));
    expect(JSON.parse(text)).toEqual({
      id: "resp_1",
      status: "completed",
      output: [said("said msg_resp_1", "msg_resp_1")],
    });
    expect(await kept.response("a", "resp_2")).toBeUndefined();
    await kept.keep({ account: "a", previous: undefined, input: "[]", response: '{"output":[]}' });
    expect(lines).toEqual([]);
  });

  test("without an item is kept like any other", async () => {
    await keep("resp_1", { items: [] });
    expect(lines).toEqual([]);
    expect(await kept.rounds("a", "resp_1")).toHaveLength(1);
  });

  test("that is kept again takes the place of the first", async () => {
    await keep("resp_1", { items: ["msg_a"] });
    await keep("resp_1", { items: ["msg_b"], text: " again" });
    const rounds = await kept.rounds("a", "resp_1");
    expect(rounds.map(({ input }) => JSON.parse(input))).toEqual([[said("asked resp_1 again")]]);
    await keep("resp_2", { previous: "resp_none" });
    expect(await failure(find({ previous: "resp_2" }))).toContain("goes on from 'resp_none'");
    await keep("resp_2");
    expect(JSON.parse(`[${(await find({ previous: "resp_2" })).before}]`)).toHaveLength(2);
  });

  test("is gone when its time is over, and nothing is found while none are kept", async () => {
    await keep("resp_1");
    await clock.advance(HOUR_MS - 1);
    expect(await kept.response("a", "resp_1")).toBeDefined();
    settings = { ...settings, keptMs: 0 };
    expect([kept.isOn(), await kept.response("a", "resp_1"), await kept.rounds("a", "resp_1")]).toEqual([
      false,
      undefined,
      [],
    ]);
    expect(await failure(find({ previous: "resp_1" }))).toContain("'resp_1' not found");
    expect(await failure(find({ items: ["msg_x"] }))).toContain("'msg_x' not found");
    settings = { ...settings, keptMs: HOUR_MS };
    await clock.advance(1);
    expect([kept.isOn(), await kept.response("a", "resp_1")]).toEqual([true, undefined]);
    settings = { ...settings, keptMs: 1 };
    expect(kept.isOn()).toBe(true);
    expect(await kept.remove("a", "resp_1")).toBe(false);
  });

  test("is not found while none are kept, also where the machine's time was set back", async () => {
    await keep("resp_1");
    settings = { ...settings, keptMs: 0 };
    clock.jump(-1_000);
    expect(await failure(find({ previous: "resp_1" }))).toContain("'resp_1' not found");
    expect(await failure(find({ items: ["msg_resp_1"] }))).toContain("'msg_resp_1' not found");
  });

  test("is deleted once: after that there is none", async () => {
    await keep("resp_1");
    expect([await kept.remove("b", "resp_1"), await kept.remove("a", "resp_1")]).toEqual([false, true]);
    expect(await kept.remove("a", "resp_1")).toBe(false);
  });

  test("that the store does not take is told of, and nothing is rejected", async () => {
    store.keep = () => Promise.reject(new Error("away"));
    await keep("resp_1");
    expect(lines).toEqual(["an answer could not be kept"]);
  });
});

describe("old answers", () => {
  test("go when their time is over, soon after the start and every minute", async () => {
    const swept: number[] = [];
    const { sweep } = store;
    store.sweep = (untilMs) => {
      swept.push(clock.nowMs() - untilMs);
      return sweep(untilMs);
    };
    kept.start();
    await clock.advance(9_999);
    expect(swept).toEqual([]);
    await clock.advance(1);
    expect(swept).toEqual([HOUR_MS]);
    await clock.advance(59_999);
    expect(swept).toHaveLength(1);
    await clock.advance(1);
    expect(swept).toHaveLength(2);
  });

  test("stay where the store fails to delete them: the log says so, and the gateway tries again a minute later", async () => {
    let tries = 0;
    store.sweep = () => {
      tries += 1;
      return Promise.reject(new Error("away"));
    };
    kept.start();
    await clock.advance(10_000);
    await clock.advance(60_000);
    expect(tries).toBe(2);
    expect(lines).toEqual(Array(2).fill("kept answers whose time is over could not be deleted"));
  });

  test("are deleted until there are no more, but not beyond the close, which waits for the last", async () => {
    const order: string[] = [];
    const { close } = store;
    store.close = () => {
      order.push("closed");
      return close();
    };
    let end = (_more: boolean): void => {};
    store.sweep = () => {
      order.push("sweep");
      return new Promise((resolve) => (end = resolve));
    };
    kept.start();
    await clock.advance(10_000);
    end(true);
    await clock.advance(0);
    expect(order).toEqual(["sweep", "sweep"]);
    const closing = kept.close();
    await clock.advance(0);
    expect(order).toEqual(["sweep", "sweep"]);
    end(true);
    await closing;
    expect(order).toEqual(["sweep", "sweep", "closed"]);
  });

  test("of the account that comes after ten thousand are looked at, and those of all once more", async () => {
    const counted: string[] = [];
    const many = createKeptResponses({
      store: { ...store, keep: async () => {}, trim: async (account) => void counted.push(account) },
      cipher: { seal: async (text) => new TextEncoder().encode(text), open: async (text) => text },
      clock,
      log: { info() {}, warn() {}, error() {} },
      settings: () => settings,
    });
    const answer = { previous: undefined, input: "[]", response: '{"id":"resp_1","output":[]}' };
    for (let i = 0; i < 10_000; i += 1) await many.keep({ ...answer, account: `a${i}` });
    await many.keep({ ...answer, account: "a0" });
    expect(counted).toHaveLength(10_000);
    for (const account of ["one more", "a0", "one more"]) await many.keep({ ...answer, account });
    expect(counted.slice(10_000)).toEqual(["one more", "a0"]);
  });

  test("of an account are looked at when an eighth of what it may have has come since", async () => {
    let size = 0;
    const { keep: keepIn } = store;
    store.keep = (answer) => {
      size = answer.input.length + answer.output.length + answer.frame.length;
      return keepIn(answer);
    };
    await keep("resp_1");
    expect(trimmed).toEqual([["a", 7_000_000]]);
    settings = { ...settings, mostBytes: 8 * size + 8 };
    await keep("resp_2");
    expect(trimmed).toHaveLength(1);
    await keep("resp_3");
    expect(trimmed.slice(1)).toEqual([["a", 7 * size + 7]]);
    settings = { ...settings, mostBytes: 8 * size };
    await keep("resp_4");
    expect(trimmed.slice(2)).toEqual([["a", 7 * size]]);
    await keep("resp_b", { account: "b" });
    expect(trimmed.slice(3)).toEqual([["b", 7 * size]]);
  });

  test("of an account go first, before it has more than it may", async () => {
    settings = { ...settings, mostBytes: 80_000 };
    for (let i = 0; i < 60; i += 1) await keep(`resp_${i}`, { text: "x".repeat(2_500) });
    expect(await kept.response("a", "resp_0")).toBeUndefined();
    expect(await kept.response("a", "resp_59")).toBeDefined();
  });

  test("are swept no more once their store is closed, and it is closed with them", async () => {
    let closed = 0;
    const { close } = store;
    store.close = () => {
      closed += 1;
      return close();
    };
    store.sweep = () => Promise.reject(new Error("closed"));
    kept.start();
    await kept.close();
    await clock.advance(HOUR_MS);
    expect([closed, lines]).toEqual([1, []]);
  });
});
