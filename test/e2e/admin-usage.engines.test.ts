import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { FakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import { executeAt } from "../ledger/books.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { type Bank, BOTH, openBank, stoppedClock, UNIT, usageOf } from "./money.ts";

const HOUR_SEC = 3600;

describeOnEngineOfSuite("GET /admin/v1/usage", (engine) => {
  let bank: Bank;
  let clock: FakeClock;
  beforeEach(async () => {
    clock = stoppedClock();
    bank = await openBank(engine, { clock });
    bank.double.handle(() => chatAnswer({ words: ["a"], usage: usageOf(10, 4) }));
  });
  afterEach(() => bank.close());

  const ask = async (model = BOTH): Promise<number> => {
    const body = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 8 };
    const response = await bank.gateway.chat(body);
    return ((await response.json()) as Json).credit ?? 0;
  };
  const usage = async (query = "") => (await bank.gateway.admin("GET", `/usage${query}`)).json;
  const mark = async (): Promise<bigint | undefined> =>
    (await bank.books.selectFrom("usage_mark").select("request_seq").executeTakeFirst())?.request_seq;
  /** Each look of the gateway takes real time, in which its clock stands still. */
  const untilRolledUp = async (): Promise<void> => {
    while ((await mark()) === 0n) await clock.advance(1_000);
  };

  test("has a request as soon as its client has the answer, and says the same once it is rolled up", async () => {
    const credit = await ask();
    expect((await usage()).data).toMatchObject([{ requests: 1, credit, cost: 0, credit_with_cost: 0 }]);
    await executeAt(bank.place.place, "update requests set cost = 1500000");
    const before = await usage();
    const nowSec = clock.nowMs() / 1000;
    const hour = nowSec - (nowSec % HOUR_SEC);
    expect({ ...before, data: [] }).toEqual({
      from: hour - 24 * HOUR_SEC,
      to: nowSec,
      interval: "hour",
      group_by: "none",
      data: [],
    });
    expect(before.data).toEqual([
      {
        time: hour,
        group: null,
        requests: 1,
        failed: 0,
        input_tokens: 10,
        output_tokens: 4,
        cache_read_tokens: 0,
        images: 0,
        seconds: 0,
        credit,
        cost: 1.5,
        credit_with_cost: credit,
        latency_ms: { p50: 0, p95: 0, p99: 0 },
        first_byte_ms: { p50: 0, p95: 0, p99: 0 },
      },
    ]);
    expect(await mark()).toBe(0n);
    await untilRolledUp();
    expect((await usage()).data).toEqual(before.data);
  });

  test("tells how many requests took how long, where that is asked for", async () => {
    bank.double.handle(async () => {
      await clock.advance(300);
      return chatAnswer();
    });
    await ask();
    await ask();
    expect((await usage("?figures=requests,latency_spread")).data).toMatchObject([
      { requests: 2, latency_spread: [{ below_ms: 512, requests: 2 }] },
    ]);
    expect((await usage("?figures=latency_spread&group_by=model&interval=all")).data).toMatchObject([
      { group: BOTH, latency_spread: [{ below_ms: 512, requests: 2 }] },
    ]);
  });

  test("has the figures that are asked for, and no others, as it has them among all", async () => {
    await ask();
    for (const counted of [async () => undefined, untilRolledUp]) {
      await counted();
      for (const by of ["none", "model", "key"]) {
        const query = `?interval=all&group_by=${by}`;
        const [row] = (await usage(query)).data as Json[];
        const { time, group, name, ...figures } = row;
        expect(Object.keys(figures)).toHaveLength(12);
        const told = { time, group, ...(by === "key" ? { name } : {}) };
        for (const figure of Object.keys(figures)) {
          const [alone] = (await usage(`${query}&figures=${figure}`)).data;
          expect(alone).toEqual({ ...told, [figure]: figures[figure] });
        }
        const { data } = await usage(`${query}&figures=latency_ms,credit,failed&top=3`);
        const { credit, failed, latency_ms } = figures;
        expect(data).toEqual([{ ...told, failed, credit, latency_ms }]);
      }
    }
  });

  test("is told by every name, and for one of each", async () => {
    await ask();
    await ask(UNIT);
    bank.double.handle(() => jsonAnswer(500, { error: { message: "no" } }));
    await ask();
    const { accountId, keyId } = bank.gateway;
    const groups = async (by: string, filter = "") =>
      (await usage(`?interval=all&group_by=${by}${filter}`)).data.map((row: Json) => [
        row.group,
        row.requests,
        row.failed,
      ]);
    expect(await groups("model")).toEqual([
      [BOTH, 2, 1],
      [UNIT, 1, 0],
    ]);
    expect(await groups("provider")).toEqual([["bank", 3, 1]]);
    expect(await groups("route")).toEqual([
      [`${BOTH}@bank`, 2, 1],
      [`${UNIT}@bank`, 1, 0],
    ]);
    expect(await groups("account")).toEqual([[accountId, 3, 1]]);
    expect(await groups("key")).toEqual([[keyId, 3, 1]]);
    const names = async (by: string) =>
      (await usage(`?interval=all&group_by=${by}`)).data.map(({ name }: Json) => name);
    const nameOf = async (path: string) => (await bank.gateway.admin("GET", path)).json.name;
    expect(await names("account")).toEqual([await nameOf(`/accounts/${accountId}`)]);
    expect(await names("key")).toEqual([await nameOf(`/keys/${keyId}`)]);
    expect(await names("provider")).toEqual([undefined]);
    expect(await groups("outcome")).toEqual([
      ["completed", 2, 0],
      ["upstream_error", 1, 1],
    ]);
    const filter = `&account_id=${accountId}&key_id=${keyId}&model=${BOTH}&provider=bank&outcome=completed`;
    expect(await groups("none", filter)).toEqual([[null, 1, 0]]);
    expect(await groups("none", "&outcome=cancelled")).toEqual([]);
  });

  test("tells the margin of each route by its name, of what its cost is known for", async () => {
    const credit = { [BOTH]: await ask(), [UNIT]: (await ask(UNIT)) + (await ask(UNIT)) };
    const set = (cost: string, where: string) =>
      executeAt(bank.place.place, `update requests set cost = ${cost} where ${where}`);
    // Once a read tells of the requests, the table has their rows.
    expect((await usage("?interval=all")).data).toMatchObject([{ requests: 3 }]);
    await set("3000000", `model = '${BOTH}'`);
    await set("1000000", `model = '${UNIT}' and seq = (select max(seq) from requests)`);
    const figures = "figures=credit,credit_with_cost,cost";
    const routes: readonly Json[] = (await usage(`?interval=all&group_by=route&${figures}`)).data;
    const margins = routes.map(({ group, credit_with_cost, cost }) => [group, credit_with_cost - cost]);
    expect(margins).toEqual([
      [`${BOTH}@bank`, credit[BOTH] - 3],
      // The other request of the route counts for nothing: nobody knows what it cost.
      [`${UNIT}@bank`, credit[UNIT] / 2 - 1],
    ]);
    expect(routes.map((route) => route.credit)).toEqual([credit[BOTH], credit[UNIT]]);
  });

  test("tells the groups that were charged the most, and these first", async () => {
    await ask(BOTH);
    bank.double.handle(() => chatAnswer({ words: ["a"], usage: usageOf(0, 8) }));
    for (let i = 0; i < 3; i += 1) await ask(UNIT);
    const all: readonly Json[] = (await usage("?interval=all&group_by=model")).data;
    expect(all.map(({ group }) => group)).toEqual([BOTH, UNIT]);
    expect(all[1]?.credit).toBeGreaterThan(all[0]?.credit);
    const top = async (most: number) => (await usage(`?interval=all&group_by=model&top=${most}`)).data;
    expect(await top(1)).toEqual(all.slice(1));
    expect(await top(1000)).toEqual(all.toReversed());
  });

  test("refuses what is no filter, and says which there are", async () => {
    const refused: readonly (readonly [query: string, param: string, told: string])[] = [
      ["interval=month", "interval", "hour, day, week, all"],
      ["group_by=user", "group_by", "none, model, key"],
      ["model=no/such", "model", "no model"],
      ["provider=nobody", "provider", "bank"],
      // A name that only old rows have is known as well.
      ["provider=nobody", "provider", "and those of earlier requests."],
      ["account_id=acct_no", "account_id", "no account"],
      ["key_id=key_no", "key_id", "no key"],
      ["outcome=fine", "outcome", "completed"],
      ["from=yesterday", "from", "Unix time"],
      ["from=1000000000", "interval", "100 days"],
      ["interval=all&top=0", "top", "1 to 1000"],
      ["interval=day&top=5", "top", "interval=all"],
      ["figures=", "figures", "requests, failed"],
      ["figures=credit,%20cost", "figures", "latency_spread"],
      ["figures=price", "figures", "input_tokens"],
      ["user=me", "user", "from, to, interval"],
    ];
    for (const [query, param, told] of refused) {
      const { status, json } = await bank.gateway.admin("GET", `/usage?${query}`);
      expect([query, status, json.error.param]).toEqual([query, 400, param]);
      expect(json.error.message).toContain(told);
    }
  });
});
