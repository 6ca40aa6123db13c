import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestEngine, TestPlace } from "../gateway/engines.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { faultsOfBooks, readBooks, withBooks } from "./books.ts";
import {
  FALLBACK,
  faultsOfTold,
  MODEL,
  SECOND,
  SECOND_PATH,
  type Tenant,
  type Told,
  type Way,
  WAYS,
} from "./told.ts";
import { admin, answerTo, sendGrant } from "./workload.ts";

/** The admin token of every station. */
export const ADMIN_TOKEN = "adm-crash-0123456789abcdef";

/** Credits that each of the three accounts begins with: never short of any, so that no chat is refused. */
const CREDITS = 100_000;

/** The routes of a model by the ways over it. */
const routesOf = (...ways: readonly Way[]): object[] =>
  ways.map((way) => {
    const { provider, cost } = WAYS[way];
    const [input, output] = cost.map((rate) => Number(rate) / 1e4);
    return { provider, upstream_id: WAYS[way].model.split("/")[1], cost: { input, output } };
  });

/** Every chat goes its own way, whatever became of others: no route is left alone, and each may be tried again. */
const settingsAt = (url: string): object => ({
  timeouts: { process_lease_seconds: 1 },
  providers: {
    [SECOND]: {
      base_url: `${url}${SECOND_PATH}`,
      models: [{ id: "crash/second", prices: { input: 0, output: 0 } }],
    },
  },
  routing: {
    breaker_failures: 0,
    retry_budget: 1,
    models: {
      [MODEL]: { routes: routesOf("first", "second"), fallback: [FALLBACK] },
      [FALLBACK]: { routes: routesOf("fallback") },
    },
  },
});

/** One installation that dies and is started again and again on the same store. */
export interface Station {
  readonly double: UpstreamDouble;
  readonly place: TestPlace;
  readonly tenants: readonly Tenant[];
  /** What all clients were told, over all runs. */
  readonly told: Told[];
  /** Starts the gateway, with failpoints or without. */
  start(environment?: Readonly<Record<string, string>>): GatewayProcess;
  /** After a start: waits until the dead processes were swept, then returns what is wrong with the books. */
  verify(gateway: GatewayProcess): Promise<string[]>;
  remove(): Promise<void>;
}

/** Makes an installation with three accounts, and kills its first process. */
export async function openStation(engine: TestEngine): Promise<Station> {
  const folder = temporaryFolder();
  const settings = join(folder.path, "switchyard.yaml");
  const place = await engine.newPlace();
  const double = await startUpstreamDouble();
  writeFileSync(settings, JSON.stringify(settingsAt(double.url)));
  const running = new Set<GatewayProcess>();
  const told: Told[] = [];
  double.handle((request) => answerTo(request, told).answer);

  const start = (environment: Readonly<Record<string, string>> = {}): GatewayProcess => {
    const gateway = startProcess({
      // Where books are on a server, what the dead one had in memory is noted there.
      SWITCHYARD_HOME: join(folder.path, "home"),
      ...place.environment,
      SWITCHYARD_CONFIG: settings,
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
      OPENAI_API_KEY: "sk-upstream",
      OPENAI_BASE_URL: `${double.url}/v1`,
      ...environment,
    });
    running.add(gateway);
    void gateway.exited().then(() => running.delete(gateway));
    return gateway;
  };

  const first = start();
  const tenants = await openAccounts(await first.ready());
  await kill(first);

  return {
    double,
    place,
    tenants,
    told,
    start,
    verify: async (gateway) => verify(place, { url: await gateway.ready(), adminToken: ADMIN_TOKEN }, told),
    async remove() {
      for (const gateway of running) await kill(gateway);
      await double.close();
      await place.remove();
      folder.remove();
      rmSync(settings, { force: true });
    },
  };
}

/** Ends a gateway at once, as a crash does. */
export async function kill(gateway: GatewayProcess): Promise<void> {
  gateway.child.kill("SIGKILL");
  await gateway.exited();
}

/** Clients hear of a death before its parent does: waits until the parent knows, of a gateway that answers nobody. */
export async function buryIfDead(gateway: GatewayProcess, url: string): Promise<void> {
  const answers = await fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  );
  if (!answers) await gateway.exited();
}

