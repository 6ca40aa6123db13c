import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt } from "../../test/files.ts";
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
const keep = (id: string, createdAtMs: number, previous: string | null = null) =>
  store.keep({
    account: "a",
    id,
    previous,
    createdAtMs,
    input: bytes("in"),
    output: bytes(`out ${id}`),
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
    }
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

  test("closes once all that was asked before is done, and opens again for what comes next", async () => {
    const asked = keep("r1", 10);
    await store.close();
    await asked;
    if (process.platform === "linux") expect(descriptorsAt(file)).toEqual([]);
    expect(await store.chain("a", "r1", 0, 5)).toHaveLength(1);
  });
});
