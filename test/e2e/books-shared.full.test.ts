import { afterEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestEngine } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { sharedCluster } from "../postgres/cluster.ts";
import { describeOnPostgres } from "../postgres/on-postgres.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import {
  type Bank,
  bankSettings,
  checkBooks,
  inFull,
  openBank,
  openBooks,
  unitBody,
  watchAccount,
  stoppedClock,
} from "./money.ts";

// Several gateways on one PostgreSQL: rows C2 and C21.

const POSTGRES: TestEngine = {
  name: "postgres",
  async newPlace() {
    const { url, drop } = await (await sharedCluster()).database();
    return { place: { url }, environment: { DATABASE_URL: url }, remove: drop };
  },
};

describeOnPostgres("several gateways on one store", () => {
  let processes: GatewayProcess[] = [];
  afterEach(async () => {
    for (const { child } of processes) child.kill("SIGTERM");
    await Promise.all(processes.map((one) => one.exited()));
    processes = [];
  });

  test("200 parallel requests to three processes on credit for 7: exactly 7 reach upstream", async () => {
    const place = await POSTGRES.newPlace();
    const double = await startUpstreamDouble();
    const folder = temporaryFolder();
    const settings = join(folder.path, "settings.yaml");
    writeFileSync(settings, bankSettings(double));
    const environment = {
      ...place.environment,
      SWITCHYARD_CONFIG: settings,
      SWITCHYARD_HOME: join(folder.path, "home"),
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
    };
    // At once: their first starts race for the schema and the secrets as well.
    processes = [0, 1, 2].map(() => startProcess(environment));
    const urls = await Promise.all(processes.map((one) => one.ready()));
    const admin = async (path: string, body: object): Promise<Json> => {
      const response = await fetch(`${urls[0]}/admin/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.json();
    };
    const account = await admin("/accounts", { name: "shared" });
    await admin(`/accounts/${account.id}/credits`, { amount: 21, reason: "start" });
    const { key } = await admin("/keys", { account_id: account.id, name: "shared" });

    const gate = createGate();
    double.handle((request) => gateAt(inFull(request), "start", gate));
    const books = openBooks(place);
    const watched = watchAccount(books, account.id as string);
    let refused = 0;
    const answers = Array.from({ length: 200 }, async (_, i) => {
      const response = await fetch(`${urls[i % 3]}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(unitBody(3)),
      });
      if (response.status === 402) refused += 1;
      return { status: response.status, json: (await response.json()) as Json };
    });
    while (refused < 193) await Bun.sleep(1);
    gate.release();
    const all = await Promise.all(answers);
    await watched.stop();
    expect(double.requests.length).toBe(7);
    expect(all.filter(({ status, json }) => status === 200 && json.credit === 3).length).toBe(7);
    expect(all.filter(({ status }) => status === 402).length).toBe(193);
    const left = await books
      .selectFrom("accounts")
      .select(["balance", "held"])
      .where("id", "=", account.id)
      .execute();
    expect(left).toEqual([{ balance: 0n, held: 0n }]);
    await checkBooks(books);
    await books.destroy();
    await double.close();
    for (const { child } of processes) child.kill("SIGTERM");
    await Promise.all(processes.map((one) => one.exited()));
    await place.remove();
    folder.remove();
  });

  test("a key that one gateway revokes cannot pay at the other at once, and is nobody's there within five seconds", async () => {
    const clock = stoppedClock();
    const bank: Bank = await openBank(POSTGRES, { credits: 100, clock });
    const other = await bank.another({ clock });
    const { gateway, double } = bank;
    const headers = { authorization: `Bearer ${gateway.key}` };
    const models = () => fetch(`${other.url}/api/v1/models`, { headers });
    expect((await other.chat(unitBody(2), { headers })).status).toBe(200);
    expect((await models()).status).toBe(200);

    await gateway.admin("DELETE", `/keys/${gateway.keyId}`);
    const paid = await other.chat(unitBody(2), { headers });
    expect(paid.status).toBe(401);
    expect(((await paid.json()) as Json).error).toMatchObject({ type: "auth_error", code: "api_key_ended" });
    expect(double.requests.length).toBe(1);
    // What costs nothing still goes by what is remembered, for less than five seconds.
    expect((await models()).status).toBe(200);
    await clock.advance(5_000);
    expect((await models()).status).toBe(401);
    expect((await fetch(`${gateway.url}/api/v1/models`, { headers })).status).toBe(401);
    await bank.close();
  });

  for (const { what, change } of [
    { what: "models", change: { models: ["openai/gpt-5.6-luna"] } },
    { what: "expiry", change: { expires_at: 1 } },
  ]) {
    test(`a change of a key's ${what} at one gateway is in force at the other within five seconds`, async () => {
      const clock = stoppedClock();
      const bank = await openBank(POSTGRES, { credits: 100, clock });
      const other = await bank.another({ clock });
      const { gateway } = bank;
      const headers = { authorization: `Bearer ${gateway.key}` };
      expect((await other.chat(unitBody(2), { headers })).status).toBe(200);
      await gateway.admin("PATCH", `/keys/${gateway.keyId}`, change);
      await clock.advance(5_000);
      expect([400, 401]).toContain((await other.chat(unitBody(2), { headers })).status);
      await bank.close();
    });
  }

  test("a budget that one gateway lowers binds at the other at once", async () => {
    const bank = await openBank(POSTGRES, { credits: 100 });
    const other = await bank.another();
    const { gateway } = bank;
    const headers = { authorization: `Bearer ${gateway.key}` };
    expect((await other.chat(unitBody(2), { headers })).status).toBe(200);
    await gateway.admin("PATCH", `/keys/${gateway.keyId}`, { budget: 3 });
    expect((await other.chat(unitBody(2), { headers })).status).toBe(402);
    expect((await other.chat(unitBody(1), { headers })).status).toBe(200);
    expect((await other.chat(unitBody(1), { headers })).status).toBe(402);
    await bank.close();
  });

  test("each gateway settles its own when the same key is used at both", async () => {
    const bank = await openBank(POSTGRES, { credits: 1_000 });
    const other = await bank.another();
    const headers = { authorization: `Bearer ${bank.gateway.key}` };
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 ? bank.gateway : other).chat(unitBody(1 + (i % 9)), { headers }),
      ),
    );
    const credits = await Promise.all(
      answers.map(async (one) => ((await one.json()) as Json).credit as number),
    );
    expect((await bank.gateway.account()).balance).toBe(
      1_000 - credits.reduce((sum, credit) => sum + credit, 0),
    );
    await bank.close();
  });
});
