import { describe, test } from "bun:test";
import { findPostgres } from "./cluster.ts";

const isInstalled = findPostgres() !== undefined;
const isGiven = Boolean(process.env.SWITCHYARD_TEST_POSTGRES);

/** Tests on databases of `sharedCluster()`; where there is no PostgreSQL, one line that says so. */
export function describeOnPostgres(name: string, tests: () => void): void {
  describeWhere(isGiven || isInstalled, name, tests);
}

/** Tests that stop or freeze servers of their own from `startCluster()`; where none is installed, one line that says so. */
export function describeOnOwnPostgres(name: string, tests: () => void): void {
  describeWhere(isInstalled, name, tests);
}

function describeWhere(isThere: boolean, name: string, tests: () => void): void {
  if (isThere) {
    describe(name, tests);
    return;
  }
  const reason = "PostgreSQL is not installed";
  if (process.env.SWITCHYARD_REQUIRE_ALL === "1") {
    test(name, () => {
      throw new Error(`${reason}, and SWITCHYARD_REQUIRE_ALL is set.`);
    });
  } else test.skip(`${name} (${reason})`, () => {});
}
