import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { Batch, Written } from "./batch.ts";
import type { Gap } from "./gaps.ts";
import { createGathering } from "./gathering.ts";
import type { JournalRecord } from "./journal-file.ts";

const DONE: Written = { rows: [] };
const AWAY: Written = { failure: "no room", passing: true };
const WRONG: Written = { failure: "a check" };

/** Tables whose mark is 3, and which answer each write as `answers` say, and take it where they say nothing. */
function open(left: readonly JournalRecord[] = [], answers: (Written | "lost" | "lost but written")[] = []) {
  const clock = createFakeClock(1_000);
  let mark = 3;
  const writes: Batch[] = [];
  const gaps: Gap[] = [];
  const lost: string[] = [];
  const passed: string[] = [];
  let marksRead = 0;
  const gathering = createGathering(
    { mark, left },
    {
      tables: {
        load: () => Promise.reject(new Error("nothing is read")),
        current: async () => {},
        close: async () => {},
        async write(batch) {
          writes.push(batch);
          const answer = answers.shift() ?? DONE;
          if (answer === "lost but written" || (answer !== "lost" && "rows" in answer)) mark = batch.number!;
          if (answer === "lost" || answer === "lost but written") throw new Error("the thread died");
          return answer;
        },
      },
      readMark() {
        marksRead += 1;
        return mark;
      },
      onGap: (gap) => gaps.push(gap),
      onLost: (reason) => lost.push(reason),
      pace: clock,
      failpoint: (name) => passed.push(name),
    },
  );
  /** What was written since: the texts, the number, and whether the disk need not have it at once. */
  const written = () =>
    writes
      .splice(0)
      .map(({ money = [], number, isLazy }) => [
        money.map(({ changes }) => changes).join(" "),
        number,
        isLazy,
      ]);
  const why = (asked: Promise<unknown>) =>
    asked.then(
      () => "done",
      (error: Error) => error.message,
    );
  const gathered = () => gathering.look(async (records) => records.map(({ number }) => number));
  return { clock, gathering, writes, written, gaps, lost, passed, why, gathered, marksRead: () => marksRead };
}

const LEFT = [
  { number: 4, text: "four" },
  { number: 5, text: "five" },
];

describe("records of the journal", () => {
  test("come into the tables together, a quarter of a second after the first, and need not be synced", async () => {
    const { clock, gathering, written, passed } = open();
    gathering.add("four");
    await clock.advance(150);
    gathering.add("five");
    await clock.advance(99);
    expect(written()).toEqual([]);
    await clock.advance(1);
    expect(written()).toEqual([["four five", 5, true]]);
    expect([gathering.last(), gathering.inTables()]).toEqual([5, 3]);
    expect(passed).toEqual(["tables.before_move", "tables.after_move"]);
    await clock.advance(10_000);
    expect(written()).toEqual([]);
    gathering.add("six");
    await clock.advance(250);
    expect(written()).toEqual([["six", 6, true]]);
  });

  test("come at once when there are 256", async () => {
    const { clock, gathering, writes } = open();
    for (let i = 0; i < 255; i += 1) gathering.add("x");
    await clock.advance(0);
    expect(writes).toHaveLength(0);
    gathering.add("x");
    await clock.advance(0);
    expect(writes.map(({ money, isLazy }) => [money?.length, isLazy])).toEqual([[256, true]]);
    expect(clock.timers()).toBe(0);
  });

  test("that were left come first, and what is synced is known to be in the tables", async () => {
    const { gathering, written } = open(LEFT);
    expect([gathering.last(), gathering.inTables()]).toEqual([5, 3]);
    await gathering.move(false);
    expect([written(), gathering.inTables()]).toEqual([[["four five", 5, true]], 3]);
    // What was written without a sync is synced now, and nothing after that.
    await gathering.move(true);
    expect([written(), gathering.inTables()]).toEqual([[["", 5, false]], 5]);
    await gathering.move(true);
    expect(written()).toEqual([]);
  });

  test("are none where nothing was left", async () => {
    const { gathering, written } = open();
    expect([gathering.last(), gathering.inTables()]).toEqual([3, 3]);
    await gathering.move(true);
    expect(written()).toEqual([]);
  });

  test("that gather while others are moved come with the next move", async () => {
    const { gathering, written, gathered } = open(LEFT);
    const moved = gathering.move(false);
    await Promise.resolve();
    gathering.add("six");
    await moved;
    expect(await gathered()).toEqual([6]);
    await gathering.move(false);
    expect(written()).toEqual([
      ["four five", 5, true],
      ["six", 6, true],
    ]);
    gathering.stop();
  });

  test("that the tables do not take now are tried again after a second, until they do", async () => {
    const { clock, gathering, written, why } = open(LEFT, [AWAY, AWAY]);
    expect(await why(gathering.move(false))).toBe("no room");
    await clock.advance(999);
    expect(written()).toHaveLength(1);
    await clock.advance(1);
    expect(written()).toHaveLength(1);
    await clock.advance(1_000);
    expect(written()).toEqual([["four five", 5, true]]);
    await clock.advance(10_000);
    expect(written()).toEqual([]);
  });

  test("are not moved any more once they were told to stop", async () => {
    const { clock, gathering, written } = open();
    gathering.add("four");
    gathering.stop();
    expect(clock.timers()).toBe(0);
    await clock.advance(10_000);
    expect(written()).toEqual([]);
  });
});

