import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JPEG_FILE, mp4File, pngFile, WEBP_FILE } from "../../test/assets/media-files.ts";
import { countTurns } from "../../test/gateway/turns.ts";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import type { Clock } from "../core/time/clock.ts";
import type { ResultFile } from "../core/task.ts";
import { systemRandom } from "../core/random.ts";
import { openDiskAssets } from "./disk.ts";

const TASK = `img_${"0a".repeat(16)}`;
const OTHER = `vid_${"0b".repeat(16)}`;
const NOW_MS = Date.UTC(2026, 10, 21, 12);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-assets-"));
  folders.push(folder);
  return folder;
}

function openIn(folder: string, clock: Clock = createFakeClock(NOW_MS), tasksPerSweep = 1_000) {
  return openDiskAssets({
    folder,
    publicUrl: () => "https://gateway.example/base",
    signingSecret: "5e".repeat(32),
    clock,
    random: systemRandom,
    tasksPerSweep,
  });
}

async function openNew() {
  const folder = join(newFolder(), "assets");
  return { folder, assets: await openIn(folder) };
}

function stored(answer: ResultFile | { readonly notStored: string }): ResultFile {
  if ("notStored" in answer) throw new Error(answer.notStored);
  return answer;
}

async function* piecesOf(bytes: Uint8Array, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

/** What a promise that must reject says. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "it did not reject",
    (error: unknown) => (error instanceof Error ? error.message : "no error"),
  );
}

const isFile = (name: string): boolean => /^[0-9a-f]{32}\.\w+$/.test(name);

describe("a stored file", () => {
  test("has a name made of its content, is this user's alone, and is read as it was", async () => {
    const { folder, assets } = await openNew();
    for (const [bytes, kind, mediaType] of [
      [pngFile(), "image", "image/png"],
      [JPEG_FILE, "image", "image/jpeg"],
      [WEBP_FILE, "image", "image/webp"],
      [mp4File({ dataBytes: 3 * 1024 * 1024 + 7 }), "video", "video/mp4"],
    ] as const) {
      const file = stored(await assets.store(TASK, bytes, kind));
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      expect(file).toMatchObject({ mediaType, bytes: bytes.length, sha256 });
      expect(file.name.startsWith(sha256.slice(0, 32))).toBe(true);
      expect(Buffer.from((await assets.read(TASK, file.name)) ?? [])).toEqual(Buffer.from(bytes));
      expect(statSync(join(folder, TASK, file.name)).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(join(folder, TASK)).filter((name) => !isFile(name))).toEqual([]);
    for (const path of [folder, join(folder, TASK)]) expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test("is one when a second run of its task stores the same, at once or later", async () => {
    const { folder, assets } = await openNew();
    const all = await Promise.all(Array.from({ length: 8 }, () => assets.store(TASK, pngFile(), "image")));
    expect(new Set(all.map((file) => JSON.stringify(file))).size).toBe(1);
    expect(readdirSync(join(folder, TASK)).length).toBe(1);
  });

  test("is another one's of another task", async () => {
    const { assets } = await openNew();
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    expect(await assets.read(OTHER, file.name)).toBeUndefined();
    await assets.store(OTHER, pngFile(), "image");
    await assets.remove(TASK);
    await assets.remove(TASK);
    expect(await assets.read(TASK, file.name)).toBeUndefined();
    expect(await assets.read(OTHER, file.name)).toBeDefined();
  });

  test("lets others have their turns while it is checked and written, however large it is", async () => {
    const { assets } = await openNew();
    const video = mp4File({ dataBytes: 40 * 1024 * 1024 });
    const { done, turns } = await countTurns(() => assets.store(TASK, video, "video"));
    expect(stored(done).bytes).toBe(video.length);
    expect(turns).toBeGreaterThan(40);
  });

  test("is taken in pieces, of any length", async () => {
    const { folder, assets } = await openNew();
    const video = mp4File({ dataBytes: 300_000 });
    for (const length of [1_000, 65_536, 1_000_000]) {
      const file = stored(await assets.store(TASK, piecesOf(video, length), "video"));
      expect(Buffer.from((await assets.read(TASK, file.name)) ?? [])).toEqual(Buffer.from(video));
    }
    expect(readdirSync(join(folder, TASK)).length).toBe(1);
  });

  test("that breaks off on its way leaves nothing, and its source's own error is told", async () => {
    const { folder, assets } = await openNew();
    const broken = async function* () {
      yield mp4File().subarray(0, 700);
      throw new Error("it broke off");
    };
    expect(await failureOf(assets.store(TASK, broken(), "video"))).toBe("it broke off");
    expect(readdirSync(join(folder, TASK))).toEqual([]);
  });

  test("that is not wanted is read no further, and its source is told so", async () => {
    const { folder, assets } = await openNew();
    let given = 0;
    let isLeft = false;
    const endless = async function* () {
      try {
        for (;;) {
          given += 1;
          yield new TextEncoder().encode("<!doctype html>".padEnd(1_000));
        }
      } finally {
        isLeft = true;
      }
    };
    expect(await assets.store(TASK, endless(), "video")).toHaveProperty("notStored");
    expect([given, isLeft]).toEqual([1, true]);
    expect(readdirSync(join(folder, TASK))).toEqual([]);
  });

  test("is not kept when it is none", async () => {
    const { folder, assets } = await openNew();
    expect(await assets.store(TASK, new TextEncoder().encode("<svg/>"), "image")).toHaveProperty("notStored");
    expect(await assets.store(TASK, pngFile(1, 1), "image")).toHaveProperty("notStored");
    expect(readdirSync(join(folder, TASK))).toEqual([]);
  });
});

describe("a URL of a file", () => {
  test("opens it in every process with the secret, until its hour is over", async () => {
    const { folder, assets } = await openNew();
    const bytes = pngFile();
    const file = stored(await assets.store(TASK, bytes, "image"));
    const url = assets.urlOf(TASK, file);
    expect(url).toStartWith(`https://gateway.example/base/assets/${TASK}/${file.name}?expires=`);
    const { pathname, search } = new URL(url);
    const ask = async (nowMs: number) =>
      (await openIn(folder, createFakeClock(nowMs))).open(pathname.slice("/base".length), search.slice(1));
    const found = await ask(NOW_MS + 1_000);
    expect(found).toMatchObject({ mediaType: "image/png", bytes: bytes.length, goodForSec: 3_599 });
    expect(Buffer.from((await found?.slice(0, bytes.length).bytes()) ?? [])).toEqual(Buffer.from(bytes));
    expect(Buffer.from((await found?.slice(5, 9).bytes()) ?? [])).toEqual(Buffer.from(bytes.slice(5, 9)));
    expect(await ask(NOW_MS + 3_700_000)).toBeUndefined();
    await assets.remove(TASK);
    expect(await ask(NOW_MS)).toBeUndefined();
  });

  test("is never made of what is no task or no file", async () => {
    const { assets } = await openNew();
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    for (const name of ["", "..", "../x", `../${OTHER}/${file.name}`, `${file.name}\n`, "x.png", "a/b"]) {
      expect(() => assets.urlOf(TASK, { ...file, name })).toThrow();
      expect(await assets.read(TASK, name)).toBeUndefined();
    }
    for (const task of ["", "..", `../${TASK}`, `${TASK}/`, TASK.toUpperCase(), "img_1", "hold_1"]) {
      expect(() => assets.urlOf(task, file)).toThrow();
      expect(await failureOf(assets.store(task, pngFile(), "image"))).toMatch("no id of a task");
      expect(await failureOf(assets.remove(task))).toMatch("no id of a task");
      expect(await failureOf(assets.read(task, file.name))).toMatch("no id of a task");
    }
  });
});

describe("a link in the folder", () => {
  test("in place of a file or of a task's folder leads nowhere, and what it names is left alone", async () => {
    const { folder, assets } = await openNew();
    const elsewhere = newFolder();
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    writeFileSync(join(elsewhere, file.name), pngFile());
    utimesSync(join(elsewhere, file.name), 0, 0);
    rmSync(join(folder, TASK, file.name));
    symlinkSync(join(elsewhere, file.name), join(folder, TASK, file.name));
    symlinkSync(elsewhere, join(folder, OTHER));
    for (const task of [TASK, OTHER]) {
      expect(await assets.read(task, file.name)).toBeUndefined();
      const { pathname, search } = new URL(assets.urlOf(task, file));
      expect(await assets.open(pathname.slice("/base".length), search.slice(1))).toBeUndefined();
    }
    expect(await failureOf(assets.store(OTHER, pngFile(), "image"))).toMatch("cannot be stored");
    expect(await assets.sweep(async () => false)).toBe(0);
    await assets.remove(OTHER);
    await assets.remove(TASK);
    expect(readdirSync(elsewhere)).toEqual([file.name]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("in place of a file is replaced when the file is stored again", async () => {
    const { folder, assets } = await openNew();
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    const target = join(newFolder(), "target");
    writeFileSync(target, "as it was");
    rmSync(join(folder, TASK, file.name));
    symlinkSync(target, join(folder, TASK, file.name));
    await assets.store(TASK, pngFile(), "image");
    expect(readFileSync(target, "utf8")).toBe("as it was");
    expect(await assets.read(TASK, file.name)).toEqual(pngFile());
  });

  test("or a folder in place of a file is no file", async () => {
    const { folder, assets } = await openNew();
    const name = `${"ab".repeat(16)}.png`;
    mkdirSync(join(folder, TASK, name), { recursive: true });
    expect(await assets.read(TASK, name)).toBeUndefined();
  });
});

describe("a sweep", () => {
  const old = (path: string): void => utimesSync(path, NOW_MS / 1000 - 3_601, NOW_MS / 1000 - 3_601);
  const young = (path: string): void => utimesSync(path, NOW_MS / 1000 - 3_590, NOW_MS / 1000 - 3_590);

  test("removes files of an hour that nobody names, and what was being written when its process died", async () => {
    const { folder, assets } = await openNew();
    const [named, orphan, fresh] = await Promise.all(
      [1, 2, 3].map(async (shade) => stored(await assets.store(TASK, pngFile(9, 9, shade), "image")).name),
    );
    const path = (name = ""): string => join(folder, TASK, name);
    for (const name of [named, orphan]) old(path(name));
    young(path(fresh));
    writeFileSync(path(".00.partial"), "half");
    old(path(".00.partial"));
    writeFileSync(path(".01.partial"), "half");
    young(path(".01.partial"));
    mkdirSync(join(folder, OTHER));
    writeFileSync(join(folder, OTHER, orphan ?? ""), "x");
    old(join(folder, OTHER, orphan ?? ""));
    writeFileSync(join(folder, "not-ours"), "x");
    old(join(folder, "not-ours"));
    const asked: string[] = [];
    const removed = await assets.sweep(async (task, name) => {
      asked.push(`${task}/${name}`);
      return task === TASK && name === named;
    });
    expect(removed).toBe(3);
    expect(readdirSync(path()).sort()).toEqual([named, fresh, ".01.partial"].map(String).sort());
    expect(existsSync(join(folder, OTHER))).toBe(false);
    expect(existsSync(join(folder, "not-ours"))).toBe(true);
    expect(asked.sort()).toEqual([`${TASK}/${named}`, `${TASK}/${orphan}`, `${OTHER}/${orphan}`].sort());
  });

  test("removes nothing young, though the machine's time is set forward", async () => {
    const folder = newFolder();
    const clock = createFakeClock(NOW_MS);
    const assets = await openIn(folder, clock);
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    young(join(folder, TASK, file.name));
    clock.jump(86_400_000);
    expect(await assets.sweep(async () => false)).toBe(0);
    await clock.advance(11_000);
    expect(await assets.sweep(async () => false)).toBe(1);
  });

  test("removes nothing when it cannot be told what is named", async () => {
    const { folder, assets } = await openNew();
    const file = stored(await assets.store(TASK, pngFile(), "image"));
    old(join(folder, TASK, file.name));
    expect(await failureOf(assets.sweep(() => Promise.reject(new Error("The store is away."))))).toMatch(
      "away",
    );
    expect(await assets.read(TASK, file.name)).toBeDefined();
  });

  test("leaves a folder that got a file meanwhile, and is not disturbed by one that has gone", async () => {
    const { folder, assets } = await openNew();
    for (const task of [TASK, OTHER]) {
      mkdirSync(join(folder, task));
      writeFileSync(join(folder, task, `${"ab".repeat(16)}.png`), "x");
      old(join(folder, task, `${"ab".repeat(16)}.png`));
    }
    const removed = await assets.sweep(async (task) => {
      if (task === TASK) writeFileSync(join(folder, task, "new"), "x");
      else rmSync(join(folder, task), { recursive: true });
      return false;
    });
    expect(removed).toBe(2);
    expect(readdirSync(folder)).toEqual([TASK]);
    expect(readdirSync(join(folder, TASK))).toEqual(["new"]);
  });

  test("removes empty folders of an hour, and no others", async () => {
    const { folder, assets } = await openNew();
    for (const [task, age] of [
      [TASK, old],
      [OTHER, young],
    ] as const) {
      mkdirSync(join(folder, task));
      age(join(folder, task));
    }
    expect(await assets.sweep(async () => true)).toBe(0);
    expect(readdirSync(folder)).toEqual([OTHER]);
  });

  test("looks at a bounded number of tasks, and the next one at those behind them, all around", async () => {
    const folder = newFolder();
    const assets = await openIn(folder, createFakeClock(NOW_MS), 10);
    const name = `${"ab".repeat(16)}.png`;
    for (let i = 0; i < 21; i += 1) {
      const task = `img_${i.toString(16).padStart(32, "0")}`;
      mkdirSync(join(folder, task));
      writeFileSync(join(folder, task, name), "");
      old(join(folder, task, name));
    }
    const rounds: number[] = [];
    const seen = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      let asked = 0;
      await assets.sweep(async (task) => {
        asked += 1;
        seen.add(task);
        return true;
      });
      rounds.push(asked);
    }
    expect(rounds).toEqual([10, 10, 1, 10]);
    expect(seen.size).toBe(21);
  });
});

describe("a folder that cannot be written", () => {
  test("is told in one sentence when it is opened", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    for (const folder of [file, join(file, "assets")])
      expect(await failureOf(openIn(folder))).toMatch(
        /^The folder of result files .* cannot be written \(E\w+\)\. .*\.$/,
      );
  });

  test("may be a link to another disk", async () => {
    const [disk, home] = [newFolder(), newFolder()];
    symlinkSync(disk, join(home, "assets"));
    const assets = await openIn(join(home, "assets"));
    stored(await assets.store(TASK, pngFile(), "image"));
    expect(readdirSync(disk)).toEqual([TASK]);
  });
});
