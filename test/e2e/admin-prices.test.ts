import { afterAll, beforeAll, expect, test } from "bun:test";
import { PRICE_BUCKETS } from "../../src/core/money/price.ts";
import { signIn } from "../gateway/console-client.ts";
import { startGateway, type Json, type TestGateway } from "../gateway/gateway.ts";
import { askImage, askVideo, imageBody, LINK, videoBody } from "../gateway/media-offer.ts";

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
    const [without = "", beside = ""] = prices.split("\nWith reference videos");
    for (const { parameters, with_video, least_credits, most_credits } of jobs.costs as Json[]) {
      const shown = (with_video === true ? [least_credits, most_credits] : [most_credits])
        .map((credits: number) => credits.toLocaleString("en-US", { maximumFractionDigits: 6 }))
        .join(" to ");
      const [row = ""] = Object.values<string>(parameters);
      const lines = (with_video === true ? beside : without).split("\n");
      const cells = lines.filter((line) => line.includes(row) && line.includes(shown));
      expect([unique_id, parameters, with_video, cells.length > 0]).toEqual([
        unique_id,
        parameters,
        with_video,
        true,
      ]);
    }
  }
});

/** What admission quotes for a row of `jobs`, in credits: the hold, and the charge where the provider counts nothing. */
function quoted(uniqueId: string, { parameters, with_video }: Json): { hold: number; uncounted: number } {
  const id = uniqueId.slice(uniqueId.indexOf("/") + 1);
  const videos = with_video === true ? { reference_videos: [LINK] } : {};
  const { amount, expectedCost } = uniqueId.startsWith("video/")
    ? askVideo(videoBody(id, { ...parameters, ...videos }))
    : askImage(imageBody(id, parameters));
  return { hold: Number(amount) / 1e6, uncounted: Number(expectedCost) / 1e6 };
}

/** Of counts of tokens a hold has this much room. */
const ROOM = 1.05;

test("what videos cost is what admission quotes, with reference videos and without", async () => {
  const { data } = (await gateway.admin("GET", "/prices")).json;
  const made = (data as Json[]).filter(({ unique_id }) => unique_id.startsWith("video/"));
  expect(made.length).toBeGreaterThan(0);
  for (const { unique_id, jobs } of made) {
    const withVideos = jobs.costs.map(({ with_video }: Json) => with_video);
    expect([unique_id, new Set(withVideos)]).toEqual([unique_id, new Set([false, true])]);
    for (const cost of jobs.costs) {
      const { hold, uncounted } = quoted(unique_id, cost);
      const room = jobs.is_about ? ROOM : 1;
      const told = { least: cost.least_credits, hold: Math.round(cost.most_credits * room) };
      expect({ unique_id, cost, ...told }).toEqual({
        unique_id,
        cost,
        least: uncounted,
        hold: Math.round(hold),
      });
    }
  }
});

test("what images cost is what admission quotes, but for what the model reads", async () => {
  const { data } = (await gateway.admin("GET", "/prices")).json;
  const made = (data as Json[]).filter(({ unique_id }) => unique_id.startsWith("image/"));
  expect(made.length).toBeGreaterThan(0);
  for (const { unique_id, jobs } of made) {
    const read = jobs.costs.map((cost: Json) => {
      const { hold, uncounted } = quoted(unique_id, cost);
      expect(cost.least_credits).toBeLessThanOrEqual(cost.most_credits);
      expect(hold).toBeGreaterThanOrEqual(cost.most_credits);
      return Math.round((uncounted - cost.most_credits) * 1e3) / 1e3;
    });
    // The request is the same but for its parameters, and so is what is read of it.
    expect([unique_id, new Set(read).size]).toEqual([unique_id, 1]);
    expect([unique_id, read[0] > 0]).toEqual([unique_id, jobs.beside !== null]);
  }
});
