import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt, printedOnFullDisk } from "../../test/files.ts";
import { stateRead } from "../../test/ledger/state-read.ts";
import { type Intent, openIntents, readIntents } from "./intents.ts";

const MIB = 1024 * 1024;

const intent = (id: string, { version = "v", boot = "b1" } = {}): Intent => ({
  hold: { ...stateRead({}).holds.get("h")!, id, boot, priceVersion: version },
  prices: { version, model: "m", rules: `{"input":"${version}"}`, createdAtMs: 1 },
});

describe("notes of open holds", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "switchyard-intents-"));
    file = join(folder, "intents");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const open = (holds: readonly Intent[] = [], failpoint?: (name: string) => void) =>
    openIntents(file, "journal", () => holds, failpoint);
  const idsRead = () => readIntents(file, "journal").map(({ hold }) => hold.id);
  const linesOf = () => readFileSync(file, "utf8").trimEnd().split("\n").slice(1);
  const descriptors = () => descriptorsAt(folder).length;

  test("are read as they were written, those that were open at the start first", () => {
    const notes = open([intent("h0")]);
    notes.note(intent("h1"));
    notes.note(intent("h2", { version: "v2" }));
    notes.close();
    expect(readIntents(file, "journal")).toEqual([
      intent("h0"),
      intent("h1"),
      intent("h2", { version: "v2" }),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("are none where there is no file, or where it belongs to another journal", () => {
    expect(readIntents(file, "journal")).toEqual([]);
    open([intent("h0")]).close();
    expect(readIntents(file, "other")).toEqual([]);
  });

  test("have the prices of each version once", () => {
    const notes = open([intent("h0"), intent("h1")]);
    for (const id of ["h2", "h3"]) notes.note(intent(id));
    for (const id of ["h4", "h5"]) notes.note(intent(id, { version: "v2" }));
    notes.close();
    expect(linesOf()).toHaveLength(8);
    expect(idsRead()).toEqual(["h0", "h1", "h2", "h3", "h4", "h5"]);
  });

  test("leave out what was cut off, what is no note, and holds whose prices are not known", () => {
    const notes = open([intent("h0")]);
    notes.note(intent("h1"));
    notes.close();
    const whole = linesOf();
    appendFileSync(file, `${["{}", "null", "[1]", ""].join("\n")}\n${whole[1]!.replace('"v"', '"gone"')}\n`);
    appendFileSync(file, whole[2]!.replace("h1", "h2"));
    expect(idsRead()).toEqual(["h0", "h1", "h2"]);
    truncateSync(file, statSync(file).size - 1);
    expect(idsRead()).toEqual(["h0", "h1"]);
  });

  test("begin anew with what is open once they are more than 1 MiB, and the file before is closed", () => {
    const passed: string[] = [];
    const holds = [intent("open")];
    const notes = open(holds, (name) => passed.push(name));
    notes.note(intent("h0"));
    const line = statSync(file).size;
    notes.note(intent("h1"));
    const least = statSync(file).size - line;
    notes.note(intent("large", { boot: `b1${"x".repeat(MIB - statSync(file).size - least - 3)}` }));
    expect(statSync(file).size).toBe(MIB);
    notes.note(intent("h2"));
    expect(idsRead()).toEqual(["open", "h0", "h1", "large", "h2"]);
    notes.note(intent("h3"));
    expect(idsRead()).toEqual(["open", "h3"]);
    expect(descriptors()).toBe(1);
    notes.close();
    notes.close();
    expect(descriptors()).toBe(0);
    const written = ["note.before_write", "note.after_write"];
    const begun = "notes.begun_anew";
    expect(passed).toEqual([begun, ...written, ...written, ...written, ...written, begun, ...written]);
  });

  test("begin anew once they are twice as much as what is open, where that is more", () => {
    const holds = [intent("open", { boot: "x".repeat(MIB) })];
    const notes = open(holds);
    const { size } = statSync(file);
    notes.note(intent("large", { boot: "x".repeat(MIB - 1_000) }));
    notes.note(intent("h1"));
    expect(statSync(file).size).toBeLessThan(2 * size);
    expect(idsRead()).toEqual(["open", "large", "h1"]);
    notes.note(intent("larger", { boot: "x".repeat(2_000) }));
    notes.note(intent("h2"));
    expect(idsRead()).toEqual(["open", "h2"]);
    notes.close();
  });

  test("that the disk takes in part are taken back: such a hold was never made", () => {
    const script = `
      const { statSync } = await import("node:fs");
      const { openIntents, readIntents } = await import(${JSON.stringify(join(import.meta.dir, "intents.ts"))});
      const file = ${JSON.stringify(file)};
      const notes = openIntents(file, "journal", () => []);
      const made = (id) => ({
        hold: { id, priceVersion: "v", model: "m".repeat(900) },
        prices: { version: "v", rules: "{}" },
      });
      const noted = [];
      let size = 0;
      for (let refused = ""; refused === ""; ) {
        size = statSync(file).size;
        try {
          notes.note(made("h" + noted.length));
          noted.push("h" + noted.length);
        } catch (error) {
          refused = error.message;
          console.log(refused);
        }
      }
      console.log(noted.length > 1, statSync(file).size === size, readIntents(file, "journal").length === noted.length);`;
    expect(printedOnFullDisk(script)).toBe("The disk has no room for the note of a hold.\ntrue true true\n");
  });

  test("that cannot begin say so, and leave nothing open", () => {
    mkdirSync(file);
    expect(() => open()).toThrow();
    expect(descriptors()).toBe(0);
  });
});
