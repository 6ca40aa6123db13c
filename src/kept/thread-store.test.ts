import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt } from "../../test/files.ts";
import { openSqlite } from "../runtime/sqlite.ts";
import { openThreadStore, type ThreadStore } from "./thread-store.ts";

let folder: string;
let file: string;
let store: ThreadStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-kept-"));
  file = join(folder, "responses.db");
  store = openThreadStore(file);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const keep = (id: string, createdAtMs: number, previous: string | null = null, output = `out ${id}`) =>
  store.keep({
    account: "a",
    id,
    previous,
    createdAtMs,
    input: bytes("in"),
    output: bytes(output),
    frame: bytes("frame"),
    items: [`msg_${id}`],
  });

describe("a store on a thread of its own", () => {
  test("makes no file before there is something to keep, and finds nothing in it", async () => {
    store.startThread();
    expect([await store.sweep(10), existsSync(file)]).toEqual([false, false]);
    expect(await store.chain("a", "r1", 0, 5)).toEqual([]);
    expect(await store.texts("a", "output", ["r1"], 0)).toEqual([]);
    expect(await store.owners("a", ["msg_r1"], 0)).toEqual({});
    expect(await store.remove("a", "r1", 0)).toBe(false);
    await store.trim("a", 1);
  });

  test("gives what it keeps, to the next process as well", async () => {
    await keep("r1", 10);
    await keep("r2", 20, "r1");
    for (const again of [false, true]) {
      if (again) {
        await store.close();
        store = openThreadStore(file);
        store.startThread();
      }
      const chain = await store.chain("a", "r2", 0, 5);
      expect(chain.map(({ id, previous }) => [id, previous])).toEqual([
        ["r2", "r1"],
        ["r1", null],
      ]);
      expect(await store.chain("a", "r2", 0, 1)).toHaveLength(1);
      expect(await store.texts("a", "output", ["r1", "r3"], 0)).toEqual([{ id: "r1", text: "out r1" }]);
      expect(await store.owners("a", ["msg_r2", "msg_r3"], 0)).toEqual({ msg_r2: "r2" });
      expect(await store.texts("a", "output", ["r1"], 10)).toEqual([]);
      expect(await store.owners("a", ["msg_r1", "msg_r2"], 10)).toEqual({ msg_r2: "r2" });
    }
  });

  test("deletes two hundred old answers at a time, and tells whether there may be more", async () => {
    await Promise.all(Array.from({ length: 201 }, (_, i) => keep(`r${i}`, 10)));
    await keep("new", 20);
    const all = [...Array.from({ length: 201 }, (_, i) => `r${i}`), "new"];
    const left = async () => (await store.texts("a", "output", all, 0)).length;
    expect([await store.sweep(10), await left()]).toEqual([true, 2]);
    expect([await store.sweep(10), await left()]).toEqual([false, 1]);
  });

  test("lets go of what is deleted, trimmed or swept", async () => {
    for (const [id, at] of [
      ["r1", 10],
      ["r2", 20],
      ["r3", 30],
    ] as const)
      await keep(id, at);
    const left = async () =>
      (await store.texts("a", "output", ["r1", "r2", "r3"], 0)).map(({ id }) => id).sort();
    expect([await store.remove("a", "r2", 0), await left()]).toEqual([true, ["r1", "r3"]]);
    expect([await store.sweep(9), await left()]).toEqual([false, ["r1", "r3"]]);
    expect([await store.sweep(10), await left()]).toEqual([false, ["r3"]]);
    expect(await store.owners("a", ["msg_r1", "msg_r3"], 0)).toEqual({ msg_r3: "r3" });
    await keep("r4", 40);
    await store.trim("a", 14);
    expect(await left()).toEqual([]);
    expect(await store.texts("a", "output", ["r4"], 0)).toHaveLength(1);
  });

  test("tells what the file refuses, and goes on with what it takes", async () => {
    await keep("r1", 10);
    const other = openSqlite(file);
    other.execute("drop table kept_items");
    other.close();
    expect(await store.owners("a", ["msg_r1"], 0).catch(String)).toBe("Error: no such table: kept_items");
    expect(await store.chain("a", "r1", 0, 5)).toHaveLength(1);
  });

  test("rejects all that is asked of a thread that dies, and takes a new one for what comes next", async () => {
    const place = join(folder, "missing");
    const early = openThreadStore(join(place, "responses.db"));
    const told = await Promise.allSettled([early.chain("a", "r1", 0, 5), early.remove("a", "r1", 0)]);
    for (const { status, reason } of told as PromiseRejectedResult[])
      expect([status, String(reason)]).toEqual([
        "rejected",
        expect.stringContaining("The thread of kept answers ended: "),
      ]);
    mkdirSync(place);
    expect(await early.chain("a", "r1", 0, 5)).toEqual([]);
    await early.close();
  });

  test("sweeps the answers of an earlier process before anything else is asked", async () => {
    await keep("r1", 10);
    await store.close();
    store = openThreadStore(file);
    expect(await store.sweep(10)).toBe(false);
    expect(await store.texts("a", "output", ["r1"], 0)).toEqual([]);
  });

  test("gives the room of swept answers back to the disk", async () => {
    await keep("r1", 10, null, "x".repeat(500_000));
    const pages = (): number[] => {
      const other = openSqlite(file);
      const told = ["page_count", "freelist_count"].map((name) =>
        Number(Object.values(other.prepare(`pragma ${name}`).get() ?? {})[0]),
      );
      other.close();
      return told;
    };
    expect(pages()[0]).toBeGreaterThan(100);
    await store.sweep(10);
    const [all, free] = pages();
    expect(all).toBeLessThan(50);
    expect(free).toBe(0);
  });

  test("makes no file when it is closed before it kept anything", async () => {
    await store.close();
    expect(existsSync(file)).toBe(false);
  });

  test("closes once all that was asked before is done, and opens again for what comes next", async () => {
    const asked = keep("r1", 10);
    await store.close();
    await asked;
    if (process.platform === "linux") expect(descriptorsAt(file)).toEqual([]);
    expect(await store.chain("a", "r1", 0, 5)).toHaveLength(1);
  });
});
