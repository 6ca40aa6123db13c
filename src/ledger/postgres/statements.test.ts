import { afterAll, beforeAll, expect, test } from "bun:test";
import { migrate } from "../../db/migrate.ts";
import { connectWriter, openUnhurried } from "../../db/postgres.ts";
import { type Database, sharedCluster } from "../../../test/postgres/cluster.ts";
import { describeOnPostgres } from "../../../test/postgres/on-postgres.ts";
import { type ChangedTask, noChanges } from "../decide/changes.ts";
import { referencesOf } from "../decide/state.ts";
import {
  loadStatement,
  lockProvidersStatement,
  lockAccounts,
  saveStatement,
  type Statement,
} from "./statements.ts";

describeOnPostgres("the statements of the books", () => {
  let database: Database;
  let client: Awaited<ReturnType<typeof connectWriter>>;
  beforeAll(async () => {
    database = await (await sharedCluster()).database();
    const schema = openUnhurried(database.url);
    await migrate(schema, "postgres");
    await schema.destroy();
    client = await connectWriter(database.url);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  /** The plan that the server keeps for a statement, made while the tables are empty. */
  const keptPlan = async ({ name, text, values }: Statement): Promise<string> => {
    await client.query("set plan_cache_mode = force_generic_plan");
    await client.query(`prepare "${name}" as ${text}`);
    const nulls = values.map(() => "null").join(", ");
    const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain execute "${name}"(${nulls})`);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };

  const references = referencesOf([]);
  const tasks = new Set(["t"]);
  const changed = { id: "t", was: "running", atEpoch: 1, state: "failed", epoch: 1 } as ChangedTask;
  const changedTasks = new Map([["t", changed]]);
  const cases = [
    { statement: lockAccounts(references.accounts), lookedUp: ["accounts_id_key"] },
    {
      statement: loadStatement(references),
      lookedUp: ["accounts_id_key", "keys_id_key", "holds_pkey", "ledger_cause_key"],
    },
    {
      statement: loadStatement({ ...references, tasks }),
      lookedUp: [
        "accounts_id_key",
        "keys_id_key",
        "holds_pkey",
        "ledger_cause_key",
        "tasks_id_key",
        "tasks_pending",
        "tasks_running",
      ],
    },
    { statement: saveStatement(noChanges()), lookedUp: ["accounts_id_key", "keys_id_key", "holds_pkey"] },
    {
      statement: saveStatement({ ...noChanges(), changedTasks }),
      lookedUp: ["accounts_id_key", "keys_id_key", "holds_pkey", "tasks_id_key", "task_payloads_pkey"],
    },
  ];
  test("lock no provider where no task is claimed", () =>
    expect(lockProvidersStatement(references)).toBeUndefined());

  test("write nothing of a task that is not as it was read", async () => {
    const { text, values } = saveStatement({ ...noChanges(), changedTasks });
    const refusal: unknown = await client.query(text, [...values]).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(String(refusal)).toContain("division by zero");
  });

  for (const { statement, lookedUp } of cases) {
    test(`${statement.name} finds its rows by their keys, even with a plan from when there were none`, async () => {
      const plan = await keptPlan(statement);
      expect(plan).not.toContain("Seq Scan");
      // A scan of an index without a condition reads all of the table.
      const scans = Array.from(
        plan.matchAll(/Index (?:Only )?Scan (?:using|on) (\w+)[^\n]*\n\s*(Index Cond)?/g),
      );
      expect(new Set(scans.map(([, index, condition]) => `${index}, ${condition}`))).toEqual(
        new Set(lookedUp.map((index) => `${index}, Index Cond`)),
      );
    });
  }
});