describe("a batch beside the journal", () => {
  test("has the next number, and is synced with all before it", async () => {
    const { gathering, writes } = open(LEFT);
    await gathering.move(false);
    expect(await gathering.beside({ records: [] })).toEqual(DONE);
    expect(writes.at(-1)).toEqual({ records: [], number: 6 });
    expect([gathering.last(), gathering.inTables()]).toEqual([6, 6]);
  });

  test("that the tables refuse leaves its number to the next", async () => {
    const { gathering, writes } = open([], [WRONG]);
    expect(await gathering.beside({ records: [] })).toEqual(WRONG);
    expect([gathering.last(), gathering.inTables()]).toEqual([3, 3]);
    await gathering.beside({ records: [] });
    expect(writes.map(({ number }) => number)).toEqual([4, 4]);
  });

  test("of which no answer came is known by the tables' mark at the next move", async () => {
    for (const [answer, last] of [
      ["lost", 3],
      ["lost but written", 4],
    ] as const) {
      const { gathering, why } = open([], [answer]);
      expect(await why(gathering.beside({ records: [] }))).toBe("the thread died");
      await gathering.move(false);
      expect(gathering.last()).toBe(last);
    }
  });
});

describe("records of which no answer came", () => {
  test("are written again where the tables do not have them, and only there", async () => {
    for (const [answer, again] of [
      ["lost", [["four five", 5, true]]],
      ["lost but written", []],
    ] as const) {
      const { gathering, written, why, gathered, marksRead } = open(LEFT, [answer]);
      expect([await why(gathering.move(false)), marksRead()]).toEqual(["the thread died", 0]);
      written();
      await gathering.move(false);
      gathering.add("six");
      await gathering.move(false);
      expect(written()).toEqual([...again.map((each) => [...each]), ["six", 6, true]]);
      // The mark is read where no answer came, and not again.
      expect(marksRead()).toBe(1);
      expect(await gathered()).toEqual([]);
      gathering.stop();
    }
  });
});

describe("records that the tables refuse", () => {
  test("are written one by one, and one that is refused alone is set aside and reported", async () => {
    const { clock, gathering, writes, gaps, lost, gathered } = open(LEFT, [WRONG, DONE, WRONG]);
    await clock.advance(7);
    await gathering.move(true);
    expect(writes.map(({ number, isLazy, money }) => [money?.length ?? 0, number, isLazy])).toEqual([
      [2, 5, false],
      [1, 4, false],
      [1, 5, false],
      [0, 5, undefined],
    ]);
    const reason = "The tables refused record 5: a check";
    expect(writes.at(-1)?.records[0]?.values).toEqual(["refused", reason, 5, "five", 1_007]);
    expect(gaps).toEqual([{ kind: "refused", reason, refused: { number: 5, text: "five" } }]);
    expect([lost, await gathered(), gathering.inTables()]).toEqual([[], [], 5]);
  });

  test("stay where the tables take nothing meanwhile, and come once", async () => {
    const { gathering, written, gaps, why, gathered } = open(LEFT, [WRONG, DONE, AWAY]);
    expect(await why(gathering.move(false))).toBe("no room");
    expect([gaps, await gathered()]).toEqual([[], [5]]);
    written();
    await gathering.move(false);
    expect(written()).toEqual([["five", 5, true]]);
    gathering.stop();
  });

  test("and cannot be set aside now are tried again; where that is refused too, nothing is written any more", async () => {
    for (const [answer, lost] of [
      [AWAY, []],
      [WRONG, ["a record can neither be written nor be set aside: a check"]],
    ] as const) {
      const opened = open(LEFT.slice(0, 1), [WRONG, WRONG, answer]);
      expect(await opened.why(opened.gathering.move(false))).toBe(answer.failure);
      expect(opened.lost).toEqual([...lost]);
      expect([opened.gaps, await opened.gathered()]).toEqual([[], [4]]);
      opened.gathering.stop();
    }
  });
});
