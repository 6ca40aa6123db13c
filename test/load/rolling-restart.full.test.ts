import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { Client } from "pg";
import { join } from "node:path";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { freePort, sharedCluster } from "../postgres/cluster.ts";
import { describeOnPostgres } from "../postgres/on-postgres.ts";
import { type Balancer, describeBehindHaproxy, startBalancer } from "./haproxy.ts";
import { planText } from "./plan.ts";
import { loadSettings, MODEL, startLoadProvider } from "./provider.ts";
import { hasAllWords, openStream } from "./stream-client.ts";

const STREAMS = 200;
const PLAIN = 8;
const WORDS = 50;
const EVERY_MS = 100;
/** Of 10 tokens of input and 5 of output, at 1 and 2 USD per million; a micro-credit is 10^-10 USD. */
const CREDIT_OF_EACH = 0.2;
const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };

/** What clients asked for, and what went wrong for them. */
interface Work {
  asked: number;
  readonly faults: string[];
  isOver: boolean;
}

/** Asks for one stream after the other. */
async function streams(work: Work, url: string, key: string): Promise<void> {
  while (!work.isOver) {
    work.asked += 1;
    const client = openStream({ url, key, plan: { words: WORDS, everyMs: EVERY_MS } });
    await client.begun.catch((error: Error) => work.faults.push(error.message));
    await client.ended;
    const isRight = client.status === 200 && client.isWhole && hasAllWords(client, WORDS);
    if (!isRight) work.faults.push(`${client.status} ${client.failure} ${client.words.length} words`);
  }
}

/** Asks for one plain answer after the other. */
async function plain(work: Work, url: string, key: string): Promise<void> {
  const content = planText({ words: 5, everyMs: 20 });
  const body = JSON.stringify({ model: MODEL, max_tokens: 64, messages: [{ role: "user", content }] });
  const headers = { ...ADMIN, authorization: `Bearer ${key}` };
  while (!work.isOver) {
    work.asked += 1;
    try {
      const response = await fetch(`${url}/api/v1/chat/completions`, { method: "POST", headers, body });
      const text = await response.text();
      if (response.status !== 200 || !text.includes('"content":"0 1 2 3 4 "'))
        work.faults.push(`plain ${response.status}: ${text.slice(0, 200)}`);
    } catch (error) {
      work.faults.push(`plain ${String(error)}`);
    }
  }
}

describeOnPostgres("two processes on one database", () => {
  describeBehindHaproxy("behind haproxy, which asks for readyz", () => {
    test(`are restarted one after the other under ${STREAMS} live streams: no request is lost, none is charged twice`, async () => {
      const place = await (await sharedCluster()).database();
      const provider = await startLoadProvider();
      const folder = temporaryFolder();
      const settings = join(folder.path, "switchyard.yaml");
      writeFileSync(settings, loadSettings(provider.url));
      const ports = { a: await freePort(), b: await freePort() };
      const start = (name: keyof typeof ports): GatewayProcess =>
        startProcess({
          DATABASE_URL: place.url,
          PORT: String(ports[name]),
          SWITCHYARD_HOME: join(folder.path, name),
          SWITCHYARD_CONFIG: settings,
          SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
          SHUTDOWN_DELAY_SECONDS: "2",
        });
      const running = { a: start("a"), b: start("b") };
      await Promise.all(Object.values(running).map((one) => one.ready()));
      const balancer = await startBalancer(folder.path, ports);
      await isUp(balancer, ["a", "b"]);
      const admin = async (method: string, path: string, body?: object): Promise<Json> => {
        const sent = body === undefined ? {} : { body: JSON.stringify(body) };
        return (await fetch(`${balancer.url}/admin/v1${path}`, { method, headers: ADMIN, ...sent })).json();
      };
      const account = await admin("POST", "/accounts", { name: "rolling" });
      await admin("POST", `/accounts/${account.id}/credits`, { amount: 1_000_000, reason: "rolling" });
      const { key } = await admin("POST", "/keys", { account_id: account.id, name: "rolling" });

      const work: Work = { asked: 0, faults: [], isOver: false };
      const working = Promise.all([
        ...Array.from({ length: STREAMS }, () => streams(work, balancer.url, key as string)),
        ...Array.from({ length: PLAIN }, () => plain(work, balancer.url, key as string)),
      ]);
      while ((await provider.counts()).now < STREAMS) await Bun.sleep(20);
      const took: string[] = [];
      for (const name of ["a", "b"] as const) {
        const startedAt = performance.now();
        running[name].child.kill("SIGTERM");
        expect(await running[name].exited()).toBe(0);
        const downMs = performance.now() - startedAt;
        running[name] = start(name);
        await running[name].ready();
        await isUp(balancer, [name]);
        took.push(
          `${name} ended in ${downMs.toFixed(0)} ms, served again after ${(performance.now() - startedAt).toFixed(0)} ms`,
        );
      }
      work.isOver = true;
      await working;
      console.log(`rolling restart under ${STREAMS} streams: ${work.asked} requests; ${took.join("; ")}`);

      expect([work.faults.length, work.faults.slice(0, 10)]).toEqual([0, []]);
      const counts = await provider.counts();
      expect([counts.requests, counts.finished, counts.left]).toEqual([work.asked, work.asked, 0]);
      const { balance, held } = await admin("GET", `/accounts/${account.id}`);
      expect(held).toBe(0);
      expect(1_000_000 - balance).toBeCloseTo(work.asked * CREDIT_OF_EACH, 6);
      expect(await admin("GET", "/audit?full=true")).toMatchObject({ ok: true });
      for (const { child } of Object.values(running)) child.kill("SIGTERM");
      await Promise.all(Object.values(running).map((one) => one.exited()));
      expect(await leftBehind(place.url)).toEqual([{ leases: "0", allotments: "0", holds: "0" }]);
      await balancer.close();
      provider.close();
      await place.drop();
      folder.remove();
    }, 300_000);
  });
});

/** What processes that have ended still have in the store. */
async function leftBehind(url: string): Promise<readonly object[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `select (select count(*) from processes) as leases, (select count(*) from allotments) as allotments,
      (select count(*) from holds where state = 'held') as holds`,
  );
  await client.end();
  return rows;
}

/** Resolves once the balancer sends requests to all of these. */
async function isUp(balancer: Balancer, names: readonly string[]): Promise<void> {
  for (;;) {
    const states = await balancer.states();
    if (names.every((name) => states[name] === "UP")) return;
    await Bun.sleep(50);
  }
}
