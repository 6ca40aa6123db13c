import { describeWhere } from "../required.ts";
import { findPostgres } from "./cluster.ts";

const isInstalled = findPostgres() !== undefined;
const isGiven = Boolean(process.env.SWITCHYARD_TEST_POSTGRES);
const LACK = "PostgreSQL is not installed";

/** Tests on databases of `sharedCluster()`; where there is no PostgreSQL, one line that says so. */
export function describeOnPostgres(name: string, tests: () => void): void {
  describeWhere(isGiven || isInstalled, LACK, name, tests);
}

/** Tests that stop or freeze servers of their own from `startCluster()`; where none is installed, one line that says so. */
export function describeOnOwnPostgres(name: string, tests: () => void): void {
  describeWhere(isInstalled, LACK, name, tests);
}
