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

test("what jobs cost stands on the models' pages, for those that make images or videos", async () => {
  const { data } = (await gateway.admin("GET", "/prices")).json;
  const made = (data as Json[]).filter(({ jobs }) => jobs !== null);
  expect(made.map(({ unique_id }) => unique_id)).toEqual(
    data.map(({ unique_id }: Json) => unique_id).filter((id: string) => /^(?:image|video)\//.test(id)),
  );
  expect(made.length).toBeGreaterThan(0);
  for (const { unique_id, jobs } of made) {
    const page = await (await fetch(`${gateway.url}/docs/${unique_id}/llms.txt`)).text();
    const prices = page.split("\n## Prices\n")[1]?.split("\n## ")[0] ?? "";
    expect(jobs.costs.length).toBeGreaterThan(0);
    for (const { parameters, with_video, credits } of jobs.costs as Json[]) {
      // The page's table is for jobs without a video among the references.
      if (with_video === true) continue;
      const shown = credits.toLocaleString("en-US", { maximumFractionDigits: 6 });
      const [row = ""] = Object.values<string>(parameters);
      const lines = prices.split("\n").filter((line) => line.includes(row) && line.includes(shown));
      expect([unique_id, parameters, lines.length > 0]).toEqual([unique_id, parameters, true]);
    }
  }
});
