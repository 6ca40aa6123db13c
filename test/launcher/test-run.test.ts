import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUN_FLAGS, bunBinary } from "../../bin/runtime.mjs";
import {
  failureText,
  readTestRun,
  runnerArguments,
  suiteOf,
  summaryLine,
  testEnvironment,
} from "../../bin/test-run.mjs";

const scratch = mkdtempSync(join(tmpdir(), "switchyard-test-run-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("the environment", () => {
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
    const env = testEnvironment({ ...kept, ...dropped }, { long: false, suite: "quick" });
    expect(env).toEqual({ ...kept, SWITCHYARD_TEST_SEED: "1", SWITCHYARD_TEST_SUITE: "quick" });
  });

  test("of the tests keeps a given seed and says when the counts are large", () => {
    const env = testEnvironment({ SWITCHYARD_TEST_SEED: "7" }, { long: true, suite: "all" });
    expect(env).toEqual({
      SWITCHYARD_TEST_SEED: "7",
      SWITCHYARD_TEST_SUITE: "all",
      SWITCHYARD_TEST_LONG: "1",
    });
  });
});

describe("the counts of a test run", () => {
  const junit = `<testsuites name="bun test" tests="4" failures="1" skipped="1"><testsuite name="a.test.ts" file="a.test.ts">
    <testcase name="one" classname="" time="0" file="a.test.ts" />
    <testcase name="two" classname="" file="a.test.ts"><failure message="&lt;skipped /&gt;">at x</failure></testcase>
    <testcase name="no &quot;x&quot; &#38; y" classname="inner &gt; outer" file="a.test.ts"><skipped /></testcase>
    <testcase name="four" classname="" file="a.test.ts"/></testsuite></testsuites>`;

  test("are those of the report", () => {
    const run = readTestRun({ junit, exitCode: 1, output: "" });
    expect(run).toEqual({
      passed: 2,
      failed: 1,
      skipped: ['a.test.ts: outer > inner > no "x" & y'],
      failures: [{ name: "a.test.ts: two", reason: "at x" }],
    });
    expect(summaryLine(run)).toBe("2 passed, 1 failed, 1 skipped");
  });

  test("name no skipped tests where there are none", () => {
    expect(summaryLine(readTestRun({ junit: `<testcase name="one" />`, exitCode: 0, output: "" }))).toBe(
      "1 passed, 0 failed",
    );
  });

  test("have a failure where there is no report, even after exit code 0", () => {
    for (const exitCode of [0, 137]) {
      const run = readTestRun({ junit: undefined, exitCode, output: "a\nits last word" });
      expect(summaryLine(run)).toBe("0 passed, 1 failed");
      expect(run.failures[0]?.reason).toContain(`ended with code ${exitCode} before it wrote its report`);
      expect(run.failures[0]?.reason).toEndWith("a\nits last word");
    }
  });

  test("have a failure where the report has none but the tests' process failed", () => {
    expect(summaryLine(readTestRun({ junit: `<testcase name="one" />`, exitCode: 1, output: "" }))).toBe(
      "1 passed, 1 failed",
    );
  });
});

