import { afterEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pngFile } from "../../test/assets/media-files.ts";
import { systemRandom } from "../core/random.ts";
import type { ResultFile } from "../core/task.ts";
import { createPlace, isMissing, openSpool } from "./disk-write.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-spool-"));
  folders.push(folder);
  return folder;
}

const failed = (error: unknown): Error => error as Error;

describe("a folder of files on their way", () => {
  test("is made where it is missing, and has each file while it is sent, and not longer", async () => {
    const folder = join(newFolder(), "a/b");
    const spool = await openSpool(folder, systemRandom);
    let sent: readonly [bytes: Buffer, file: ResultFile] | undefined;
    const send = async (path: string, file: ResultFile): Promise<void> => {
      expect(readdirSync(folder)).toHaveLength(1);
      sent = [readFileSync(path), file];
    };
    const file = await spool.through(pngFile(), "image", send);
    expect(sent?.[1]).toEqual(file as ResultFile);
    expect(Bun.hash(sent![0])).toBe(Bun.hash(pngFile()));
    expect(readdirSync(folder)).toEqual([]);
    expect(await spool.through(new Uint8Array(9), "image", send)).toHaveProperty("notStored");
    const broken = spool.through(pngFile(), "image", () => Promise.reject(new Error("away")));
    expect((await broken.catch(failed)) as Error).toMatchObject({ message: "away" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is swept of what is older than it is told, by names of ours alone", async () => {
    const folder = newFolder();
    const spool = await openSpool(folder, systemRandom);
    const name = (digit: string): string => `.${digit.repeat(32)}.partial`;
    const ages = { [name("a")]: 99, [name("b")]: 100, [name("c")]: 101, "other.txt": 1, ".a.partial": 1 };
    for (const [file, seconds] of Object.entries(ages)) {
      writeFileSync(join(folder, file), "x");
      utimesSync(join(folder, file), seconds, seconds);
    }
    await spool.sweep(100_000);
    expect(readdirSync(folder).sort()).toEqual([".a.partial", name("b"), name("c"), "other.txt"].sort());
  });

  test("that cannot be made is told of in one sentence, with the variable that names another", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "x");
    const spool = await openSpool(join(file, "a"), systemRandom).catch(failed);
    expect((spool as Error).message).toBe(
      `The folder ${join(file, "a")} of files on their way to ASSETS_URL cannot be written (ENOTDIR). Give it to this user, or set SWITCHYARD_HOME.`,
    );
    const place = await createPlace(join(file, "a"), systemRandom).prove().catch(failed);
    expect((place as Error).message).toBe(
      `The folder of result files ${join(file, "a")} cannot be written (ENOTDIR). Give it to this user, or set ASSETS_URL.`,
    );
  });
});

test("a place that was proved is there and empty, and a file in a task's place is no folder", async () => {
  const folder = join(newFolder(), "a/b");
  const place = createPlace(folder, systemRandom);
  await place.prove();
  expect(readdirSync(folder)).toEqual([]);
  mkdirSync(join(folder, "t"));
  expect(await place.write("t", pngFile(), "image")).toHaveProperty("name");
  expect(readdirSync(join(folder, "t"))).toHaveLength(1);
  expect(await place.write("t", new Uint8Array(9), "image")).toHaveProperty("notStored");
  expect(readdirSync(join(folder, "t"))).toHaveLength(1);
});

test("a file that is missing is told from one that cannot be read", () => {
  const withCode = (code: string): Error => Object.assign(new Error("x"), { code });
  for (const code of ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]) expect(isMissing(withCode(code))).toBe(true);
  for (const error of [withCode("EACCES"), withCode("EIO"), new Error("ENOENT"), "ENOENT", undefined])
    expect(isMissing(error)).toBe(false);
});
