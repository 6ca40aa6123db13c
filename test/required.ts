import { describe, test } from "bun:test";

// What a test needs and a machine may lack: the test is skipped there, and fails where everything must run.

const MUST_RUN = process.env.SWITCHYARD_REQUIRE_ALL === "1";

/** Tests that need something; where it is missing, one line that says so in the words of `lack`. */
export function describeWhere(isThere: boolean, lack: string, name: string, tests: () => void): void {
  if (isThere) describe(name, tests);
  else if (MUST_RUN)
    test(name, () => {
      throw missing(lack);
    });
  else test.skip(`${name} (${lack})`, () => {});
}

/** Says which tests are skipped where something is missing. Throws where everything must run. */
export function skipUnless(isThere: boolean, lack: string, skipped: string): void {
  if (isThere) return;
  if (MUST_RUN) throw missing(lack);
  console.log(`skipped: ${skipped} (${lack})`);
}

function missing(lack: string): Error {
  return new Error(`${lack}, and SWITCHYARD_REQUIRE_ALL is set.`);
}
