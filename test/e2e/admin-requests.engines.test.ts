import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { executeAt } from "../ledger/books.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { type UpstreamDouble, startUpstreamDouble } from "../upstream/double.ts";

describeOnEngineOfSuite("GET /admin/v1/requests", (engine) => {
  let place: TestPlace;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  beforeEach(async () => {
    place = await engine.newPlace();
    double = await startUpstreamDouble();
    gateway = await startGateway({ openai: `${double.url}/v1`, environment: place.environment });
    const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
    double.handle(() => chatAnswer({ words: ["a"], usage }));
  });
  afterEach(async () => {
    await gateway.close();
    await double.close();
    await place.remove();
  });

  const ask = async (model = "openai/gpt-5.6-luna"): Promise<{ id: string; credit: number }> => {
    const response = await gateway.chat({ model, messages: [{ role: "user", content: "hi" }] });
    const { credit } = (await response.json()) as Json;
    return { id: response.headers.get("x-request-id") ?? "", credit };
  };
  const list = async (query = ""): Promise<Json> => (await gateway.admin("GET", `/requests${query}`)).json;

  test("shows each paid request by the id and with the credit that the client was told", async () => {
    const asked = await ask();
    const page = await list();
    expect(page.next).toBeNull();
    expect(page.data.length).toBe(1);
    const [row] = page.data;
    expect(row.id).toBe(asked.id);
    expect(row.credit).toBe(asked.credit);
    expect(row.outcome).toBe("completed");
    expect(row.account_id).toBe(gateway.accountId);
    expect(row.key_id).toBe(gateway.keyId);
    expect(row.usage).toEqual({ input: 11, output: 4 });
    expect(row.attempts.map((attempt: Json) => [attempt.provider, attempt.status])).toEqual([
      ["openai", 200],
    ]);
    const times = [row.admitted_at, row.held_at, row.first_byte_at, row.ended_at, row.settled_at];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test("shows what it cost the operator, to the last digit, and null where that is not known", async () => {
    const { id } = await ask();
    expect((await list(`?id=${id}`)).data[0].cost).toBeNull();
    for (const [micro, cost] of [
      ["1234567", 1.234567],
      ["0", 0],
    ] as const) {
      await executeAt(place.place, `update requests set cost = ${micro}`);
      expect((await list(`?id=${id}`)).data[0].cost).toBe(cost);
    }
  });

  test("gives the newest first, page by page, none twice and none missing", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.unshift((await ask()).id);
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: Json = await list(`?limit=2${next === "" ? "" : `&after=${next}`}`);
      seen.push(...page.data.map((row: Json) => row.id));
      next = page.next;
    }
    expect(seen).toEqual(ids);
  });

  test("can be asked for by id, account, key, model, provider and outcome", async () => {
    const first = await ask();
    await ask("openai/gpt-5.6-sol");
    const count = async (query: string): Promise<number> => (await list(query)).data.length;
    expect(await count(`?id=${first.id}`)).toBe(1);
    expect(await count(`?account_id=${gateway.accountId}`)).toBe(2);
    expect(await count(`?key_id=${gateway.keyId}&model=openai/gpt-5.6-sol`)).toBe(1);
    expect(await count("?provider=openai")).toBe(2);
    expect(await count("?outcome=completed")).toBe(2);
    expect(await count("?provider=xai&outcome=client_gone")).toBe(0);
    expect(await count("?id=none")).toBe(0);
  });

  test("is refused a filter that nothing has, by its name, with what there is", async () => {
    for (const [name, says] of [
      ["account_id", "no account of that id"],
      ["key_id", "no key of that id"],
      ["model", "no model of that id"],
      ["provider", "openai, "],
      ["outcome", "completed, "],
    ] as const) {
      const { status, json } = await gateway.admin("GET", `/requests?${name}=nothing`);
      expect([status, json.error.param]).toEqual([400, name]);
      expect(json.error.message).toContain(`${name} is "nothing"`);
      expect(json.error.message).toContain(says);
    }
  });

  test("knows models and providers that only old rows have", async () => {
    const { id } = await ask();
    const count = async (query: string): Promise<number> => (await list(query)).data.length;
    // What was answered is in the tables now.
    expect(await count("")).toBe(1);
    await executeAt(place.place, `update requests set model = 'gone/model', provider = 'gone'`);
    await executeAt(
      place.place,
      `insert into price_versions (version, model, rules, created_at_ms) values ('old', 'gone/model', '{}', 1)`,
    );
    expect(await count(`?model=gone/model&provider=gone&id=${id}`)).toBe(1);
  });

  test("can be asked for by the time of its settlement, to the millisecond", async () => {
    await gateway.close();
    const clock = createFakeClock(2_000);
    gateway = await startGateway({ openai: `${double.url}/v1`, environment: place.environment, clock });
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      ids.push((await ask()).id);
      clock.jump(1);
    }
    expect((await list()).data.length).toBe(3);
    const found = async (query: string): Promise<readonly string[]> =>
      (await list(query)).data.map(({ id }: Json) => id);
    const [first = "", second = "", third = ""] = ids;
    expect(await found("?from=2.001")).toEqual([third, second]);
    expect(await found("?to=2.001")).toEqual([first]);
    expect(await found("?from=2.001&to=2.002")).toEqual([second]);
    expect(await found("?from=3")).toEqual([]);
    expect(await found(`?from=2&limit=2`)).toEqual([third, second]);
    for (const query of ["?from=x", "?to=-1"])
      expect((await gateway.admin("GET", `/requests${query}`)).status).toBe(400);
  });

  test("shows one of them with its hold, its entries and the lines that its charge is made of", async () => {
    const { id, credit } = await ask();
    const { status, json } = await gateway.admin("GET", `/requests/${id}`);
    expect(status).toBe(200);
    const { lines, ledger, hold, task_id, ...row } = json;
    expect((await list(`?id=${id}`)).data).toEqual([row]);
    // GPT-5.6 Luna costs 0.2 and 1.2 USD per million tokens.
    expect(lines).toEqual([
      { bucket: "input", quantity: 11, price: 0.2, unit: "million_tokens", credit: 0.022 },
      { bucket: "output", quantity: 4, price: 1.2, unit: "million_tokens", credit: 0.048 },
    ]);
    expect(credit).toBe(0.07);
    expect(ledger).toEqual([
      {
        id: expect.stringMatching(/:settle$/),
        kind: "settle",
        amount: -0.07,
        balance_after: 999_999.93,
        request_id: id,
        reason: "completed",
        created_at: expect.any(Number),
      },
    ]);
    expect(hold).toEqual({
      amount: expect.any(Number),
      state: "settled",
      created_at: expect.any(Number),
      ended_at: row.settled_at,
    });
    expect(hold.amount).toBeGreaterThan(credit);
    expect(task_id).toBeNull();
    expect((await gateway.admin("GET", "/requests/req_none")).status).toBe(404);
  });

  test("shows of one that failed that nothing was charged", async () => {
    double.handle(() => jsonAnswer(400, { error: { message: "no", type: "invalid_request_error" } }));
    const response = await gateway.chat({
      model: "openai/gpt-5.6-luna",
      messages: [{ role: "user", content: "hi" }],
    });
    await gateway.settled();
    const { json } = await gateway.admin("GET", `/requests/${response.headers.get("x-request-id")}`);
    expect(json).toMatchObject({ credit: 0, lines: [], ledger: [], hold: { state: "voided" } });
  });

  test("a cursor, a limit or a text that cannot be is a 400, and a key is no admin token", async () => {
    for (const query of ["?after=x", "?limit=0", "?limit=1001", "?id=%00", "?provider=%00"])
      expect((await gateway.admin("GET", `/requests${query}`)).status).toBe(400);
    const response = await fetch(`${gateway.url}/admin/v1/requests`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    expect(response.status).toBe(401);
  });
});
