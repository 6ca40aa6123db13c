import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { journalAt, type JournalFile, type JournalHome } from "./journal-file.ts";

describe("a record of the journal", () => {
  let folder: string;
  let home: JournalHome;
  let journal: JournalFile;
  /** How long each write seems to take. */
  let takesMs: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "switchyard-journal-"));
    let nowMs = 0;
    takesMs = 1;
    home = journalAt(join(folder, "journal"), { steadyMs: () => (nowMs += takesMs) });
    journal = home.open("one");
  });
  afterEach(() => {
    journal.close();
    rmSync(folder, { recursive: true });
  });

  /** Writes a record, and tells whether it was there before the event loop had a turn, as it has for another thread. */
  const write = async (number: number, nobodyWaits?: boolean): Promise<boolean> => {
    let isDone = false;
    const written = journal
      .write(number, Buffer.from(`record ${number}`), nobodyWaits)
      .then(() => (isDone = true));
    for (let i = 0; i < 10; i += 1) await Promise.resolve();
    const wasAtOnce = isDone;
    await written;
    return wasAtOnce;
  };
  const numbers = () => home.read()?.records.map(({ number, text }) => [number, text]);

  test("is written at once where nobody waits, and by another thread where somebody does", async () => {
    expect([await write(1, true), await write(2, false), await write(3)]).toEqual([true, false, false]);
    expect(numbers()).toEqual([
      [1, "record 1"],
      [2, "record 2"],
      [3, "record 3"],
    ]);
  });

  test("is written by another thread, whoever waits, while the disk takes two milliseconds or more", async () => {
    takesMs = 2;
    expect(await write(1, true)).toBe(true);
    expect([await write(2, true), await write(3, true)]).toEqual([false, false]);
    takesMs = 1;
    expect([await write(4, true), await write(5, true)]).toEqual([false, true]);
    expect(numbers()).toHaveLength(5);
  });
});
