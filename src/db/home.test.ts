import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsAt } from "../../test/files.ts";
import { systemRandom } from "../core/random.ts";
import { openHome } from "./home.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-home-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a home is made at first, keeps its files under their names, and is another process's until it is closed", () => {
  const path = join(folder, "a/home");
  const made = openHome(path, systemRandom);
  expect(made.pepper).toMatch(/^[0-9a-f]{64}$/);
  expect(made.adminTokenHash).toBeUndefined();
  expect(made.databaseFile).toBe(join(path, "switchyard.db"));
  expect(readFileSync(join(path, "pepper"), "utf8")).toBe(`${made.pepper}\n`);
  expect(existsSync(join(path, "lock"))).toBe(true);
  expect([path, join(path, "pepper")].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o600]);
  expect(() => openHome(path, systemRandom)).toThrow("is in use by another Switchyard process");
  made.close();
  writeFileSync(join(path, "admin-token"), "a hash\n");
  const again = openHome(path, systemRandom);
  expect([again.pepper, again.adminTokenHash]).toEqual([made.pepper, "a hash"]);
  again.close();
});

test("a secret that is shorter than 32 characters is refused", () => {
  for (const [length, isTaken] of [
    [31, false],
    [32, true],
  ] as const) {
    const path = mkdtempSync(join(folder, "secret-"));
    writeFileSync(join(path, "pepper"), "s".repeat(length));
    const open = () => openHome(path, systemRandom).close();
    if (isTaken) expect(open).not.toThrow();
    else expect(open).toThrow("is empty or too short");
  }
});

test("a secret that others could read is made its owner's alone", () => {
  const path = join(folder, "open/home");
  openHome(path, systemRandom).close();
  const pepper = join(path, "pepper");
  chmodSync(pepper, 0o644);
  openHome(path, systemRandom).close();
  expect(statSync(pepper).mode & 0o777).toBe(0o600);
});

test("a folder that cannot be made or takes no file is refused with the reason", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(() => openHome(join(file, "home"), systemRandom)).toThrow("cannot be written (ENOTDIR). Give it");
  const path = join(folder, "no-files");
  mkdirSync(join(path, ".writable"), { recursive: true });
  expect(() => openHome(path, systemRandom)).toThrow("cannot be written (EISDIR). Give it");
});

test.if(process.platform === "linux")("a process that was kept out leaves no file open", () => {
  const path = join(folder, "used");
  const made = openHome(path, systemRandom);
  expect(() => openHome(path, systemRandom)).toThrow("is in use");
  // SQLite closes a file of a process once none of its connections has a lock on it.
  made.close();
  expect(descriptorsAt(join(path, "lock"))).toEqual([]);
});
