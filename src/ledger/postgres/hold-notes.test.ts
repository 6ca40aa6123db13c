import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt } from "../../../test/files.ts";
import { stateRead } from "../../../test/ledger/state-read.ts";
import type { Intent } from "../intents.ts";
import { openHoldNotes } from "./hold-notes.ts";

const intent = (id: string): Intent => ({
  hold: { ...stateRead({}).holds.get("h")!, id },
  prices: { version: "v", model: "m", rules: "{}", createdAtMs: 1 },
});

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "switchyard-notes-"));
  folder = join(parent, "notes", "of these books");
});
afterEach(() => rmSync(parent, { recursive: true }));

const idsOf = (intents: readonly Intent[]): readonly string[] => intents.map(({ hold }) => hold.id);

test("another run finds what one had open, without its own file and files of others", () => {
  const [one, two] = [openHoldNotes(folder), openHoldNotes(folder)];
  expect(one.left()).toEqual([]);
  expect(() => one.note(intent("h"))).toThrow("The notes are not open.");
  one.open("one", () => [intent("h0")]);
  one.note(intent("h1"));
  two.open("two", () => []);
  writeFileSync(join(folder, "something.else"), "");
  expect(one.left()).toEqual(["two"]);
  expect(two.left()).toEqual(["one"]);
  expect(idsOf(two.read("one"))).toEqual(["h0", "h1"]);
  expect(idsOf(two.read("nobody"))).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const notes of [one, two]) notes.close(true);
  expect(readdirSync(folder)).toEqual(["something.else"]);
});

test("a run that begins anew has one file open, with what is open then", () => {
  const notes = openHoldNotes(folder);
  notes.open("one", () => [intent("h0")]);
  notes.open("one", () => [intent("h1")]);
  expect(idsOf(notes.read("one"))).toEqual(["h1"]);
  if (process.platform === "linux") expect(descriptorsAt(folder)).toHaveLength(1);
  notes.close(false);
  if (process.platform === "linux") expect(descriptorsAt(folder)).toHaveLength(0);
});

test("the file of a run stays where it has changed since it was read, and goes with what it began to write", () => {
  const [one, two] = [openHoldNotes(folder), openHoldNotes(folder)];
  one.open("one", () => []);
  const file = join(folder, "one.holds");
  two.read("one");
  one.note(intent("late"));
  two.remove("one");
  expect(existsSync(file)).toBe(true);
  two.read("one");
  one.open("one", () => [intent("late")]);
  two.remove("one");
  expect(existsSync(file)).toBe(true);
  two.read("one");
  writeFileSync(`${file}.next`, "");
  two.remove("one");
  expect(readdirSync(folder)).toEqual([]);
  // Gone already, and never read.
  two.remove("one");
  one.close(false);
});

test("what another run has removed is missed neither by it nor at the end of the run that wrote it", () => {
  const [one, two] = [openHoldNotes(folder), openHoldNotes(folder)];
  one.open("one", () => []);
  two.remove("one");
  // It was never read.
  expect(readdirSync(folder)).toEqual(["one.holds"]);
  two.read("one");
  two.remove("one");
  expect(readdirSync(folder)).toEqual([]);
  one.close(true);
  openHoldNotes(folder).close(true);
  expect(readdirSync(folder)).toEqual([]);
});
