/**
 * What a run of the tests came to.
 * @typedef {object} TestRun
 * @property {number} passed
 * @property {number} failed
 * @property {readonly string[]} skipped the names of the tests that did not run
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
 * The given environment without what the developer's shell says to a gateway, and with a fixed seed unless it names one.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ long: boolean }} options whether the tests use the large counts
 * @returns {NodeJS.ProcessEnv}
 */
export function testEnvironment(env, { long }) {
  const kept = Object.entries(env).filter(
    ([name]) => FOR_TESTS.test(name) || !CONFIGURATION.some((pattern) => pattern.test(name)),
  );
  return {
    SWITCHYARD_TEST_SEED: "1",
    ...Object.fromEntries(kept),
    ...(long ? { SWITCHYARD_TEST_LONG: "1" } : {}),
  };
}

/**
 * Counts the tests of a JUnit file as `bun test` writes it. Such a file leaves out what failed outside of tests (a file
 * that does not load), and there is none after a crash or a `process.exit`: then at least one failure is counted.
 * @param {string | undefined} junit the file's text, if there is one
 * @param {number} exitCode of the process that ran the tests
 * @returns {TestRun}
 */
export function readTestRun(junit, exitCode) {
  let passed = 0;
  let failed = 0;
  /** @type {string[]} */
  const skipped = [];
  for (const [, attributes = "", , body = ""] of junit?.matchAll(TEST_CASE) ?? []) {
    if (/<(failure|error)\b/.test(body)) failed++;
    else if (/<skipped\b/.test(body)) skipped.push(nameOf(attributes));
    else passed++;
  }
  const unseen = failed === 0 && (exitCode !== 0 || junit === undefined);
  return { passed, failed: unseen ? 1 : failed, skipped };
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
