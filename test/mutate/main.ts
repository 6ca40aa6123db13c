// `npm run test:mutate [-- --count 20] [-- --seed 3] [-- --tests 50] [-- --full] [-- --least 95] [-- src/ledger src/core]`:
// makes small changes at random in a copy of the checkout, a number in each folder, and tells which of them no test sees.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { findPostgres, startCluster } from "../postgres/cluster.ts";
import { changed, changesOf, linesOf, sample } from "./changes.ts";
import type { Change } from "./changes.ts";
import { CheckoutCopy } from "./checkout.ts";
import { ReachingTests } from "./reaching-tests.ts";
import { MutationReport } from "./report.ts";
import type { Equivalent } from "./report.ts";

const ROOT = join(import.meta.dir, "../..");
// The first run is of the nearest tests alone, which see most changes.
const FIRST_RUN = 3;
const FILES_IN_A_RUN = 12;
const SECONDS_OF_A_FILE = { quick: 30, full: 300 };
const SECONDS_OF_A_START = 60;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** How many changes are made in each folder. */
    count: { type: "string", default: "10" },
    seed: { type: "string", default: process.env["SWITCHYARD_TEST_SEED"] ?? "1" },
    /** How many test files a change may pass before it counts as unseen, the nearest first. */
    tests: { type: "string", default: "50" },
    /** What passed those is shown to the full suite's tests of its area, too. */
    full: { type: "boolean", default: false },
    /** The score, in percent, below which the command fails. */
    least: { type: "string", default: "0" },
  },
});

const folders = positionals.length > 0 ? positionals : foldersOf("src");
for (const folder of folders)
  if (!existsSync(join(ROOT, folder))) throw new Error(`${folder} is not in this checkout`);
// One server for all runs: each would else make one of its own, which takes longer than most tests.
if (findPostgres() !== undefined && !process.env["SWITCHYARD_TEST_POSTGRES"])
  process.env["SWITCHYARD_TEST_POSTGRES"] = (await startCluster({ fsync: false })).url;
const copy = new CheckoutCopy(ROOT);
process.on("exit", () => copy.remove());
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

const timings: { files: Record<string, number> } = JSON.parse(
  readFileSync(join(ROOT, "test/timings.json"), "utf8"),
);
const reaching = new ReachingTests(
  ROOT,
  ["src", "test", "bench"].flatMap(filesOf),
  (path) => timings.files[path] ?? 0,
);
const equivalents: Equivalent[] = JSON.parse(readFileSync(join(import.meta.dir, "equivalent.json"), "utf8"));
for (const { path, before } of equivalents)
  if (!hasLine(path, before)) console.log(`equivalent.json: ${path} has this line no longer: ${before}`);
const report = new MutationReport(equivalents);
/** By suite and test file. */
const sound = new Map<string, Promise<boolean>>();

for (const folder of folders) {
  const all = sourcesOf(folder).flatMap((path) => {
    const text = readFileSync(join(copy.root, path), "utf8");
    return changesOf(text).map((change) => ({ path, text, change }));
  });
  for (const { path, text, change } of sample(all, Number(values.count), Number(values.seed)))
    console.log(report.add({ folder, path, ...linesOf(text, change), end: await endOf(path, text, change) }));
}
console.log(report.table());
process.exit(report.score() < Number(values.least) ? 1 : 0);

function hasLine(path: string, line: string): boolean {
  const file = join(ROOT, path);
  return (
    existsSync(file) &&
    readFileSync(file, "utf8")
      .split("\n")
      .some((each) => each.trim() === line)
  );
}

/** What became of a change: the test that failed, or that none did. */
async function endOf(path: string, text: string, change: Change): Promise<string | undefined> {
  if (report.reasonOf({ path, ...linesOf(text, change) }) !== undefined) return undefined;
  const tests = reaching.quick(path).slice(0, Number(values.tests));
  for (let at = 0; at < tests.length; at += at === 0 ? FIRST_RUN : FILES_IN_A_RUN) {
    const files = tests.slice(at, at + (at === 0 ? FIRST_RUN : FILES_IN_A_RUN));
    const end = await failureOf({ files, suite: "quick" }, path, text, change);
    if (end !== undefined) return end;
  }
  for (const file of values.full ? reaching.full(path) : []) {
    const end = await failureOf({ files: [file], suite: "full" }, path, text, change);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Test files, run as this suite runs them. */
interface Tests {
  readonly files: readonly string[];
  readonly suite: "quick" | "full";
}

/** The first of some test files that fails with the change and passes without it; those that fail anyhow say nothing. */
async function failureOf(
  { files, suite }: Tests,
  path: string,
  text: string,
  change: Change,
): Promise<string | undefined> {
  const seconds = SECONDS_OF_A_START + SECONDS_OF_A_FILE[suite] * files.length;
  copy.write(path, changed(text, change));
  const { ended, failedFiles } = await copy.test(files, seconds, suite);
  copy.write(path, text);
  if (ended === "passed") return undefined;
  if (ended === "timed_out") return `a run of ${files[0]} and ${files.length - 1} more did not end`;
  const suspects = failedFiles.length > 0 ? failedFiles : files;
  for (const file of suspects)
    if (!(await passesUnchanged(file, suite)))
      return await failureOf({ files: files.filter((other) => other !== file), suite }, path, text, change);
  return suspects.join(", ");
}

/** Whether a test file passes in the unchanged copy; asked once a file. */
function passesUnchanged(file: string, suite: Tests["suite"]): Promise<boolean> {
  const name = `${suite} ${file}`;
  const known = sound.get(name);
  if (known !== undefined) return known;
  const asked = copy
    .test([file], SECONDS_OF_A_START + SECONDS_OF_A_FILE[suite], suite)
    .then(({ ended }) => ended === "passed");
  sound.set(name, asked);
  return asked;
}

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .sort();
}

function sourcesOf(folder: string): string[] {
  const paths = statSync(join(ROOT, folder)).isDirectory() ? filesOf(folder) : [folder];
  return paths.filter((path) => !path.endsWith(".test.ts"));
}

/** The folders of the source, and what stands beside them. */
function foldersOf(folder: string): string[] {
  return [...new Set(filesOf(folder).map((path) => dirname(path).split("/").slice(0, 2).join("/")))];
}