describe("the runner", () => {
  test("names the tests that pass only where somebody looks on", () => {
    expect(runnerArguments([], { isTerminal: false })).toContain("--only-failures");
    expect(runnerArguments([], { isTerminal: true })).not.toContain("--only-failures");
  });

  test("is given what the user asks for last, and not what is ours", () => {
    const given = runnerArguments(["--long", "--parallel=1", "test/tidy"], { isTerminal: true });
    expect(given).not.toContain("--long");
    expect(given.slice(-2)).toEqual(["--parallel=1", "test/tidy"]);
  });

  test("takes every file into a suite, and only files for two engines into both", async () => {
    expect([suiteOf([]), suiteOf(["--full"]), suiteOf(["--long"]), suiteOf(["src/core"])]).toEqual([
      "quick",
      "full",
      "all",
      "all",
    ]);
    const folder = join(scratch, "suites");
    mkdirSync(folder);
    for (const name of ["a", "b.full", "c.engines"])
      writeFileSync(
        join(folder, `${name}.test.ts`),
        `require("bun:test").test("runs", () => console.log("${name} runs"));\n`,
      );
    const runs = async (args: readonly string[]): Promise<string[]> => {
      const child = Bun.spawn(
        [bunBinary(), "test", ...BUN_FLAGS, ...runnerArguments(args, { isTerminal: false })],
        {
          cwd: folder,
          env: { PATH: process.env.PATH ?? "" },
          stdio: ["ignore", "pipe", "pipe"],
        },
      );
      const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return [...`${output}${errors}`.matchAll(/^(\S+) runs$/gm)].map(([, name]) => name!).sort();
    };
    expect(await runs([])).toEqual(["a", "c.engines"]);
    expect(await runs(["--full"])).toEqual(["b.full", "c.engines"]);
    expect(await runs(["--long"])).toEqual(["a", "b.full", "c.engines"]);
  });

  test("loses nothing: wrong answers, a process that dies, one that ends well too early, and a file that does not load", async () => {
    const files = {
      "good.test.ts": `test("good", () => console.log("a table"));`,
      "wrong.test.ts": `test("wrong", () => { expect({ a: 1 }).toEqual({ a: 2 }); });`,
      "killed.test.ts": `test("before", () => {}); test("dies", () => process.kill(process.pid, "SIGKILL"));`,
      "gone.test.ts": `test("leaves", () => process.exit(0));`,
      "unread.test.ts": `throw new Error("not loaded");`,
    };
    const folder = join(scratch, "run");
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name), `import { expect, test } from "bun:test";\n${text}\n`);
    const report = ["--reporter=junit", "--reporter-outfile=junit.xml"];
    const args = [...BUN_FLAGS, ...report, ...runnerArguments([], { isTerminal: false })];
    const child = Bun.spawn([bunBinary(), "test", ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", FORCE_COLOR: "1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const output = await child.stderr.text();
    const run = readTestRun({
      junit: readFileSync(join(folder, "junit.xml"), "utf8"),
      exitCode: await child.exited,
      output,
    });
    expect(output).toContain("a table");
    expect(output).not.toContain("(pass)");
    expect(run.passed).toBeGreaterThanOrEqual(1);
    const unread = realpathSync(join(folder, "unread.test.ts"));
    const reasons = Object.fromEntries(run.failures.map(({ name, reason }) => [name, reason]));
    expect(Object.keys(reasons).sort()).toEqual(
      [
        "gone.test.ts: (worker crashed)",
        "killed.test.ts: (worker crashed)",
        `${unread}: outside of its tests`,
        "wrong.test.ts: wrong",
      ].sort(),
    );
    expect(reasons["gone.test.ts: (worker crashed)"]).toContain("exit code 0");
    expect(reasons["killed.test.ts: (worker crashed)"]).toContain("SIGKILL");
    expect(reasons[`${unread}: outside of its tests`]).toContain("error: not loaded");
    expect(reasons["wrong.test.ts: wrong"]).toMatch(/"a": 2[\s\S]*at .*wrong\.test\.ts:2/);
  });
});

describe("what is told at the end of failed tests", () => {
  test("is their names, and under each the reason", () => {
    expect(failureText([{ name: "a.test.ts: one", reason: "Error: no\n    at x\n" }])).toBe(
      "FAILED a.test.ts: one\n    Error: no\n        at x",
    );
  });

  test("is cut where it is long, and only names them where there are many", () => {
    const reason = Array.from({ length: 1_000 }, () => "x".repeat(10_000)).join("\n");
    const text = failureText(Array.from({ length: 100 }, (_, i) => ({ name: `test ${i}`, reason })));
    expect(text.length).toBeLessThan(1_000_000);
    expect(text).toContain("... and 940 lines more");
    expect(text).toEndWith("FAILED test 99");
  });
});
