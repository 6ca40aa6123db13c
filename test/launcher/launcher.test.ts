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
import { readTestRun, summaryLine, testEnvironment } from "../../bin/test-run.mjs";

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
  test("of Bun raises the limit of upstream calls unless one is set, and sends nothing home", () => {
    expect(runtimeEnvironment({ A: "b" })).toEqual({
      A: "b",
      BUN_CONFIG_MAX_HTTP_REQUESTS: "20000",
      BUN_ENABLE_CRASH_REPORTING: "0",
      DO_NOT_TRACK: "1",
    });
    expect(runtimeEnvironment({ BUN_CONFIG_MAX_HTTP_REQUESTS: "9" }).BUN_CONFIG_MAX_HTTP_REQUESTS).toBe("9");
  });

  test("of the tests has nothing of the developer's gateway", () => {
    const kept = {
      PATH: "/bin",
      SWITCHYARD_TEST_DATABASE_URL: "postgres://x",
      SWITCHYARD_RECORDINGS: "/r",
      SWITCHYARD_REQUIRE_ALL: "1",
    };
    const dropped = {
      OPENAI_API_KEY: "k",
      FAL_KEY: "k",
      XAI_BASE_URL: "u",
      DATABASE_URL: "u",
      REDIS_URL: "u",
      PUBLIC_URL: "u",
      ASSETS_URL: "u",
      HOST: "h",
      PORT: "1",
      SWITCHYARD_HOME: "/h",
      https_proxy: "u",
    };
    const env = testEnvironment({ ...kept, ...dropped }, { long: false });
    expect(env).toEqual({ ...kept, SWITCHYARD_TEST_SEED: "1" });
  });

  test("of the tests keeps a given seed and says when the counts are large", () => {
    const env = testEnvironment({ SWITCHYARD_TEST_SEED: "7" }, { long: true });
    expect(env).toEqual({ SWITCHYARD_TEST_SEED: "7", SWITCHYARD_TEST_LONG: "1" });
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

describe("the counts of a test run", () => {
  const junit = `<testsuites name="bun test" tests="4" failures="1" skipped="1"><testsuite name="a.test.ts" file="a.test.ts">
    <testcase name="one" classname="" time="0" file="a.test.ts" />
    <testcase name="two" classname="" file="a.test.ts"><failure message="&lt;skipped /&gt;">at x</failure></testcase>
    <testcase name="no &quot;x&quot; &#38; y" classname="inner &gt; outer" file="a.test.ts"><skipped /></testcase>
    <testcase name="four" classname="" file="a.test.ts"/></testsuite></testsuites>`;

  test("are those of the report", () => {
    const run = readTestRun(junit, 1);
    expect(run).toEqual({ passed: 2, failed: 1, skipped: ['a.test.ts: outer > inner > no "x" & y'] });
    expect(summaryLine(run)).toBe("2 passed, 1 failed, 1 skipped");
  });

  test("name no skipped tests where there are none", () => {
    expect(summaryLine(readTestRun(`<testcase name="one" />`, 0))).toBe("1 passed, 0 failed");
  });

  test("have a failure where there is no report, even after exit code 0", () => {
    expect(summaryLine(readTestRun(undefined, 0))).toBe("0 passed, 1 failed");
    expect(summaryLine(readTestRun(undefined, 137))).toBe("0 passed, 1 failed");
  });

  test("have a failure where the report has none but the tests' process failed", () => {
    expect(summaryLine(readTestRun(`<testcase name="one" />`, 1))).toBe("1 passed, 1 failed");
  });
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