/** The URL of a gateway that came up; undefined when it was killed before. Throws when it ended by itself. */
export async function urlUnlessKilled(gateway: GatewayProcess): Promise<string | undefined> {
  try {
    return await gateway.ready();
  } catch (error) {
    if ((await gateway.exited()) !== KILLED) throw error;
    return undefined;
  }
}

/** What `exited` says of a process that a signal has ended. */
export const KILLED = 128;

/** Three accounts with a key each, at a gateway that has just come up. */
export async function openAccounts(url: string, credits = CREDITS): Promise<Tenant[]> {
  const target = { url, adminToken: ADMIN_TOKEN };
  const must = async <Answer>(method: string, path: string, body: unknown): Promise<Answer> => {
    const answer = await admin(target, method, path, body);
    if (answer === undefined || answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer.json as Answer;
  };
  const tenants: Tenant[] = [];
  for (const name of ["one", "two", "three"]) {
    const { id } = await must<{ readonly id: string }>("POST", "/accounts", { name });
    await must("POST", `/accounts/${id}/credits`, { amount: credits, reason: "crash test" });
    const { key } = await must<{ readonly key: string }>("POST", "/keys", { account_id: id, name });
    tenants.push({ account: id, key });
  }
  return tenants;
}

type Target = { readonly url: string; readonly adminToken: string };

/** How long a dead process and its holds may stay: on PostgreSQL until its lease of a second has run out and some. */
const RELEASE_MS = 20_000;

async function verify(place: TestPlace, target: Target, told: Told[]): Promise<string[]> {
  if (!(await released(place.place, target))) return ["holds of the dead process are still there"];
  const faults = [...(await repeatGrants(target, told)), ...(await audit(target))];
  const books = await readBooks(place.place);
  faults.push(...faultsOfBooks(books), ...faultsOfTold(books, told, "url" in place.place));
  return [...faults, ...(await tryKeys(target, told, books))];
}

/**
 * Waits until nothing is held, in tables or in memory, and the dead processes are forgotten. Then all that they had
 * open has ended, also what only their notes knew of.
 */
async function released(place: TestPlace["place"], target: Target): Promise<boolean> {
  const untilMs = performance.now() + RELEASE_MS;
  while (performance.now() < untilMs) {
    const accounts = await admin(target, "GET", "/accounts");
    const { data = [] } = (accounts?.json ?? {}) as { data?: readonly { readonly held: number }[] };
    const processes = await withBooks(place, (database) =>
      database.selectFrom("processes").select("boot_id").execute(),
    );
    if (data.length > 0 && data.every(({ held }) => held === 0) && processes.length === 1) return true;
    await Bun.sleep(20);
  }
  return false;
}

/** Sends a grant that was not acknowledged again, as a payment provider does; also the last one that was. */
async function repeatGrants(target: Target, told: readonly Told[]): Promise<string[]> {
  const grants = told.filter((entry) => entry.kind === "grant");
  const again = new Set([...grants.filter((entry) => !entry.acknowledged), ...grants.slice(-1)]);
  const faults: string[] = [];
  for (const entry of again) {
    if (await sendGrant(target, entry)) entry.acknowledged = true;
    else faults.push(`the grant ${entry.key} is refused when it is sent again`);
  }
  return faults;
}

/** The gateway's own audit. */
async function audit(target: Target): Promise<string[]> {
  const answer = await admin(target, "GET", "/audit");
  if (answer?.status === 404) return [];
  const found = answer?.json as { readonly ok?: boolean } | undefined;
  return found?.ok === true ? [] : [`the audit says ${JSON.stringify(answer)}`];
}

/** Keys of the last run work, or do not, as their rows say; older ones were tried before. */
async function tryKeys(
  { url }: Target,
  told: readonly Told[],
  { keys }: Awaited<ReturnType<typeof readBooks>>,
): Promise<string[]> {
  const faults: string[] = [];
  for (const entry of told.filter((each) => each.kind === "key").slice(-6)) {
    if (entry.text === undefined) continue;
    const headers = { authorization: `Bearer ${entry.text}` };
    const { status } = await fetch(`${url}/api/v1/models`, { headers });
    const isRevoked = keys.find((row) => row.id === entry.id)?.revoked_at_ms !== null;
    if (status !== (isRevoked ? 401 : 200)) faults.push(`the key ${entry.id} is answered with ${status}`);
  }
  return faults;
}
