// `npm run check [-- --no-tests]`: everything that must hold before a commit, one line a step.
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runCaptured } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { ROOT, main } from "./runtime.mjs";

const SOURCES = ["src", "test", "bench", "console/src"].filter((folder) => existsSync(join(ROOT, folder)));

/** Each step is a Node program and its arguments. */
const STEPS = {
  format: ["node_modules/oxfmt/bin/oxfmt", "--check"],
  lint: ["node_modules/oxlint/bin/oxlint", "--type-aware"],
  types: ["node_modules/typescript/bin/tsc", "--noEmit"],
  "console types": ["node_modules/typescript/bin/tsc", "--noEmit", "--project", "console/tsconfig.json"],
  layers: ["node_modules/dependency-cruiser/bin/dependency-cruise.mjs", ...SOURCES],
  unused: ["node_modules/knip/bin/knip.js"],
  tests: ["bin/test.mjs"],
};

// Without a TypeScript that it knows (7 is too new for it), dependency-cruiser skips every file and is content.
const SAW_NOTHING = /\(0 modules,/;

await main(async () => {
  await ensureInstalled({ dev: true });
  const { tests, ...still } = STEPS;
  const waiting = Object.entries(still);
  /** @type {string[]} */
  const failed = [];
  /**
   * @param {string} name
   * @param {readonly string[]} args
   */
  const check = async (name, args) => {
    const startedAt = performance.now();
    const { code, output } = await runCaptured(process.execPath, args);
    const ok = code === 0 && !SAW_NOTHING.test(output);
    const time = `${((performance.now() - startedAt) / 1000).toFixed(1)}s`;
    console.log(ok ? `ok ${name} ${time}` : `FAILED ${name} ${time}\n${output.trimEnd()}`);
    if (!ok) failed.push(name);
  };
  const checkInTurn = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) await check(...step);
  };
  // Most of the programs use one core.
  await Promise.all(Array.from({ length: availableParallelism() }, checkInTurn));
  if (!process.argv.includes("--no-tests")) await check("tests", tests);
  if (failed.length > 0) console.log(`failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});
