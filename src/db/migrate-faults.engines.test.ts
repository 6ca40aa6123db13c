import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { auditBooks } from "../../test/ledger/books.ts";
import {
  columnsOf,
  contentOf,
  fillFirst,
  laterStatementsOf,
  statementsOf,
  useEmptyStore,
} from "../../test/ledger/old-stores.ts";
import { parseFailpoint } from "../core/failpoint.ts";
import { migrate } from "./migrate.ts";

describeOnEngineOfSuite("migrations that fail", (engine) => {
  const store = useEmptyStore(engine);

  for (const start of ["nothing", "the first version"] as const) {
    test(`at any of their statements leave ${start} as it was, and the next start succeeds`, async () => {
      if (start === "the first version") await fillFirst(store.database, engine.name);
      const steps = start === "nothing" ? statementsOf(engine.name) : laterStatementsOf(engine.name);
      const before = await contentOf(store.database, engine.name);
      for (let n = 1; n <= steps; n += 1) {
        const failpoint = parseFailpoint(`migrate.before_statement:throw:${n}`, () => {});
        const failed: unknown = await migrate(store.database, engine.name, failpoint).catch(
          (error: unknown) => error,
        );
        expect(String(failed)).toContain("failpoint migrate.before_statement");
        expect(await contentOf(store.database, engine.name)).toEqual(before);
      }
      await migrate(
        store.database,
        engine.name,
        parseFailpoint(`migrate.before_statement:throw:${steps + 1}`, () => {}),
      );
      await auditBooks(store.database);
      expect((await columnsOf(store.database, engine.name)).length).toBeGreaterThan(before.length);
    });
  }

  for (const n of [1, 8, 14, laterStatementsOf(engine.name)]) {
    test(`because the process is killed before statement ${n} leave the first version as it was`, async () => {
      await fillFirst(store.database, engine.name);
      const before = await contentOf(store.database, engine.name);
      const script = `
        const { openStore } = await import(${JSON.stringify(`${import.meta.dir}/../ledger/store.ts`)});
        const { parseFailpoint } = await import(${JSON.stringify(`${import.meta.dir}/../core/failpoint.ts`)});
        const kill = () => process.kill(process.pid, "SIGKILL");
        const failpoint = parseFailpoint("migrate.before_statement:kill:${n}", kill);
        await openStore({ place: ${JSON.stringify(store.place)}, failpoint, writerFailpoint: undefined, kill });
      `;
      const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "ignore" });
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
      expect(await contentOf(store.database, engine.name)).toEqual(before);
      await migrate(store.database, engine.name);
      await auditBooks(store.database);
    });
  }
});
