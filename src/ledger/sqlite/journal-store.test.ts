import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { noState } from "../decide/state.ts";
import type { Batch, Written } from "./batch.ts";
import type { Gap } from "./gaps.ts";
import type { JournalFile, JournalRecord } from "./journal-file.ts";
import { openJournalStore } from "./journal-store.ts";

const NO_PAYLOADS = new Map<string, Uint8Array>();
const charge = (text: string, more: Partial<Batch> = {}): Batch => ({
  records: [],
  money: [{ changes: text, payloads: NO_PAYLOADS }],
  isJournaled: true,
  ...more,
});
const PING = { sql: "update store_health set pings = pings + 1", values: [] };

interface Given {
  readonly left?: readonly JournalRecord[];
  readonly gap?: Gap;
  /** What the tables answer to each write; they take the rest. */
  readonly answers?: Written[];
  readonly isLost?: boolean;
}

/** A store over a journal whose files have room for two records each, and over tables that note what they are asked. */
async function open({ left = [], gap, answers = [], isLost = false }: Given = {}) {
  const clock = createFakeClock(1_000);
  const did: string[] = [];
  const lost: string[] = [];
  const gaps: Gap[] = [];
  let mark = 3;
  let [current, other]: [number[], number[]] = [[], []];
  /** Why the journal does not take a record. */
  const state: { fault?: string } = {};
  const journal: JournalFile = {
    id: "one",
    isTooLong: (bytes) => bytes > 9,
    hasRoom: () => current.length < 2,
    isHalfFull: () => current.length > 1,
    lastOfOther: () => other.at(-1) ?? 0,
    mend: async () => void did.push("mend"),
    turn() {
      did.push("turn");
      [current, other] = [[], current];
    },
    async write(number, bytes, nobodyWaits) {
      if (state.fault !== undefined) throw new Error(state.fault);
      current.push(number);
      did.push(`journal ${number}: ${bytes.toString()}${nobodyWaits === true ? ", at once" : ""}`);
    },
    close: () => void did.push("journal closed"),
  };
  const opened = openJournalStore({
    tables: {
      async load() {
        did.push("load");
        return noState();
      },
      async write({ records, money = [], number, isLazy }) {
        const answer = answers.shift() ?? { rows: [] };
        if ("rows" in answer && number !== undefined) mark = number;
        const what = [
          ...records.map(({ sql, values }) => [sql, ...values].join(" ")),
          ...money.map((each) => each.changes),
        ];
        did.push(`tables ${number}: ${what.join("; ")}${isLazy === true ? ", soon" : ""}`);
        return answer;
      },
      current: async () => {},
      close: async () => void did.push("tables closed"),
    },
    home: { read: () => ({ id: "one", records: [] }), open: () => journal },
    journal,
    mark,
    left,
    gap,
    readMark: () => mark,
    onGap: (found) => gaps.push(found),
    onLost: (reason) => lost.push(reason),
    isLost: () => isLost,
    pace: clock,
    failpoint: (name) => void did.push(`(${name})`),
  });
  /** What was done since, without the failpoints unless they are asked for. */
  const since = (withFailpoints = false) =>
    did.splice(0).filter((each) => withFailpoints || !each.startsWith("("));
  return { clock, opened, since, lost, gaps, state };
}

/** A store that has begun. */
async function begun(given?: Given) {
  const { opened, ...rest } = await open(given);
  const store = await opened;
  rest.since();
  return { store, ...rest };
}

const BEGUN = "update journal set journal = ?, is_closed = 0 one";
const CLOSED = "update journal set is_closed = 1";

describe("a journal that is opened", () => {
  test("brings what was left into the tables, and says whose it is", async () => {
    const { opened, since } = await open({ left: [{ number: 4, text: "four" }] });
    await opened;
    expect(since(true)).toEqual([
      "(replay.before_move)",
      "(tables.before_move)",
      "tables 4: four",
      "(tables.after_move)",
      "(replay.after_move)",
      `tables 5: ${BEGUN}`,
    ]);
  });

  test("writes down what is missing, and tells it", async () => {
    const gap = { kind: "incomplete", reason: "why" } as const;
    const { opened, since, gaps } = await open({ gap });
    await opened;
    expect(since()).toEqual([
      `tables 4: ${BEGUN}; insert into journal_gaps (kind, reason, number, record, found_at_ms) values (?, ?, ?, ?, ?) incomplete why   1000`,
    ]);
    expect(gaps).toEqual([gap]);
  });

  test("is closed again where the tables do not take it, and says why in one sentence", async () => {
    const { opened, since, gaps } = await open({
      gap: { kind: "incomplete", reason: "why" },
      answers: [{ failure: "no room", passing: true }],
    });
    const said = "The database cannot be written now: no room. Start again when it can.";
    expect(await opened.catch((error: Error) => error.message)).toBe(said as never);
    expect(since().slice(1)).toEqual(["journal closed", "tables closed"]);
    expect(gaps).toEqual([]);
  });
});

