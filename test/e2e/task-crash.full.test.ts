import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeOnSharedBooks, type TestPlace } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { shownKey, startProcess, temporaryFolder } from "../gateway/process.ts";
import { checkAudit, openBooks, openOtherProcess } from "./money.ts";
import { PATHS, RUNNING, SMALL, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Tasks whose process dies: those that are asked after go on, those that a request waited for are given up.

describeOnSharedBooks("a process that is taken for dead", (engine) => {
  let place: TestPlace;
  let station: TaskStation;
  beforeAll(async () => {
    place = await engine.newPlace();
    station = await startTaskStation({ environment: { ...place.environment, SWITCHYARD_SANDBOX: "on" } });
  });
  afterAll(async () => {
    await station.gateway.close();
    await place.remove();
  });

  for (const [state, orders] of [
    ["pending", WAITING],
    ["running", RUNNING],
  ] as const) {
    test(`its ${state} tasks stay, but for those that its requests wait for: they fail, free, and are told so`, async () => {
      const { accountId, headers } = await station.issue(10_000);
      const asked = await station.submit("image", {}, { ...orders, ...headers });
      const waits = station.post("image", { async: false }, { ...orders, ...headers });
      // A running one that was sent to its provider: until then nothing can be lost.
      const isThere = ({ status, attempts }: Json): boolean =>
        status === state && (status === "pending" || attempts === 1);
      const list = async (): Promise<Json[]> =>
        (await station.gateway.admin("GET", `/tasks?account_id=${accountId}`)).json.data;
      for (let tasks: Json[] = []; tasks.filter(isThere).length < 2;) {
        await Bun.sleep(20);
        tasks = await list();
      }
      const other = await openOtherProcess(place);
      await other.sweep();
      await other.close();
      const [left, stayed] = await list();
      expect([left.status, left.error.type, left.credit]).toEqual(["failed", "generation_error", null]);
      expect([stayed.id, stayed.status]).toEqual([asked.id, state]);
      // It was not dead after all.
      const answer = await waits;
      expect([answer.status, ((await answer.json()) as Json).error.type]).toEqual([502, "upstream_error"]);
      const { json } = await station.gateway.admin("GET", `/accounts/${accountId}`);
      expect([json.balance, json.held]).toEqual([10_000, 350]);
      if (state === "pending") await station.cancel(asked.polling_url, headers);
    });
  }

  test("has lost what its provider may have worked for nothing, and the books say so", async () => {
    const books = openBooks(place);
    const losses = await books.selectFrom("ledger").selectAll().where("kind", "=", "loss").execute();
    expect(losses.length).toBe(1);
    await books.destroy();
    await checkAudit(station.gateway);
  });
});

test("after kill -9 a task goes on, and a plain request is charged nothing", async () => {
  const home = temporaryFolder();
  const environment = { SWITCHYARD_HOME: home.path, SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN };
  try {
    const first = startProcess(environment);
    let url = await first.ready();
    const admin = async (path: string): Promise<Json> => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      return (await fetch(`${url}/admin/v1${path}`, { headers })).json();
    };
    const key = shownKey(first.output());
    const post = (async: boolean): Promise<Response> =>
      fetch(url + PATHS.image, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          "x-sandbox": "pending_ms=0; running_ms=4000",
        },
        body: JSON.stringify({ ...SMALL.image, async }),
      });
    const task = (await (await post(true)).json()) as Json;
    const waits = post(false).catch(() => "gone");
    for (let running = 0; running < 2; await Bun.sleep(20))
      running = (await admin("/tasks?status=running")).data.length;
    first.child.kill("SIGKILL");
    await first.exited();
    expect(await waits).toBe("gone");
    const second = startProcess(environment);
    url = await second.ready();
    const [plain] = (await admin("/tasks?status=failed")).data;
    expect([plain?.error.type, plain?.credit]).toEqual(["generation_error", null]);
    for (let completed = 0; completed < 1; await Bun.sleep(50))
      completed = (await admin("/tasks?status=completed")).data.length;
    const [made] = (await admin("/tasks?status=completed")).data;
    expect([made.id, made.credit]).toEqual([task.id, 350]);
    const { balance, held } = (await admin("/accounts")).data[0];
    expect([balance, held]).toEqual([100_000 - 350, 0]);
    expect((await admin("/audit?full=true")).ok).toBe(true);
    second.child.kill("SIGTERM");
    await second.exited();
  } finally {
    home.remove();
  }
});
