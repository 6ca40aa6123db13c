import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt, printedOnFullDisk } from "../../../test/files.ts";
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

describe("the files of the journal", () => {
  const MIB = 1024 * 1024;
  /** What a file has room for, in one record. */
  const ROOM = MIB - 64 - 16;
  let folder: string;
  let prefix: string;
  let home: JournalHome;
  let journal: JournalFile;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "switchyard-journal-"));
    prefix = join(folder, "journal");
    home = journalAt(prefix);
    journal = home.open("one");
  });
  afterEach(() => {
    journal.close();
    rmSync(folder, { recursive: true });
  });

  const numbers = () => home.read()?.records.map(({ number }) => number);
  const write = (number: number, bytes = 84) => journal.write(number, Buffer.alloc(bytes, "x"), true);
  /** Changes bytes of the first file. */
  const change = (at: number, ...bytes: readonly number[]) => {
    const file = readFileSync(`${prefix}-a`);
    file.set(bytes, at);
    writeFileSync(`${prefix}-a`, file);
  };

  test("are of a fixed size, and no other user may read them", () => {
    for (const name of ["a", "b"]) {
      const { size, mode } = statSync(`${prefix}-${name}`);
      expect([size, mode & 0o777]).toEqual([MIB, 0o600]);
      const title = `${"switchyard journal 1 one".padEnd(63)}\n`;
      expect(readFileSync(`${prefix}-${name}`)).toEqual(Buffer.from(title + "\0".repeat(MIB - 64)));
    }
  });

  test("have room up to their last byte", async () => {
    expect([journal.isTooLong(ROOM), journal.isTooLong(ROOM + 1)]).toEqual([false, true]);
    await write(1);
    expect([journal.hasRoom(ROOM - 100), journal.hasRoom(ROOM - 99)]).toEqual([true, false]);
    await write(2, ROOM - 116);
    await write(3, 0);
    expect(numbers()).toEqual([1, 2, 3]);
  });

  test("have records as every version writes them, so that a later one reads what an earlier left", async () => {
    await journal.write(258, Buffer.from("text"), true);
    const record = readFileSync(`${prefix}-a`).subarray(64, 64 + 20);
    expect(record.toString("hex")).toBe("040000000201000000000000563ef00f74657874");
  });

  test("are not begun where the disk has no room for them", () => {
    const script = `
      const { journalAt } = await import(${JSON.stringify(join(import.meta.dir, "journal-file.ts"))});
      try {
        journalAt(${JSON.stringify(join(folder, "large"))}).open("one");
      } catch (error) {
        console.log(error.message);
      }`;
    expect(printedOnFullDisk(script)).toBe("The disk has no room for the journal.\n");
  });

  test("say why the disk does not take a record, or that it takes only a part", () => {
    const script = `
      const { closeSync, openSync } = await import("node:fs");
      const { journalAt } = await import(${JSON.stringify(join(import.meta.dir, "journal-file.ts"))});
      const journal = journalAt(${JSON.stringify(prefix)}).open("one");
      for (const nobodyWaits of [true, false])
        await journal.write(1, Buffer.alloc(100_000), nobodyWaits).catch((error) => console.log(error.message));
      journal.close();
      for (const nobodyWaits of [true, false])
        await journal.write(1, Buffer.alloc(1), nobodyWaits).catch((error) => console.log(error.code));`;
    const part = "The disk took only a part of the journal's record.";
    expect(printedOnFullDisk(script)).toBe([part, part, "EBADF", "EBADF", ""].join("\n"));
  });

  test("are mended only after a write that failed", async () => {
    change(64, 7);
    await journal.mend();
    expect(readFileSync(`${prefix}-a`)[64]).toBe(7);
    await write(1);
    change(164, 7);
    await journal.mend();
    expect(readFileSync(`${prefix}-a`)[164]).toBe(7);
  });

  test("are half full when more than half is written", async () => {
    await write(1, MIB / 2 - 64 - 16);
    expect(journal.isHalfFull()).toBe(false);
    await write(2, 0);
    expect(journal.isHalfFull()).toBe(true);
    journal.turn();
    expect(journal.isHalfFull()).toBe(false);
  });

  test("are written in turns: their records are in order, and those of the turn before are gone", async () => {
    for (const number of [1, 2]) await write(number);
    expect(journal.lastOfOther()).toBe(0);
    journal.turn();
    for (const number of [3, 4, 5]) await write(number);
    expect([journal.lastOfOther(), numbers()]).toEqual([2, [1, 2, 3, 4, 5]]);
    journal.turn();
    await write(6);
    expect([journal.lastOfOther(), numbers()]).toEqual([5, [3, 4, 5, 6]]);
    journal.turn();
    expect(journal.lastOfOther()).toBe(6);
    journal.turn();
    expect(journal.lastOfOther()).toBe(0);
  });

  test("end where a record is not whole, or does not follow", async () => {
    for (const number of [1, 2, 3, 3, 4]) await write(number);
    expect(numbers()).toEqual([1, 2, 3]);
    const third = 64 + 2 * 100;
    for (const at of [third + 4, third + 12, third + 16, third + 99]) {
      const byte = readFileSync(`${prefix}-a`)[at]!;
      change(at, byte ^ 1);
      expect(numbers()).toEqual([1, 2]);
      change(at, byte);
    }
    // A length that leads out of the file, by one byte.
    const size = Buffer.alloc(4);
    size.writeUInt32LE(MIB - third - 16 + 1);
    change(third, ...size);
    expect(numbers()).toEqual([1, 2]);
  });

  test("are no journal unless both are there, whole, and of one id", () => {
    expect(home.read()).toEqual({ id: "one", records: [] });
    change(0, 0);
    expect(home.read()).toBeUndefined();
    change(0, ...Buffer.from("switchyard journal 1 two"));
    expect(home.read()).toBeUndefined();
    change(0, ...Buffer.from("switchyard journal 1 one"));
    expect(home.read()).toEqual({ id: "one", records: [] });
    truncateSync(`${prefix}-a`, MIB - 1);
    expect(home.read()).toBeUndefined();
    rmSync(`${prefix}-a`);
    expect(home.read()).toBeUndefined();
  });

  test("are gone on with by their id, and set aside where they have another", async () => {
    await write(1);
    home.open("one").close();
    expect(numbers()).toEqual([1]);
    const before = readFileSync(`${prefix}-a`);
    home.open("two").close();
    expect(home.read()).toEqual({ id: "two", records: [] });
    expect(readFileSync(`${prefix}-a.before-two`)).toEqual(before);
    expect(existsSync(`${prefix}-b.before-two`)).toBe(true);
  });

  test("keep nothing of a record whose write failed, once they are mended", async () => {
    await write(1);
    const [at, file] = [64 + 100, readFileSync(`${prefix}-a`)];
    await write(2);
    const second = readFileSync(`${prefix}-a`).subarray(at, at + 100);
    writeFileSync(`${prefix}-a`, file);
    journal.close();
    journal = home.open("one");
    const [descriptor = NaN] = descriptorsAt(`${prefix}-a`);
    // The disk takes a record, and says that it has not.
    const failing = async (number: number) => {
      closeSync(descriptor);
      const written = write(number).then(
        () => true,
        () => false,
      );
      expect(openSync(`${prefix}-a`, constants.O_WRONLY)).toBe(descriptor);
      change(64, ...second);
      expect(await written).toBe(false);
    };
    await failing(2);
    expect(numbers()).toEqual([2]);
    await journal.mend();
    expect(numbers()).toEqual([]);
    change(64, 7);
    await journal.mend();
    expect(readFileSync(`${prefix}-a`)[64]).toBe(7);
    await write(3);
    await journal.mend();
    expect(numbers()).toEqual([3]);
  });

  test("are closed with the journal", () => {
    journal.close();
    expect(descriptorsAt(folder)).toEqual([]);
    journal = home.open("one");
  });
});
