import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { executeAt } from "../ledger/books.ts";
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
    for (const query of ["id", "account_id", "key_id", "model", "provider", "outcome"].map(
      (of) => `?${of}=none`,
    ))
      expect(await count(query)).toBe(0);
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