describe("a batch", () => {
  test("of charges is durable in the journal, and in the tables later", async () => {
    const { clock, store, since } = await begun();
    expect(await store.write(charge("five", { nobodyWaits: true }))).toEqual({ rows: [] });
    expect(await store.write(charge("six"))).toEqual({ rows: [] });
    expect(since(true)).toEqual([
      "mend",
      "(journal.before_write)",
      "journal 5: five, at once",
      "(journal.after_write)",
      "mend",
      "(journal.before_write)",
      "journal 6: six",
      "(journal.after_write)",
    ]);
    await clock.advance(250);
    expect(since()).toEqual(["tables 6: five; six, soon"]);
  });

  test("of anything else goes to the tables, after what came before it", async () => {
    const { store, since } = await begun();
    await store.write(charge("five"));
    await store.write({ records: [PING] });
    expect(since()).toEqual(["mend", "journal 5: five", "tables 5: five, soon", `tables 6: ${PING.sql}`]);
    await store.write(charge("tasks", { isJournaled: false }));
    await store.write(charge("too long for it"));
    expect(since()).toEqual(["tables 7: tasks", "tables 8: too long for it"]);
    await store.write(charge("nine char"));
    expect(since()).toEqual(["mend", "journal 9: nine char"]);
    await store.close();
  });

  test("that the journal does not take may come again; a broken disk is reported", async () => {
    const { store, since, lost, state } = await begun();
    for (const fault of ["ENOSPC: no room", "EIO: broken", "NEIOX: other"]) {
      state.fault = fault;
      expect(await store.write(charge("five"))).toEqual({ failure: `Error: ${fault}`, passing: true });
    }
    expect(lost).toEqual(["Error: EIO: broken"]);
    since();
    delete state.fault;
    await store.write(charge("five"));
    expect(since()).toEqual(["mend", "journal 5: five"]);
    await store.close();
  });

  test("for the tables may come again where they do not take what came before it", async () => {
    const away = { failure: "no room", passing: true } as const;
    const { store, since } = await begun({ answers: [{ rows: [] }, away] });
    await store.write(charge("five"));
    expect(await store.write({ records: [PING] })).toEqual({ failure: "Error: no room", passing: true });
    expect(since()).toEqual(["mend", "journal 5: five", "tables 5: five, soon"]);
    await store.close();
  });
});

test("the other file is gone on in once its records are durable in the tables", async () => {
  const { store, since } = await begun();
  for (const text of ["5", "6", "7"]) await store.write(charge(text));
  expect(since(true).filter((each) => !/mend|(before|after)_write/.test(each))).toEqual([
    "journal 5: 5",
    "journal 6: 6",
    "turn",
    "(journal.turned)",
    "journal 7: 7",
  ]);
  // The second half of this file makes them durable beforehand.
  await store.write(charge("8"));
  await store.current();
  expect(since()).toEqual(["mend", "journal 8: 8", "tables 8: 5; 6; 7; 8"]);
  await store.write(charge("9"));
  expect(since()).toEqual(["mend", "turn", "journal 9: 9"]);
  await store.close();
});

test("the other file is gone on in at once where all of its records are durable in the tables", async () => {
  const { store, since } = await begun();
  for (const text of ["5", "6", "7", "8"]) await store.write(charge(text));
  await store.current();
  since();
  for (const text of ["9", "10", "11"]) await store.write(charge(text));
  await store.current();
  expect(since().filter((each) => each !== "mend")).toEqual([
    "turn",
    "journal 9: 9",
    "journal 10: 10",
    "turn",
    "journal 11: 11",
    "tables 11: 9; 10; 11, soon",
  ]);
  await store.close();
});

test("the other file is not gone on in while the tables do not take its records", async () => {
  const away = { failure: "no room", passing: true } as const;
  const { store, since } = await begun({ answers: [{ rows: [] }, away, away, away] });
  for (const text of ["5", "6", "7", "8"]) await store.write(charge(text));
  await store.current().catch(() => undefined);
  since();
  expect(await store.write(charge("9"))).toEqual({ failure: "Error: no room", passing: true });
  expect(since().filter((each) => each === "turn")).toEqual([]);
  expect(await store.write(charge("9"))).toEqual({ rows: [] });
  expect(since()).toEqual(["mend", "tables 8: 5; 6; 7; 8", "turn", "journal 9: 9"]);
  await store.close();
});

test("reads see all that was answered before", async () => {
  const { store, since } = await begun();
  await store.write(charge("five"));
  since();
  await store.load({} as never);
  expect(since()).toEqual(["tables 5: five, soon", "load"]);
  await store.write(charge("six"));
  since();
  await store.current();
  expect(since()).toEqual(["tables 6: six, soon"]);
});

test("a comparison knows what this run has written, and what is still to come", async () => {
  const { store } = await begun();
  expect(await store.compareJournal(noState())).toEqual([]);
  await store.write(charge("five"));
  expect(await store.compareJournal(noState())).toEqual(["the journal ends at record 0, and 5 was written"]);
  await store.close();
});

describe("a journal that is closed", () => {
  test("leaves all of it in the tables, which say that they were closed, and no timer", async () => {
    const { clock, store, since } = await begun();
    await store.write(charge("five"));
    since();
    await store.close();
    expect(since()).toEqual([
      "tables 5: five",
      `tables undefined: ${CLOSED}`,
      "journal closed",
      "tables closed",
    ]);
    expect(clock.timers()).toBe(0);
  });

  test("leaves it to the next start where the tables do not take it", async () => {
    const away = { failure: "no room", passing: true } as const;
    const { clock, store, since } = await begun({ answers: [{ rows: [] }, away] });
    await store.write(charge("five"));
    since();
    await store.close();
    expect(since()).toEqual(["tables 5: five", "journal closed", "tables closed"]);
    expect(clock.timers()).toBe(0);
  });

  test("writes nothing once the disk has failed", async () => {
    const { store, since } = await begun({ isLost: true });
    await store.write(charge("five"));
    since();
    await store.close();
    expect(since()).toEqual(["journal closed", "tables closed"]);
  });
});
