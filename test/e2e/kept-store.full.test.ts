import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { openKeptFile } from "../../src/db/kept-file.ts";
import type { KeptDatabase } from "../../src/db/kept-tables.ts";
import { openUnhurried } from "../../src/db/postgres.ts";
import { describeOnEngines, describeOnSharedBooks, SQLITE, type TestPlace } from "../gateway/engines.ts";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import type { UpstreamDouble } from "../upstream/double.ts";
import { askKept, callKept, createShiftedClock, startKeptDouble, startKeptGateway } from "./kept-station.ts";

// The store of answers: its settings and bounds, restarts, several processes, and what happens when it fails.

const MODEL = "test/gpt";
let double: UpstreamDouble;
const gateways: TestGateway[] = [];
const start = async (...terms: Parameters<typeof startKeptGateway>): Promise<TestGateway> => {
  const gateway = await startKeptGateway(...terms);
  gateways.push(gateway);
  return gateway;
};

beforeAll(async () => {
  ({ double } = await startKeptDouble());
});
afterAll(() => double.close());
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

const statusOf = async (gateway: TestGateway, body: Json): Promise<number> =>
  (await gateway.post("/api/v1/responses", { model: MODEL, input: "x", ...body })).status;
const isThere = async (gateway: TestGateway, { id }: Json): Promise<boolean> =>
  (await callKept(gateway, "GET", id)).status === 200;

describeOnEngines("answers are kept", (engine) => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await engine.newPlace();
  });
  afterAll(() => place.remove());
  const rows = async (): Promise<{
    readonly responses: bigint;
    readonly items: bigint;
    readonly bytes: bigint;
  }> => {
    const database: KeptDatabase =
      engine.name === "sqlite"
        ? openKeptFile(join(place.environment.SWITCHYARD_HOME ?? "", "responses.db"))
        : (openUnhurried(place.environment.DATABASE_URL ?? "") as unknown as KeptDatabase);
    const { rows: counts } = await sql<{ responses: bigint; items: bigint; bytes: bigint }>`
      select (select count(*) from kept_responses) as responses, (select count(*) from kept_items) as items,
        (select cast(coalesce(sum(bytes), 0) as bigint) from kept_responses) as bytes`.execute(database);
    await database.destroy();
    return counts[0]!;
  };

  test("within the bytes that an account may have: its oldest go first, and no other account's", async () => {
    const { environment } = place;
    const gateway = await start(double, { environment, responses: { kept_mib_per_account: 1 } });
    const input = "x".repeat(200_000);
    const answers: Json[] = [];
    for (let i = 0; i < 8; i += 1) {
      answers.push(await askKept(gateway, { model: MODEL, input }));
      expect((await rows()).bytes).toBeLessThan(1024 * 1024);
    }
    const kept = await Promise.all(answers.map((answer) => isThere(gateway, answer)));
    expect(kept).toEqual([false, false, false, false, false, true, true, true]);
    expect(await statusOf(gateway, { previous_response_id: answers[0].id })).toBe(400);
    expect(
      await statusOf(gateway, { input: [{ type: "item_reference", id: answers[0].output[0].id }] }),
    ).toBe(404);
  });

  test("until their time is over, and then deleted in the background", async () => {
    const clock = createShiftedClock();
    const gateway = await start(double, {
      environment: place.environment,
      clock,
      responses: { kept_hours: 2 },
    });
    const answer = await askKept(gateway, { model: MODEL });
    expect((await rows()).responses).toBeGreaterThan(0n);
    await gateway.close();
    gateways.pop();
    // A minute more, for what other tests kept in this place a moment later by their own clocks.
    clock.forward(2 * 3_600_000 + 60_000);
    // A new process looks soon after its start, by a timer of its own.
    const looks: (() => void)[] = [];
    const setTimer = (delayMs: number, run: () => void) => {
      if (delayMs === 10_000) looks.push(run);
      return clock.setTimer(delayMs, run);
    };
    const other = await start(double, {
      environment: place.environment,
      clock: { ...clock, setTimer },
      responses: { kept_hours: 2 },
    });
    for (const look of looks) look();
    while ((await rows()).items > 0n) await Bun.sleep(5);
    expect((await rows()).responses).toBe(0n);
    expect(await isThere(other, answer)).toBe(false);
  });

  test("by no process whose operator keeps nothing: what names them is refused before a hold", async () => {
    const { environment } = place;
    const gateway = await start(double, { environment });
    const answer = await askKept(gateway, { model: MODEL });
    await gateway.close();
    gateways.pop();
    const off = await start(double, { environment, responses: { kept_hours: 0 } });
    const before = double.requests.length;
    expect(await statusOf(off, { previous_response_id: answer.id })).toBe(400);
    const refused = await off.post("/api/v1/responses", {
      model: MODEL,
      input: [{ type: "item_reference", id: answer.output[0].id }],
    });
    expect(refused.status).toBe(404);
    expect(((await refused.json()) as Json).error.message).toContain("`store` is set to false");
    expect(double.requests.length).toBe(before);
    const alone = await askKept(off, { model: MODEL });
    expect([alone.status, alone.store]).toEqual(["completed", true]);
    expect(await isThere(off, alone)).toBe(false);
  });
});

