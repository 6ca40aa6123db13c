// `npm test [-- --full | --long] [arguments of bun test]` runs the quick tests, the full suite's, or all with large
// counts. It names the skipped ones, tells of the failed ones once more, and ends with the counts.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCaptured } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";
import {
  failureText,
  readTestRun,
  runnerArguments,
  suiteOf,
  summaryLine,
  testEnvironment,
} from "./test-run.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const folder = mkdtempSync(join(tmpdir(), "switchyard-test-"));
  try {
    return await runTests(join(folder, "junit.xml"), process.argv.slice(2));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * @param {string} junitPath
 * @param {readonly string[]} args
 */
async function runTests(junitPath, args) {
  const isTerminal = process.stdout.isTTY;
  const env = {
    ...(isTerminal ? { FORCE_COLOR: "1" } : {}),
    ...runtimeEnvironment(
      testEnvironment(process.env, { long: args.includes("--long"), suite: suiteOf(args) }),
    ),
  };
  const report = ["--reporter=junit", `--reporter-outfile=${junitPath}`];
  const forBun = runnerArguments(args, { isTerminal });
  const { code, output } = await runCaptured(bunBinary(), ["test", ...BUN_FLAGS, ...report, ...forBun], {
    env,
    onOutput: (chunk) => process.stdout.write(chunk),
  });
  const result = readTestRun({ junit: readIfThere(junitPath), exitCode: code, output });
  // Bun counts what a pattern leaves out as skipped too; naming all of that would hide the rest.
  if (!args.some((arg) => /^(-t|--test-name-pattern)/.test(arg))) {
    for (const name of result.skipped) console.log(`skipped: ${name}`);
  }
  if (result.failures.length > 0) console.log(failureText(result.failures));
  if (result.passed + result.failed === 0) console.log("no test ran: this counts as a failure");
  console.log(summaryLine(result));
  return result.failed > 0 || result.passed === 0 ? 1 : 0;
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
