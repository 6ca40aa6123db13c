import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Selectable } from "kysely";
import type { Tables } from "../../../src/db/schema.ts";
import { openForWriting } from "../../../src/db/sqlite-file.ts";
import { Client } from "pg";
import type { TestEngine, TestPlace } from "../../gateway/engines.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../../gateway/process.ts";
import { startDashscopeDouble } from "../../upstream/media/dashscope-double.ts";
import type { Accepted, MediaDouble } from "../../upstream/media/media-double.ts";
import { withBooks } from "../books.ts";
import { ADMIN_TOKEN, kill, openAccounts } from "../station.ts";
import type { Tenant } from "../told.ts";
import { scriptOf, type ToldTask } from "./workload.ts";

/** One installation with a provider of images and videos, that dies and is started again on the same store. */
export interface TaskStation {
  readonly double: MediaDouble;
  readonly place: TestPlace;
  readonly tenants: readonly Tenant[];
  /** What all clients were told, over all runs. */
  readonly told: ToldTask[];
  start(environment?: Readonly<Record<string, string>>): GatewayProcess;
  remove(): Promise<void>;
}

export type TaskRow = Selectable<Tables["tasks"]>;

const UPSTREAM_KEY = "sk-upstream-0123456789";

/** Makes an installation, and kills its first process. */
export async function openTaskStation(engine: TestEngine): Promise<TaskStation> {
  const folder = temporaryFolder();
  const place = await engine.newPlace();
  const double = await startDashscopeDouble(UPSTREAM_KEY);
  double.decide((work) => scriptOf(promptOf(work)));
  const settings = join(folder.path, "switchyard.yaml");
  writeFileSync(
    settings,
    [
      "timeouts: { process_lease_seconds: 1 }",
      // In a store of its own a dead process is known at once; in a shared one its lease has to run out first. A shorter
      // one would be lost by a living process too, on a machine that is busy enough.
      `tasks: { lease_seconds: ${engine.name === "sqlite" ? 30 : 5}, running_per_provider: 3 }`,
      `outbound: { allowed_hosts: ["${new URL(double.files.url).host}"] }`,
      "",
    ].join("\n"),
  );
  const running = new Set<GatewayProcess>();
  const start = (environment: Readonly<Record<string, string>> = {}): GatewayProcess => {
    const gateway = startProcess({
      SWITCHYARD_HOME: join(folder.path, "home"),
      ...place.environment,
      SWITCHYARD_CONFIG: settings,
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
      DASHSCOPE_API_KEY: UPSTREAM_KEY,
      DASHSCOPE_BASE_URL: double.baseUrl,
      ...environment,
    });
    running.add(gateway);
    void gateway.exited().then(() => running.delete(gateway));
    return gateway;
  };
  const first = start();
  const tenants = await openAccounts(await first.ready(), 1_000_000);
  await kill(first);
  return {
    double,
    place,
    tenants,
    told: [],
    start,
    async remove() {
      for (const gateway of running) await kill(gateway);
      await double.close();
      await place.remove();
      folder.remove();
    },
  };
}

/** The prompt of work that the double has taken. */
export function promptOf({ input }: Pick<Accepted, "input">): string {
  if (typeof input["prompt"] === "string") return input["prompt"];
  const messages = input["messages"] as readonly {
    readonly content: readonly { readonly text?: string }[];
  }[];
  return messages[0]?.content.find(({ text }) => text !== undefined)?.text ?? "";
}

/** Every task as it stands. */
export function readTasks(place: TestPlace["place"]): Promise<readonly TaskRow[]> {
  return withBooks(place, (database) => database.selectFrom("tasks").selectAll().orderBy("seq").execute());
}

/** A moment that was long ago. */
export const OVERDUE_MS = 1_000n;

/** Says of every task that has not ended that its deadline was a while ago, or of all files that their time is over. */
export async function makeOverdue(place: TestPlace["place"], what: "deadlines" | "files"): Promise<void> {
  const statement =
    what === "deadlines"
      ? `update tasks set deadline_ms = ${OVERDUE_MS} where ended_at_ms is null`
      : `update tasks set files_until_ms = ${OVERDUE_MS} where files_until_ms is not null`;
  if ("file" in place) {
    const database = openForWriting(place.file);
    database.execute(statement);
    database.close();
    return;
  }
  const client = new Client({ connectionString: place.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