describe("a store in a file", () => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await SQLITE.newPlace();
  });
  afterAll(() => place.remove());
  const home = (): string => place.environment.SWITCHYARD_HOME ?? "";

  test("has its answers after a restart, for their account", async () => {
    const first = await start(double, { environment: place.environment });
    const answer = await askKept(first, { model: MODEL, input: "One" });
    await first.close();
    gateways.pop();
    const second = await start(double, { environment: place.environment });
    expect(await isThere({ ...second, key: first.key }, answer)).toBe(true);
    expect(await isThere(second, answer)).toBe(false);
    const headers = { authorization: `Bearer ${first.key}` };
    const body = { model: MODEL, input: "Two", previous_response_id: answer.id };
    expect((await second.post("/api/v1/responses", body, { headers })).status).toBe(200);
    expect(JSON.stringify(double.requests.at(-1)?.json())).toContain("One");
  });

  for (const stream of [false, true])
    test(`that takes nothing fails no answer${stream ? " of a stream" : ""}: the log has a warning`, async () => {
      const gateway = await start(double, { environment: place.environment });
      await askKept(gateway, { model: MODEL });
      const locked = openKeptFile(join(home(), "responses.db"));
      const kept = await locked.connection().execute(async (connection) => {
        await sql`begin immediate`.execute(connection);
        const answer = await askKept(gateway, { model: MODEL, stream });
        await sql`rollback`.execute(connection);
        return answer;
      });
      await locked.destroy();
      expect([kept.status, kept.credit > 0]).toEqual(["completed", true]);
      expect(gateway.logs.filter(({ message }) => message === "an answer could not be kept")).toHaveLength(1);
      expect(await isThere(gateway, kept)).toBe(false);
    });

  test("that cannot be opened fails no answer, and says so to who asks for one", async () => {
    const other = await SQLITE.newPlace();
    mkdirSync(join(other.environment.SWITCHYARD_HOME ?? "", "responses.db"));
    const gateway = await start(double, { environment: other.environment });
    const answer = await askKept(gateway, { model: MODEL });
    expect(answer.status).toBe("completed");
    const { status, json } = await callKept(gateway, "GET", answer.id);
    expect([status, json.error.type]).toEqual([503, "overloaded_error"]);
    expect(await statusOf(gateway, { previous_response_id: answer.id })).toBe(503);
  });
});

describeOnSharedBooks("several processes", (engine) => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await engine.newPlace();
  });
  afterAll(() => place.remove());
  const open = async (): Promise<readonly [TestGateway, TestGateway]> => {
    const { environment } = place;
    const first = await start(double, { environment });
    const second = await start(double, { environment });
    const post: TestGateway["post"] = (path, body) =>
      second.post(path, body, { headers: { authorization: `Bearer ${first.key}` } });
    return [first, { ...second, key: first.key, post }];
  };

  test("know an answer before its client has the end, and that it is deleted at once", async () => {
    const [one, other] = await open();
    const { body } = await one.post("/api/v1/responses", { model: MODEL, input: "One", stream: true });
    const reader = body!.getReader();
    let text = "";
    while (!text.includes("resp_")) text += new TextDecoder().decode((await reader.read()).value);
    const [id = ""] = /resp_\w+/.exec(text) ?? [];
    // Nothing more is read of the stream: the other process has the answer all the same.
    while (!(await isThere(other, { id }))) await Bun.sleep(5);
    const second = await askKept(other, { model: MODEL, input: "Two", previous_response_id: id });
    expect(second.previous_response_id).toBe(id);
    expect((await callKept(other, "DELETE", id)).status).toBe(200);
    expect(await isThere(one, { id })).toBe(false);
    await reader.cancel();
  });

  test("hold the end of a stream back until the answer is kept", async () => {
    const [one] = await open();
    const locking = openUnhurried(place.environment.DATABASE_URL ?? "") as unknown as KeptDatabase;
    const watching = openUnhurried(place.environment.DATABASE_URL ?? "");
    let text = "";
    const reading = locking.transaction().execute(async (transaction) => {
      await sql`lock table kept_responses in exclusive mode`.execute(transaction);
      const { body } = await one.post("/api/v1/responses", { model: MODEL, input: "One", stream: true });
      const read = (async () => {
        for await (const piece of body!) text += new TextDecoder().decode(piece);
      })();
      const waits = async (): Promise<boolean> => {
        const { rows } = await sql<{ n: bigint }>`select count(*) as n from pg_stat_activity
          where wait_event_type = 'Lock' and query like 'insert into "kept_responses"%'`.execute(watching);
        return rows[0]!.n > 0n;
      };
      while (!(await waits())) await Bun.sleep(5);
      expect(text).toContain("response.output_item.done");
      expect(text).not.toContain("response.completed");
      return { read };
    });
    await (
      await reading
    ).read;
    expect(text).toContain("response.completed");
    await Promise.all([locking.destroy(), watching.destroy()]);
  });
});
