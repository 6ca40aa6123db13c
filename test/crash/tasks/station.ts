import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Selectable } from "kysely";
import type { Tables } from "../../../src/db/schema.ts";
import { openForWriting } from "../../../src/db/sqlite-file.ts";
import { Client } from "pg";
import type { TestEngine, TestPlace } from "../../gateway/engines.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../../gateway/process.ts";
import { DOUBLES, environmentOf, type Vendor } from "../../upstream/media/doubles.ts";
import type { Accepted, MediaDouble } from "../../upstream/media/media-double.ts";
import { withBooks } from "../books.ts";
import { ADMIN_TOKEN, kill, openAccounts } from "../station.ts";
import type { Tenant } from "../told.ts";
import { BUSY, labelIn, scriptOf, type ToldTask } from "./workload.ts";

/** A provider of images and videos that outlives the gateway. */
export interface Maker {
  readonly provider: Vendor;
  readonly double: MediaDouble;
  /** How often it was asked for each task, by the task's label. */
  readonly asked: ReadonlyMap<string, number>;
}

/** One installation with makers of images and videos, that dies and is started again on the same store. */
export interface TaskStation {
  /** In the order of the models' routes. */
  readonly makers: readonly Maker[];
  readonly place: TestPlace;
  readonly tenants: readonly Tenant[];
  /** What all clients were told, over all runs. */
  readonly told: ToldTask[];
  start(environment?: Readonly<Record<string, string>>): GatewayProcess;
  remove(): Promise<void>;
}

export type TaskRow = Selectable<Tables["tasks"]>;

const UPSTREAM_KEY = "sk-upstream-0123456789";

/** A maker; the first of the routes refuses tasks that are to find it busy, each once. */
async function openMaker(provider: Vendor, isFirst: boolean): Promise<Maker> {
  const double = await DOUBLES[provider](UPSTREAM_KEY);
  const asked = new Map<string, number>();
  double.decide((work) => scriptOf(promptOf(work)));
  double.instead((request) => {
    const label = labelIn(request);
    if (label === undefined) return undefined;
    const times = (asked.get(label) ?? 0) + 1;
    asked.set(label, times);
    return isFirst && times === 1 && label.includes("busy") ? BUSY : undefined;
  });
  return { provider, double, asked };
}

/** Makes an installation whose models have so many routes, and kills its first process. */
export async function openTaskStation(engine: TestEngine, routes: 1 | 2): Promise<TaskStation> {
  const folder = temporaryFolder();
  const place = await engine.newPlace();
  const vendors = (["dashscope", "fal"] as const).slice(0, routes);
  const makers = await Promise.all(vendors.map((vendor, i) => openMaker(vendor, i === 0)));
  const settings = join(folder.path, "switchyard.yaml");
  const hosts = makers.map(({ double }) => new URL(double.files.url).host);
  writeFileSync(
    settings,
    [
      "timeouts: { process_lease_seconds: 1 }",
      // The second route has room for all that the first refuses: else the first is asked again.
      // In a store of its own a dead process is known at once; in a shared one its lease has to run out first. A shorter
      // one would be lost by a living process too, on a machine that is busy enough.
      `tasks: { lease_seconds: ${engine.name === "sqlite" ? 30 : 5}, running_per_provider: 3, running_at: { fal: 20 } }`,
      `outbound: { allowed_hosts: ${JSON.stringify(hosts)} }`,
      // Each task meets the first route for itself.
      "routing: { breaker_failures: 0 }",
      "",
    ].join("\n"),
  );
  const vendorsThere = makers.map(({ provider, double }) => environmentOf(provider, double, UPSTREAM_KEY));
  const running = new Set<GatewayProcess>();
  const start = (environment: Readonly<Record<string, string>> = {}): GatewayProcess => {
    const gateway = startProcess({
      SWITCHYARD_HOME: join(folder.path, "home"),
      ...place.environment,
      SWITCHYARD_CONFIG: settings,
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
      ...Object.assign({}, ...vendorsThere),
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
    makers,
    place,
    tenants,
    told: [],
    start,
    async remove() {
      for (const gateway of running) await kill(gateway);
      for (const { double } of makers) await double.close();
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
