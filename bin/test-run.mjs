import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ROOT } from "./runtime.mjs";

/**
 * What a run of the tests came to.
 * @typedef {object} TestRun
 * @property {number} passed
 * @property {number} failed
 * @property {readonly string[]} skipped the names of the tests that did not run
 * @property {readonly Failure[]} failures what failed and why, as far as it is known
 */

/**
 * @typedef {object} Failure
 * @property {string} name of the test, after the file it stands in
 * @property {string} reason message and stack
 */

// What configures a gateway (docs: Configuration), and what its HTTP client and exporters read.
const CONFIGURATION = [
  /_API_KEY$/,
  /_BASE_URL$/,
  /^(FAL_KEY|MIDJOURNEY_PROXY_SECRET)$/,
  /^(DATABASE|REDIS|ASSETS|PUBLIC)_URL$/,
  /^(HOST|PORT)$/,
  /^(SWITCHYARD|AWS|OTEL)_/,
  /^(HTTP|HTTPS|ALL)_PROXY$/i,
];
const FOR_TESTS = /^SWITCHYARD_(TEST_.*|RECORDINGS|REQUIRE_ALL)$/;

/**
 * The name of a file says which suite runs it. `*.full.test.ts` are of the full suite alone, `*.engines.test.ts` of
 * both, all others of the quick one. Files of both keep their books in SQLite in the quick suite, in PostgreSQL in the
 * full one.
 * @typedef {"quick" | "full" | "all"} Suite
 */

/**
 * The suite that the arguments of `npm test` name; all of it where they name files or ask for the large counts.
 * @param {readonly string[]} args
 * @returns {Suite}
 */
export function suiteOf(args) {
  if (args.includes("--full")) return "full";
  return args.includes("--long") || args.some((arg) => !arg.startsWith("-")) ? "all" : "quick";
}

/** @type {Readonly<Record<Suite, readonly string[]>>} */
const FILES_OF_SUITE = {
  quick: ["--path-ignore-patterns=**/*.full.test.ts"],
  full: [".full.test.ts", ".engines.test.ts"],
  all: [],
};

/**
 * The given environment without what the developer's shell says to a gateway, and with a fixed seed unless it names one.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ long: boolean, suite: Suite }} options whether the tests use the large counts, and which tests they are
 * @returns {NodeJS.ProcessEnv}
 */
export function testEnvironment(env, { long, suite }) {
  const kept = Object.entries(env).filter(
    ([name]) => FOR_TESTS.test(name) || !CONFIGURATION.some((pattern) => pattern.test(name)),
  );
  return {
    SWITCHYARD_TEST_SEED: "1",
    ...Object.fromEntries(kept),
    SWITCHYARD_TEST_SUITE: suite,
    ...(long ? { SWITCHYARD_TEST_LONG: "1" } : {}),
  };
}

// Most tests wait (for processes, a database, a lease): more of them at once than there are cores keep the cores busy.
// The large counts are of tests that use their cores all the time.
const CORES = availableParallelism();
const FILES_AT_ONCE = Math.min(CORES + 4, 12);

// How long each file took once, so that the longest begin first; `npm test -- --update-timings` measures anew. Files
// that it does not know begin before all others.
const TIMINGS = join(ROOT, "test/timings.json");

/**
 * What `bun test` is called with: files run in several processes at once, each of which takes the next file when it is
 * done with one. Where nobody looks on, tests that pass are not named.
 * @param {readonly string[]} args what `npm test` was given
 * @param {{ isTerminal: boolean }} options
 * @returns {string[]}
 */
export function runnerArguments(args, { isTerminal }) {
  const isLong = args.includes("--long");
  return [
    `--timeout=${isLong ? 1_200_000 : 120_000}`,
    `--parallel=${isLong ? CORES : FILES_AT_ONCE}`,
    "--no-isolate",
    `--timings=${TIMINGS}`,
    ...(isTerminal ? [] : ["--only-failures"]),
    ...FILES_OF_SUITE[suiteOf(args)],
    ...args.filter((arg) => arg !== "--long" && arg !== "--full"),
  ];
}

/**
 * Counts the tests of a JUnit file as `bun test` writes it. Such a file leaves out what failed outside of tests (a file
 * that does not load), which the output tells. There is none after a crash of the whole run: then at least one failure
 * is counted.
 * @param {object} ended
 * @param {string | undefined} ended.junit the file's text, if there is one
 * @param {number} ended.exitCode of the process that ran the tests
 * @param {string} ended.output of that process
 * @returns {TestRun}
 */
