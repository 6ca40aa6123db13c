import { afterAll, beforeAll, expect, test } from "bun:test";
import { PRICE_BUCKETS } from "../../src/core/money/price.ts";
import { signIn } from "../gateway/console-client.ts";
import { startGateway, type Json, type TestGateway } from "../gateway/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

test("the price lists are those of the models' pages", async () => {
  const { status, json } = await gateway.admin("GET", "/prices");
  expect(status).toBe(200);
  expect(json.data.length).toBeGreaterThan(0);
  for (const { unique_id, prices } of json.data as Json[]) {
    const page = await (await fetch(`${gateway.url}/docs/${unique_id}/llms.txt`)).text();
    const [, section = ""] = page.split("\n## Prices\n");
    // The first table of the section.
    const [table = ""] = section.trimStart().split("\n\n");
    const told = table.split("\n").flatMap((line) => {
      const [, what, when, usd] =
        /^\| ([^|]+) \| ([^|]+) \| ([\d.,]+) \| [\d.,]+ \| [^|]+ \|$/.exec(line) ?? [];
      return what === undefined ? [] : [[what, when, Number(usd?.replaceAll(",", ""))]];
    });
    const words = (rule: Json): string => {
      if (rule.conditions.length > 0) return rule.conditions.map((one: Json) => one.words).join(", ");
      return prices.filter(({ bucket }: Json) => bucket === rule.bucket).length > 1 ? "otherwise" : "always";
    };
    expect([unique_id, prices.map((rule: Json) => [rule.what, words(rule), rule.price])]).toEqual([
      unique_id,
      told,
    ]);
    for (const { bucket } of prices) expect(PRICE_BUCKETS).toContain(bucket);
  }
});

test("a developer sees those of the key's models alone", async () => {
  const { data } = (await gateway.admin("GET", "/prices")).json;
  const [first] = data as Json[];
  const id = (first.unique_id as string).slice(first.unique_id.indexOf("/") + 1);
  const issued = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "one model",
    models: [id],
  });
  const developer = await signIn(gateway, issued.json.key);
  const { json } = await developer.ask("GET", "/prices");
  expect(json.data.length).toBeGreaterThan(0);
  expect(json.data.filter(({ unique_id }: Json) => !unique_id.endsWith(`/${id}`))).toEqual([]);
  expect(json.data.length).toBeLessThan(data.length);
});
