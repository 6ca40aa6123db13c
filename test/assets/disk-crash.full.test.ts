import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/core/time/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { openDiskAssets } from "../../src/assets/disk.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";

const RUNS = LONG ? 200 : 8;
const TASK = `vid_${"0b".repeat(16)}`;
const LOOP = join(import.meta.dirname, "store-loop.ts");

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-assets-"));
  folders.push(folder);
  return folder;
}

/** Starts a process that stores videos; `shell` goes before it on its command line. */
function startLoop(folder: string, [bytes, step]: readonly [number, number], shell = "") {
  const command = `${shell} exec "$0" "$@"`;
  const args = [LOOP, folder, TASK, String(bytes), String(step)];
  return Bun.spawn(["bash", "-c", command, process.execPath, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** What is in the folder of the task under a name of a file, and what else. */
function lookInto(folder: string): {
  readonly files: readonly string[];
  readonly partial: readonly string[];
} {
  const names = readdirSync(join(folder, TASK));
  const isPartial = (name: string): boolean => name.startsWith(".");
  return { files: names.filter((name) => !isPartial(name)), partial: names.filter(isPartial) };
}

const hashOf = (path: string): string =>
  new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");

describe("a process that is killed while it stores", () => {
  test("leaves whole files alone under their names, those that it told of among them (K21, K22)", async () => {
    const random = seededRandom(SEED);
    let partials = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const folder = newFolder();
      const child = startLoop(folder, [20_000_000, 1]);
      const reader = child.stdout.getReader();
      let said = "";
      const wanted = 1 + Math.floor(random() * 3);
      // Until so many videos are there, and the next one is being written.
      while (said.split("\n").length <= wanted + 1) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`The process ended: ${said}`);
        said += new TextDecoder().decode(value);
      }
      while (lookInto(folder).partial.length === 0) await Bun.sleep(1);
      await Bun.sleep(random() * 15);
      child.kill("SIGKILL");
      await child.exited;
      const { files, partial } = lookInto(folder);
      partials += partial.length;
      for (const name of files)
        expect([name, hashOf(join(folder, TASK, name)).startsWith(name.slice(0, 32))]).toEqual([name, true]);
      for (const name of said.split("\n").slice(1, -1)) expect(files).toContain(name);
      const assets = await openDiskAssets({
        folder,
        publicUrl: () => "http://gateway",
        signingSecret: "5e".repeat(32),
        clock: systemClock,
        random: systemRandom,
      });
      for (const name of partial) utimesSync(join(folder, TASK, name), 0, 0);
      expect(await assets.sweep(() => Promise.resolve(true))).toBe(partial.length);
      expect(lookInto(folder)).toEqual({ files, partial: [] });
    }
    expect(partials).toBeGreaterThan(0);
    console.log(`killed ${RUNS} times while storing, ${partials} times amid a file`);
  }, 300_000);
});

describe("a disk that is full", () => {
  test("refuses the file that does not fit, which can be tried again, and keeps nothing of it", async () => {
    const folder = newFolder();
    // The limit of the system is in KiB; without the signal, a write beyond it fails as one on a full disk does.
    const child = startLoop(folder, [1_000_000, 900_000], "trap '' XFSZ; ulimit -f 3000;");
    const said = await new Response(child.stdout).text();
    const lines = said.trim().split("\n");
    const stored = lines.slice(1, -1);
    expect(stored.length).toBe(3);
    expect(lines.at(-1)).toMatch(/^failed: GatewayError: Results cannot be stored at the moment\. E\w+$/);
    expect(lookInto(folder)).toEqual({ files: expect.arrayContaining(stored), partial: [] });
    expect(lookInto(folder).files.length).toBe(stored.length);
  }, 60_000);
});
