import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { FakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { type Bank, openBank, stoppedClock, unitBody, usageOf } from "./money.ts";

const HOUR_MS = 3_600_000;

describeOnEngineOfSuite("GET /admin/v1/refusals", (engine) => {
  let bank: Bank;
  let clock: FakeClock;
  beforeEach(async () => {
    clock = stoppedClock();
    bank = await openBank(engine, { clock, credits: 100 });
    bank.double.handle(() => chatAnswer({ words: ["a"], usage: usageOf(1, 1) }));
  });
  afterEach(() => bank.close());

  const chat = async (body: object, key = bank.gateway.key): Promise<string> => {
    const response = await bank.gateway.chat(body, { headers: { authorization: `Bearer ${key}` } });
    await response.text();
    return response.headers.get("x-request-id") ?? "";
  };
  const list = async (query = ""): Promise<Json> =>
    (await bank.gateway.admin("GET", `/refusals${query}`)).json;
  const counts = async (query = ""): Promise<Json> =>
    (await bank.gateway.admin("GET", `/refusals/counts${query}`)).json.data;

  /** One refusal of each status, the first first. */
  const refuseEach = async (): Promise<readonly string[]> => {
    const { keyId } = bank.gateway;
    // All of them in one hour.
    const leftMs = HOUR_MS - (clock.nowMs() % HOUR_MS);
    if (leftMs <= 15_000) await clock.advance(leftMs);
    const ids = [
      await chat({ ...unitBody(1), temperature: "a secret of the caller" }),
      await chat(unitBody(1), "sk-sy-no-such-key"),
      await chat(unitBody(1_000)),
    ];
    await bank.gateway.admin("PATCH", `/keys/${keyId}`, { limits: { requests_per_minute: 1 } });
    await clock.advance(10_000);
    // The first is what the key may do in a minute.
    await chat(unitBody(1));
    return [...ids, await chat(unitBody(1))];
  };

  test("finds each refused request by its id, with what was wrong and without what was sent", async () => {
    const ids = await refuseEach();
    const { accountId: account_id, keyId: key_id } = bank.gateway;
    const page = await list();
    const owned = { key_id, account_id, model: "bank/unit", field: null };
    const path = "/api/v1/chat/completions";
    expect(page.data.map((row: Json) => ({ ...row, at: undefined })).toReversed()).toEqual([
      { ...owned, id: ids[0], status: 400, code: "invalid_request_error", field: "temperature", path },
      {
        id: ids[1],
        status: 401,
        code: "api_key_malformed",
        field: null,
        model: null,
        key_id: null,
        account_id: null,
        path,
      },
      { ...owned, id: ids[2], status: 402, code: "insufficient_credits", path },
      { ...owned, id: ids[3], status: 429, code: "rate_limit_error", path },
    ]);
    expect(JSON.stringify(page)).not.toContain("secret");
    const [newest] = page.data;
    expect((await list(`?id=${ids[3]}`)).data).toEqual([newest]);
    expect((await list("?status=402&model=bank/unit&code=insufficient_credits")).data.length).toBe(1);
    expect((await list(`?key_id=${key_id}&account_id=${account_id}`)).data.length).toBe(3);
    expect((await list(`?from=${newest.at}`)).data).toEqual([newest]);
    expect((await list(`?to=${newest.at}`)).data.length).toBe(3);
    const first = await list("?limit=3");
    expect((await list(`?limit=3&after=${first.next}`)).data.map(({ id }: Json) => id)).toEqual([ids[0]]);
  });

  test("counts them by the hour and the day, under each name", async () => {
    await refuseEach();
    const hour = Math.floor(clock.nowMs() / 3_600_000) * 3600;
    const day = Math.floor(clock.nowMs() / 86_400_000) * 86_400;
    expect(await counts()).toEqual([{ time: hour, group: null, count: 4 }]);
    expect(await counts("?interval=day&group_by=status")).toEqual(
      ["400", "401", "402", "429"].map((group) => ({ time: day, group, count: 1 })),
    );
    const sinceMonday = (new Date(day * 1_000).getUTCDay() + 6) % 7;
    const week = day - sinceMonday * 86_400;
    expect(await counts("?interval=week")).toEqual([{ time: week, group: null, count: 4 }]);
    const all = await counts(`?interval=all&from=${day}`);
    expect(all).toEqual([{ time: day, group: null, count: 4 }]);
    expect(await counts("?group_by=key")).toEqual([
      { time: hour, group: null, count: 1 },
      { time: hour, group: bank.gateway.keyId, count: 3 },
    ]);
    expect((await counts("?group_by=model")).map(({ count }: Json) => count)).toEqual([1, 3]);
    expect((await counts("?group_by=code")).length).toBe(4);
    await chat(unitBody(1), "sk-sy-no-such-key");
    expect(await counts()).toEqual([{ time: hour, group: null, count: 5 }]);
    expect(await counts(`?to=${hour}`)).toEqual([]);
  });

  test("has none of a request that a provider refused, that was answered, or that the operator got wrong", async () => {
    await chat(unitBody(1));
    bank.double.handle(() => jsonAnswer(400, { error: { message: "no" } }));
    await chat(unitBody(4));
    await bank.gateway.admin("GET", "/requests?limit=none");
    expect((await list()).data).toEqual([]);
    expect(await counts()).toEqual([]);
  });

  test("are written within five seconds, whether or not they are read", async () => {
    await chat(unitBody(1), "sk-sy-no-such-key");
    await clock.advance(5_000);
    const written = () => bank.books.selectFrom("refusals").select("status").execute();
    while ((await written()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await written()).toEqual([{ status: 401n }]);
  });

  test("refuses what is no filter", async () => {
    const refused: readonly (readonly [path: string, param: string])[] = [
      ["?status=404", "status"],
      ["?code=no_such_code", "code"],
      ["?model=no/such", "model"],
      ["?key_id=no", "key_id"],
      ["?account_id=no", "account_id"],
      ["?to=never", "to"],
      ["/counts?interval=year", "interval"],
      ["/counts?group_by=account", "group_by"],
    ];
    for (const [path, param] of refused) {
      const { status, json } = await bank.gateway.admin("GET", `/refusals${path}`);
      expect([path, status, json.error.param]).toEqual([path, 400, param]);
    }
  });
});
