import { describe } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/db/engine.ts";
import { sharedCluster } from "../postgres/cluster.ts";
import { describeOnPostgres } from "../postgres/on-postgres.ts";

/** An engine to keep books in. */
export interface TestEngine {
  readonly name: Engine;
  /** A new and empty place for books. */
  newPlace(): Promise<TestPlace>;
}

/** Where books of a test are kept. */
export interface TestPlace {
  /** As `openStore` takes it. */
  readonly place: { readonly file: string } | { readonly url: string };
  /** As a gateway takes it: SWITCHYARD_HOME or DATABASE_URL. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** Books in a file of their own. */
export const SQLITE: TestEngine = {
  name: "sqlite",
  async newPlace() {
    const home = mkdtempSync(join(tmpdir(), "switchyard-books-"));
    return {
      place: { file: join(home, "switchyard.db") },
      environment: { SWITCHYARD_HOME: home },
      async remove() {
        rmSync(home, { recursive: true, force: true });
      },
    };
  },
};

const POSTGRES: TestEngine = {
  name: "postgres",
  async newPlace() {
    const { url, drop } = await (await sharedCluster()).database();
    return { place: { url }, environment: { DATABASE_URL: url }, remove: drop };
  },
};

type EngineTests = (engine: TestEngine) => void;

/** The same tests on both engines; where there is no PostgreSQL, one line says so. */
export function describeOnEngines(name: string, tests: EngineTests): void {
  describe(`${name} on sqlite`, () => tests(SQLITE));
  describeOnPostgres(`${name} on postgres`, () => tests(POSTGRES));
}

/** Tests of books that several processes share; where there is no PostgreSQL, one line says so. */
export function describeOnSharedBooks(name: string, tests: EngineTests): void {
  describeOnPostgres(`${name} on postgres`, () => tests(POSTGRES));
}

/**
 * The same tests on the engine of the suite that runs: SQLite in `npm test`, PostgreSQL in `npm run test:full`, both
 * where a file is run by its name. For `*.engines.test.ts`, the files that both suites run.
 */
export function describeOnEngineOfSuite(name: string, tests: EngineTests): void {
  const suite = process.env.SWITCHYARD_TEST_SUITE;
  if (suite !== "full") describe(`${name} on sqlite`, () => tests(SQLITE));
  if (suite !== "quick") describeOnPostgres(`${name} on postgres`, () => tests(POSTGRES));
}
