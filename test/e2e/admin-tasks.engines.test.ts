import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { AT_ONCE, RUNNING, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

describeOnEngineOfSuite("GET /admin/v1/tasks", (engine) => {
  let place: TestPlace;
  let station: TaskStation;
  /** In the order in which they were submitted: a video that waits, an image that was made, one that failed, one that was cancelled. */
  let tasks: Json[];
  let other: Awaited<ReturnType<TaskStation["issue"]>>;
  const PROMPT = "A secret lighthouse.";

  beforeAll(async () => {
    place = await engine.newPlace();
    station = await startTaskStation({ environment: { ...place.environment, SWITCHYARD_SANDBOX: "on" } });
    other = await station.issue(10_000);
    const failing = { "x-sandbox": "pending_ms=0; running_ms=0; fail=moderation" };
    tasks = [
      await station.submit("video", { prompt: PROMPT, negative_prompt: "birds" }, WAITING),
      await station.submit("image", { prompt: PROMPT }, AT_ONCE),
      await station.submit("image", { prompt: PROMPT }, failing),
      await station.submit("image", { prompt: PROMPT }, { ...WAITING, ...other.headers }),
    ];
    await station.until(tasks[1], "completed");
    await station.until(tasks[2], "failed");
    await station.cancel(tasks[3].polling_url, other.headers);
  });
  afterAll(async () => {
    await station.gateway.close();
    await place.remove();
  });

  const list = async (query = ""): Promise<Json> =>
    (await station.gateway.admin("GET", `/tasks${query}`)).json;
  const ids = async (query: string): Promise<string[]> => (await list(query)).data.map(({ id }: Json) => id);

  test("shows each task as it stands, the newest first", async () => {
    const { data, next } = await list();
    expect(next).toBeNull();
    expect(data.map(({ id }: Json) => id)).toEqual(tasks.map(({ id }) => id).toReversed());
    const [cancelled, failed, completed, pending] = data;
    expect(pending).toEqual({
      id: tasks[0].id,
      kind: "video",
      status: "pending",
      account_id: station.gateway.accountId,
      key_id: station.gateway.keyId,
      request_id: expect.stringMatching(/^req_/),
      model: "bytedance/seedance-2.0-fast",
      provider: null,
      job: null,
      attempts: 0,
      credit: null,
      error: null,
      warnings: [expect.stringContaining("negative_prompt")],
      timeout: 600,
      created_at: expect.any(Number),
      started_at: null,
      ended_at: null,
      files_until: null,
    });
    expect(completed).toMatchObject({
      kind: "image",
      status: "completed",
      provider: "sandbox",
      job: expect.stringMatching(/\S/),
      attempts: 1,
      credit: 350,
      error: null,
    });
    const times = [completed.created_at, completed.started_at, completed.ended_at, completed.files_until];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(failed).toMatchObject({
      status: "failed",
      credit: null,
      error: { type: "content_moderation", message: expect.stringMatching(/\S/) },
      files_until: null,
    });
    expect(cancelled).toMatchObject({
      status: "cancelled",
      account_id: other.accountId,
      provider: null,
      attempts: 0,
      credit: null,
      error: null,
    });
  });

  test("never shows what was asked for", async () => {
    expect(JSON.stringify(await list())).not.toContain("lighthouse");
  });

  test("can be asked for by id, account, key, model, provider, kind, status and time of creation", async () => {
    const [video, made, failed, cancelled] = tasks.map(({ id }) => id as string);
    const { gateway } = station;
    expect(await ids(`?id=${made}`)).toEqual([made ?? ""]);
    expect(await ids(`?account_id=${other.accountId}`)).toEqual([cancelled ?? ""]);
    expect((await ids(`?account_id=${gateway.accountId}`)).length).toBe(3);
    expect((await ids(`?key_id=${gateway.keyId}`)).length).toBe(3);
    expect(await ids("?model=bytedance/seedance-2.0-fast")).toEqual([video ?? ""]);
    expect(await ids("?provider=sandbox")).toEqual([failed ?? "", made ?? ""]);
    expect(await ids("?kind=video")).toEqual([video ?? ""]);
    expect((await ids("?kind=image&status=completed")).length).toBe(1);
    for (const [status, id] of Object.entries({ pending: video, completed: made, failed, cancelled }))
      expect(await ids(`?status=${status}`)).toEqual([id ?? ""]);
    const { created_at: createdAt } = (await list(`?id=${made}`)).data[0];
    expect(await ids(`?from=${createdAt}&to=${(createdAt + 0.001).toFixed(3)}`)).toContain(made ?? "");
    expect(await ids(`?to=${createdAt}`)).not.toContain(made ?? "");
    expect(await ids(`?from=${(createdAt + 0.001).toFixed(3)}`)).not.toContain(made ?? "");
    for (const query of ["?id=none", "?provider=fal", "?to=1"]) expect(await ids(query)).toEqual([]);
  });

  test("are counted by state, those of a time alone where one is asked for", async () => {
    const counts = async (query = ""): Promise<readonly [string, number][]> => {
      const { json } = await station.gateway.admin("GET", `/tasks/counts${query}`);
      return json.data.map(({ status, count }: Json) => [status, count]);
    };
    const all = { pending: 1, running: 0, completed: 1, failed: 1, cancelled: 1 };
    expect(Object.fromEntries(await counts())).toEqual(all);
    expect((await counts("?to=1")).every(([, count]) => count === 0)).toBe(true);
    const { created_at: createdAt } = (await list(`?id=${tasks[0].id}`)).data[0];
    const first = Object.fromEntries(await counts(`?to=${(createdAt + 0.001).toFixed(3)}`));
    expect(first.pending).toBe(1);
    expect(Object.fromEntries(await counts(`?from=${(createdAt + 0.001).toFixed(3)}`)).pending).toBe(0);
    expect((await station.gateway.admin("GET", "/tasks/counts?status=failed")).status).toBe(400);
  });

  test("is refused a filter that nothing has, by its name", async () => {
    for (const name of ["account_id", "key_id", "model", "provider", "status", "kind"]) {
      const { status, json } = await station.gateway.admin("GET", `/tasks?${name}=none`);
      expect([status, json.error.param]).toEqual([400, name]);
    }
  });

  test("shows one of them with the states it has been in, and its files with URLs that open", async () => {
    const [pending, made, failed, cancelled] = await Promise.all(
      tasks.map(async ({ id }) => (await station.gateway.admin("GET", `/tasks/${id}`)).json),
    );
    const statesIn = ({ states }: Json): readonly string[] => states.map(({ state }: Json) => state);
    expect(statesIn(pending)).toEqual(["pending"]);
    expect(statesIn(made)).toEqual(["pending", "running", "completed"]);
    expect(statesIn(failed)).toEqual(["pending", "running", "failed"]);
    expect(statesIn(cancelled)).toEqual(["pending", "cancelled"]);
    const { states, outputs, provider_job_id, ...row } = made;
    expect((await list(`?id=${made.id}`)).data).toEqual([row]);
    expect(states.map(({ at }: Json) => at)).toEqual([row.created_at, row.started_at, row.ended_at]);
    expect(provider_job_id).toBe(row.job);
    expect(outputs).toEqual([
      { url: expect.stringContaining("/assets/"), media_type: "image/png", bytes: expect.any(Number) },
    ]);
    const file = await fetch(outputs[0].url);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect((await file.bytes()).length).toBe(outputs[0].bytes);
    expect([pending.outputs, failed.outputs, failed.error.type]).toEqual([[], [], "content_moderation"]);
    expect((await station.gateway.admin("GET", "/tasks/img_none")).status).toBe(404);
    expect(JSON.stringify(pending)).not.toContain("lighthouse");
  });

  test("shows the request of one with its task and the price of what it made", async () => {
    const { json: task } = await station.gateway.admin("GET", `/tasks/${tasks[1].id}`);
    const { json } = await station.gateway.admin("GET", `/requests/${task.request_id}`);
    expect(json).toMatchObject({ task_id: task.id, credit: 350, hold: { state: "settled", amount: 350 } });
    expect(json.lines).toEqual([{ bucket: "image", quantity: 1, price: 0.035, unit: "image", credit: 350 }]);
  });

  test("are given page by page, none twice and none missing", async () => {
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: Json = await list(`?limit=3${next === "" ? "" : `&after=${next}`}`);
      seen.push(...page.data.map(({ id }: Json) => id));
      next = page.next;
    }
    expect(seen).toEqual(tasks.map(({ id }) => id).toReversed());
  });

  test("a filter that cannot be is a 400 that names it, and a key is no admin token", async () => {
    const queries = ["after=x", "limit=0", "id=%00", "kind=sound", "status=in_progress", "from=x", "to=-1"];
    for (const query of [...queries, "from=1e3", "to=9999999999999"]) {
      const { status, json } = await station.gateway.admin("GET", `/tasks?${query}`);
      expect([query, status]).toEqual([query, 400]);
      if (!query.startsWith("id")) expect(json.error.message).toContain(query.replace(/=.*/, ""));
    }
    const headers = { authorization: `Bearer ${station.gateway.key}` };
    expect((await fetch(`${station.gateway.url}/admin/v1/tasks`, { headers })).status).toBe(401);
  });

  test("can be cancelled by the operator, by the rules of its client's cancel", async () => {
    const cancel = (id: string) => station.gateway.admin("POST", `/tasks/${id}/cancel`);
    const waiting = await station.submit("video", {}, { ...WAITING, ...other.headers });
    for (let i = 0; i < 2; i += 1)
      expect(await cancel(waiting.id)).toEqual({
        status: 200,
        json: { id: waiting.id, status: "cancelled" },
      });
    expect((await station.read(waiting.polling_url, other.headers)).json.status).toBe("cancelled");
    const running = await station.submit("image", {}, { ...RUNNING, ...other.headers });
    while ((await station.read(running.polling_url, other.headers)).json.status === "pending")
      await Bun.sleep(20);
    for (const [id, status] of [
      [running.id, 409],
      [tasks[1].id, 409],
      [tasks[2].id, 409],
      ["img_none", 404],
    ] as const)
      expect((await cancel(id)).status).toBe(status);
  });
});