export function readTestRun({ junit, exitCode, output }) {
  let passed = 0;
  /** @type {string[]} */
  const skipped = [];
  /** @type {Failure[]} */
  const failures = [];
  const lines = output.replace(ANSI, "").split(/\r?\n/);
  for (const [, attributes = "", , body = ""] of junit?.matchAll(TEST_CASE) ?? []) {
    const name = nameOf(attributes);
    if (/<(failure|error)\b/.test(body)) failures.push({ name, reason: reasonOf(name, body, lines) });
    else if (/<skipped\b/.test(body)) skipped.push(name);
    else passed++;
  }
  failures.push(...outsideOfTests(lines));
  if (junit === undefined || (failures.length === 0 && exitCode !== 0)) {
    const report = junit === undefined ? "before it wrote its report" : "though no test failed";
    const reason = [
      `bun test ended with code ${exitCode} ${report}; its last lines were:`,
      ...lines.slice(-SHOWN_LINES),
    ];
    failures.push({ name: "the run", reason: reason.join("\n") });
  }
  return { passed, failed: failures.length, skipped, failures };
}

const SHOWN_LINES = 60;
const SHOWN_WIDTH = 400;
const SHOWN_FAILURES = 25;

/**
 * What failed and why, for the end of the output: who sees only that sees enough. Long reasons are cut, and of many
 * failures the last are only named.
 * @param {readonly Failure[]} failures
 * @returns {string}
 */
export function failureText(failures) {
  const shown = failures.slice(0, SHOWN_FAILURES).map(({ name, reason }) => {
    const lines = reason.trimEnd().split("\n");
    const cut = lines.length > SHOWN_LINES ? [`... and ${lines.length - SHOWN_LINES} lines more`] : [];
    const told = [...lines.slice(0, SHOWN_LINES), ...cut].map((line) => `    ${line.slice(0, SHOWN_WIDTH)}`);
    return [`FAILED ${name}`, ...told].join("\n");
  });
  const named = failures.slice(SHOWN_FAILURES).map(({ name }) => `FAILED ${name}`);
  return [...shown, ...named].join("\n");
}

/**
 * The last line of a run.
 * @param {TestRun} run
 * @returns {string}
 */
export function summaryLine({ passed, failed, skipped }) {
  const counts = `${passed} passed, ${failed} failed`;
  return skipped.length === 0 ? counts : `${counts}, ${skipped.length} skipped`;
}

// Quotes and brackets inside of attributes and bodies are escaped by the writer.
const TEST_CASE = /<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g;
/** @type {Record<string, string>} */
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

// What colours a terminal.
// oxlint-disable-next-line no-control-regex
const ANSI = /\u001b\[[\d;]*m/g;

/**
 * Message and stack of a failed test.
 * @param {string} name
 * @param {string} body of its element in the report
 * @param {readonly string[]} lines of the output
 */
function reasonOf(name, body, lines) {
  const [, attributes = "", , stack = ""] = FAILURE.exec(body) ?? [];
  const message = unescapeXml(/\smessage="([^"]*)"/.exec(attributes)?.[1] ?? "");
  const told = unescapeXml(stack).trim();
  // Only the output knows what a process died of.
  const end = lines.find(
    (line) => line.includes("(worker crashed") && line.includes(` ${name.split(": ")[0]} `),
  );
  return [
    told === "" ? message : told,
    ...(name.includes("(worker crashed)") && end !== undefined ? [end] : []),
  ].join("\n");
}

const FAILURE = /<(?:failure|error)\b([^>]*?)(\/>|>([\s\S]*?)<\/(?:failure|error)>)/;

/**
 * What was thrown outside of tests: a heading, the error between two rules.
 * @param {readonly string[]} lines of the output
 * @returns {Failure[]}
 */
function outsideOfTests(lines) {
  /** @type {Failure[]} */
  const failures = [];
  for (const [at, line] of lines.entries()) {
    if (line !== "# Unhandled error between tests") continue;
    const length = lines.slice(at + 2).findIndex((after) => RULE.test(after));
    const reason = lines.slice(at + 2, length === -1 ? undefined : at + 2 + length).join("\n");
    // The line above names a file that may be another: files run side by side.
    const file = /[^\s"'`(]+\.test\.[cm]?[jt]sx?/.exec(reason)?.[0];
    failures.push({ name: `${file ?? "a file"}: outside of its tests`, reason });
  }
  return failures;
}

const RULE = /^-{10,}$/;

/** @param {string} attributes */
function nameOf(attributes) {
  /** @param {string} name */
  const read = (name) => unescapeXml(new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
  // Bun writes the groups innermost first.
  const groups = read("classname").split(" > ").toReversed();
  return `${read("file")}: ${[...groups, read("name")].filter((part) => part !== "").join(" > ")}`;
}

/** @param {string} text */
function unescapeXml(text) {
  return text.replace(/&(#(\d+)|\w+);/g, (whole, name, code) =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
