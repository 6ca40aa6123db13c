import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { checkAudit, checkBooks, openBooks } from "./money.ts";
import { AT_ONCE, type Kind, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// What is told of a cost is what the books have, wherever it is told.

/** In credits, by the prices of the catalogue: by the image, by tokens, by the second. */
const BILLS: readonly (readonly [kind: Kind, body: object, credit?: number])[] = [
  ["image", { model: "alibaba/qwen-image-2.0", n: 3 }, 1_050],
  ["image", { model: "midjourney/midjourney", size: undefined }, 1_000],
  ["image", { model: "openai/gpt-image-2", size: "1024*1024", quality: "low" }],
  ["image", { model: "google/gemini-3-pro-image", size: undefined, image_size: "4K" }],
  ["video", { model: "alibaba/wan-2.6", resolution: "720p" }, 5_000],
  ["video", { model: "bytedance/seedance-2.0-fast", resolution: "480p" }],
];

describeOnEngineOfSuite("the bill of tasks", (engine) => {
  let place: TestPlace;
  let station: TaskStation;
  beforeAll(async () => {
    place = await engine.newPlace();
    station = await startTaskStation({
      environment: { ...place.environment, SWITCHYARD_SANDBOX: "on" },
      clock: createDatedClock(),
    });
  });
  afterAll(async () => {
    await station.gateway.close();
    await place.remove();
  });

  for (const [kind, body, credit] of BILLS) {
    test(`${kind} ${JSON.stringify(body)}: the task, the ledger, the row of the request and the list say the same`, async () => {
      const { accountId, headers } = await station.issue(100_000);
      const response = await station.post(kind, body, { ...AT_ONCE, ...headers });
      const requestId = response.headers.get("x-request-id");
      const task = (await response.json()) as Json;
      expect([response.status, task.error?.message]).toEqual([202, undefined]);
      const deadline = Date.now() + 30_000;
      let done = task;
      while (!["completed", "failed"].includes(done.status) && Date.now() < deadline) {
        await Bun.sleep(30);
        done = (await station.read(task.polling_url, headers)).json;
      }
      expect([done.status, done.error?.message]).toEqual(["completed", undefined]);
      if (credit !== undefined) expect(done.credit).toBe(credit);
      expect(done.credit).toBeGreaterThan(0);
      const admin = async (path: string): Promise<Json> => (await station.gateway.admin("GET", path)).json;
      const entries = (await admin(`/accounts/${accountId}/ledger`)).data;
      expect(entries.map((entry: Json) => [entry.kind, entry.amount])).toEqual([
        ["grant", 100_000],
        ["settle", -done.credit],
      ]);
      expect(entries[1].request_id).toBe(requestId);
      const [row] = (await admin(`/requests?id=${requestId}`)).data;
      expect([row.credit, row.outcome, row.provider]).toEqual([done.credit, "completed", "sandbox"]);
      const [listed] = (await admin(`/tasks?id=${task.id}`)).data;
      expect([listed.credit, listed.request_id, listed.status]).toEqual([
        done.credit,
        requestId,
        "completed",
      ]);
      const account = await admin(`/accounts/${accountId}`);
      expect([account.balance, account.held]).toEqual([100_000 - done.credit, 0]);
    });
  }

  test("what is asked for is held whole or refused: 402, nothing made smaller, nothing held", async () => {
    for (const [kind, body, price] of [
      ["image", { model: "alibaba/qwen-image-2.0", n: 2 }, 700],
      ["video", { model: "alibaba/wan-2.6", resolution: "720p" }, 5_000],
      ["video", { model: "alibaba/wan-2.6", resolution: "1080p", duration: 15 }, 22_500],
    ] as const) {
      const { accountId, headers } = await station.issue(price - 0.000001);
      const poor = await station.post(kind, body, { ...AT_ONCE, ...headers });
      expect([poor.status, ((await poor.json()) as Json).error.type]).toEqual([402, "insufficient_credits"]);
      const { json } = await station.gateway.admin("GET", `/tasks?account_id=${accountId}`);
      expect(json.data).toEqual([]);
      await station.gateway.admin("POST", `/accounts/${accountId}/credits`, {
        amount: 0.000001,
        reason: "the rest",
      });
      const able = await station.post(kind, body, { ...WAITING, ...headers });
      expect(able.status).toBe(202);
      const { json: account } = await station.gateway.admin("GET", `/accounts/${accountId}`);
      expect([account.balance, account.held]).toEqual([price, price]);
      await station.cancel(((await able.json()) as Json).polling_url, headers);
    }
  });

  test("the books are right after all of it", async () => {
    await checkAudit(station.gateway);
    const books = openBooks(place);
    await checkBooks(books);
    await books.destroy();
  });
});
