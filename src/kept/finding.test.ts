import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../core/errors.ts";
import { createFinding } from "./finding.ts";
import type { KeptPart } from "./sealing.ts";
import type { KeptStore, Link } from "./tables.ts";

const MOST_CHARACTERS = 32 * 1024 * 1024;

/** The texts of an answer; a part that is not here was deleted after its row was found. */
type Parts = Partial<Record<KeptPart, string>>;

/** Reads of a double of a store, whose texts are not sealed. Like PostgreSQL it takes no empty list of ids. */
function createReads(answers: Readonly<Record<string, Parts>>, more: Partial<KeptStore> = {}) {
  const asked: string[] = [];
  const links: Readonly<Record<string, readonly Link[]>> = Object.fromEntries(
    Object.keys(answers).map((id) => [id, [{ id, previous: null, bytes: 0 }]]),
  );
  const store = {
    chain: async (_account: string, id: string) => links[id] ?? [],
    async owners(_account: string, items: readonly string[]) {
      const owned = Object.entries(answers).flatMap(([answer, { output = "[]" }]) =>
        items.filter((item) => output.includes(`"${item}"`)).map((item) => [item, answer]),
      );
      return Object.fromEntries(owned);
    },
    async texts(_account: string, part: KeptPart, ids: readonly string[]) {
      if (ids.length === 0) throw new Error('syntax error at or near ")"');
      asked.push(`${part} of ${ids.length}`);
      return ids.flatMap((id) => {
        const text = answers[id]?.[part];
        return text === undefined ? [] : [{ id, text }];
      });
    },
    ...more,
  } as KeptStore;
  const sealing = {
    seal: () => Promise.reject(new Error("nothing is kept here")),
    open: async (_account: string, _id: string, _part: KeptPart, sealed: string) => sealed,
  };
  const finding = createFinding(store, sealing);
  return {
    finding,
    asked,
    find: (items: readonly string[], previous?: string) =>
      finding.find("a", previous === undefined ? { items } : { items, previous }, 0),
  };
}

/** An item of this length as a JSON text. */
function itemOf(id: string, length = 0): string {
  const empty = JSON.stringify({ id, text: "" });
  return JSON.stringify({ id, text: "x".repeat(Math.max(0, length - empty.length)) });
}

/** The field that a request is refused by for its size; undefined where it is not refused. */
async function refusedBy(found: Promise<unknown>): Promise<string | undefined> {
  const error = await found.then(
    () => undefined,
    (reason: GatewayError) => reason,
  );
  if (error !== undefined) expect(error.kind).toBe("input_too_large");
  return error?.param;
}

describe("a request may name", () => {
  test("as much of earlier answers as a request may have itself, however often it names it", async () => {
    const length = MOST_CHARACTERS / 1024;
    const { find } = createReads({ r: { output: `[${itemOf("msg_1", length)}]` } });
    const times = (count: number) => Array.from({ length: count }, () => "msg_1");
    expect((await find(times(1024))).size).toBe(MOST_CHARACTERS);
    expect(await refusedBy(find(times(1025)))).toBe("input");
  });

  test("items and a conversation that are no larger together", async () => {
    const item = itemOf("msg_1", MOST_CHARACTERS / 2);
    const answers = { r: { input: `[${itemOf("msg_2", 100)}]`, output: `[${item}]` } };
    const { find } = createReads(answers);
    expect((await find(["msg_1"])).size).toBe(item.length);
    expect(await refusedBy(find(["msg_1"], "r"))).toBe("previous_response_id");
  });

  test("many items that are no larger together, before all of them are read", async () => {
    const half = itemOf("msg_1", MOST_CHARACTERS / 2);
    const answers = (more: number) => ({
      r1: { output: `[${half}]` },
      r2: { output: `[${itemOf("msg_2", MOST_CHARACTERS / 2 + more)}]`, input: "[]" },
    });
    expect((await createReads(answers(0)).find(["msg_1", "msg_2"])).size).toBe(MOST_CHARACTERS);
    const larger = createReads(answers(1));
    expect(await refusedBy(larger.find(["msg_1", "msg_2", "msg_0_r2"]))).toBe("input");
    expect(larger.asked).toEqual(["output of 2"]);
  });

  test("a conversation whose sealed texts are as large as that, and the gateway refuses a larger one unread", async () => {
    const most = Math.floor((MOST_CHARACTERS * 4) / 3);
    const answers = { r1: { input: "[]", output: "[]" }, r2: { input: "[]", output: "[]" } };
    const readOf = (bytes: number) =>
      createReads(answers, {
        chain: async () => [
          { id: "r2", previous: "r1", bytes: most - 10 },
          { id: "r1", previous: null, bytes },
        ],
      });
    expect((await readOf(10).find([], "r2")).before).toBe("");
    const larger = readOf(11);
    expect(await refusedBy(larger.find([], "r2"))).toBe("previous_response_id");
    expect(larger.asked).toEqual([]);
  });
});

describe("an answer that is deleted while it is read", () => {
  for (const part of ["input", "output"] as const)
    test(`is not there where its ${part} is gone`, async () => {
      const { find, finding } = createReads({ r: { [part]: `[${itemOf("msg_1")}]` } });
      expect(await finding.rounds("a", "r", 0)).toEqual([]);
      expect(await find([], "r").catch(String)).toContain("'r' not found");
    });

  for (const parts of [{ output: "[]" }, { frame: '{"id":"r"}' }])
    test(`is no response where of it there is only the ${Object.keys(parts)[0]}`, async () => {
      expect(await createReads({ r: parts }).finding.response("a", "r", 0)).toBeUndefined();
    });
});

test("the rounds of an answer that is not there are none, and no text is read", async () => {
  const { finding, asked } = createReads({});
  expect(await finding.rounds("a", "r", 0)).toEqual([]);
  expect(asked).toEqual([]);
});

test("the outputs of sixteen answers are read at a time", async () => {
  const ids = Array.from({ length: 33 }, (_, i) => `msg_of_${i}`);
  const { find, asked } = createReads(
    Object.fromEntries(ids.map((id, i) => [`r${i}`, { output: `[${itemOf(id)}]` }])),
  );
  expect(Object.keys((await find(ids)).items).sort()).toEqual(ids.toSorted());
  expect(asked).toEqual(["output of 16", "output of 16", "output of 1"]);
});
