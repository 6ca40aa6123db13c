import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { matchesLock } from "../../bin/install.mjs";
import {
  BUN_FLAGS,
  ROOT,
  bunBinary,
  bunPackage,
  nodeProblem,
  runtimeEnvironment,
} from "../../bin/runtime.mjs";

const scratch = mkdtempSync(join(tmpdir(), "switchyard-launcher-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test("a Node that is too old is told so in a sentence, and a newer one is not", () => {
  expect(nodeProblem("18.20.4")).toContain("this is Node 18.20.4, and Switchyard needs Node 20 or newer");
  expect(nodeProblem("20.0.0")).toBeUndefined();
  expect(nodeProblem("100.1.0")).toBeUndefined();
});

describe("the pinned Bun", () => {
  const machines = [
    { machine: { platform: "linux", arch: "x64", musl: false }, want: "@oven/bun-linux-x64" },
    { machine: { platform: "linux", arch: "arm64", musl: true }, want: "@oven/bun-linux-aarch64-musl" },
    { machine: { platform: "android", arch: "arm64", musl: false }, want: "@oven/bun-linux-aarch64-android" },
    { machine: { platform: "darwin", arch: "arm64", musl: false }, want: "@oven/bun-darwin-aarch64" },
    { machine: { platform: "win32", arch: "x64", musl: false }, want: "@oven/bun-windows-x64" },
  ];
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  for (const { machine, want } of machines) {
    test(`is the package ${want} on ${machine.platform}-${machine.arch}, and the lockfile has it`, () => {
      expect(bunPackage(machine)).toBe(want);
      expect(packages).toHaveProperty([`node_modules/${want}`]);
    });
  }

  test("is what this machine's package holds", () => {
    const pin = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).dependencies.bun;
    expect(Bun.spawnSync([bunBinary(), "--version"]).stdout.toString().trim()).toBe(pin);
  });

  test("is missing with a sentence where the platform has none, nothing is installed, or another version is", () => {
    const name = "@oven/bun-linux-x64";
    writeFileSync(join(scratch, "package.json"), JSON.stringify({ dependencies: { bun: "1.4.5" } }));
    const locked = { packages: { [`node_modules/${name}`]: { version: "1.4.5" } } };
    writeFileSync(join(scratch, "package-lock.json"), JSON.stringify(locked));
    expect(() => bunBinary(scratch, "@oven/bun-sunos-x64")).toThrow("no build for this machine");
    expect(() => bunBinary(scratch, name)).toThrow("bin/bun is missing");

    const folder = join(scratch, "node_modules", name);
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "bin", "bun"), "");
    writeFileSync(join(folder, "package.json"), JSON.stringify({ version: "1.4.4" }));
    expect(() => bunBinary(scratch, name)).toThrow("is 1.4.4, but package.json pins 1.4.5");
  });
});

describe("the environment", () => {
  test("of Bun raises the limit of upstream calls unless one is set, keeps free memory, and sends nothing home", () => {
    expect(runtimeEnvironment({ A: "b" })).toEqual({
      A: "b",
      BUN_CONFIG_MAX_HTTP_REQUESTS: "20000",
      MIMALLOC_PURGE_DELAY: "1000",
      MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "1000",
      BUN_ENABLE_CRASH_REPORTING: "0",
      DO_NOT_TRACK: "1",
    });
    const own = {
      BUN_CONFIG_MAX_HTTP_REQUESTS: "9",
      MIMALLOC_PURGE_DELAY: "0",
      MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "5",
    };
    expect(runtimeEnvironment(own)).toMatchObject(own);
  });
});

describe("the installed packages", () => {
  const locked = {
    "": {},
    "node_modules/a": { version: "1.0.0", integrity: "x" },
    "node_modules/d": { version: "2.0.0", integrity: "y", dev: true },
    "node_modules/o": { version: "3.0.0", integrity: "z", optional: true },
  };
  const a = { "node_modules/a": locked["node_modules/a"] };
  const d = { "node_modules/d": locked["node_modules/d"] };
  const cases = [
    { name: "all of them", installed: { ...a, ...d }, run: true, develop: true },
    { name: "without the development packages", installed: a, run: true, develop: false },
    { name: "nothing", installed: {}, run: false, develop: false },
    {
      name: "another version",
      installed: { ...d, "node_modules/a": { version: "1.0.1", integrity: "x" } },
      run: false,
      develop: false,
    },
    {
      name: "one that the lockfile does not have",
      installed: { ...a, ...d, "node_modules/e": { version: "1.0.0" } },
      run: false,
      develop: false,
    },
  ];
  for (const { name, installed, run, develop } of cases) {
    test(`(${name}) are ${run ? "" : "not "}enough to run and ${develop ? "" : "not "}enough to develop`, () => {
      expect(matchesLock(locked, installed, { dev: false })).toBe(run);
      expect(matchesLock(locked, installed, { dev: true })).toBe(develop);
    });
  }
});

describe("a child of the launcher", () => {
  const launcher = `import { run } from ${JSON.stringify(pathToFileURL(join(ROOT, "bin/child.mjs")).href)};
    process.exitCode = await run(process.argv[1], process.argv.slice(2));`;
  // Prints its process id, and each signal's number; its exit code is how many came within 600 ms.
  const listener = `let got = 0;
    process.on("SIGTERM", () => {
      console.log(++got);
      if (got === 1) setTimeout(() => process.exit(got), 600);
    });
    console.log(process.pid);
    setInterval(() => {}, 1000);`;

  /** Runs a script in Bun under the launcher under Node. */
  function launch(script: string, env: Record<string, string> = {}) {
    const { npm_lifecycle_event: _, ...own } = process.env;
    const child = [bunBinary(), ...BUN_FLAGS, "-e", script];
    return Bun.spawn(["node", "--input-type=module", "-e", launcher, "--", ...child], {
      env: { ...own, ...env },
      stdout: "pipe",
      stderr: "inherit",
    });
  }

  /** The next number that a launched script prints. */
  async function nextNumber({ stdout }: { stdout: ReadableStream<Uint8Array> }): Promise<number> {
    const reader = stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    return Number(new TextDecoder().decode(value));
  }

  test("gives it its exit code, and 128 + n when signal n ended it", async () => {
    const exits = [launch("process.exit(7)"), launch(`process.kill(process.pid, "SIGKILL")`)];
    expect(await Promise.all(exits.map((each) => each.exited))).toEqual([7, 137]);
  });

  test("gets a first and a second signal", async () => {
    const launched = launch(listener);
    await nextNumber(launched);
    launched.kill("SIGTERM");
    await nextNumber(launched);
    launched.kill("SIGTERM");
    expect(await launched.exited).toBe(2);
  });

  test("gets one signal for the two that npm and the terminal make of it", async () => {
    const launched = launch(listener, { npm_lifecycle_event: "start" });
    await nextNumber(launched);
    launched.kill("SIGTERM");
    await Bun.sleep(20);
    launched.kill("SIGTERM");
    expect(await launched.exited).toBe(1);
  });

  test("ends when the launcher is killed", async () => {
    const launched = launch(listener);
    const pid = await nextNumber(launched);
    launched.kill("SIGKILL");
    await launched.exited;
    const deadline = Date.now() + 3000;
    while (isAlive(pid) && Date.now() < deadline) await Bun.sleep(20);
    expect(isAlive(pid)).toBe(false);
  });
});

/** Whether a process runs; one that is dead and not yet collected by its new parent does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch (error) {
    return (
      process.platform !== "linux" && !(error instanceof Error && "code" in error && error.code === "ESRCH")
    );
  }
}
