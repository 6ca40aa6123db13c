import { expect, test } from "bun:test";
import { countTurns } from "../../../test/gateway/turns.ts";
import { createRegistry } from "../../core/metrics/registry.ts";
import { PRICE_BUCKETS, type PriceBucket } from "../../core/money/price.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { type CountedRequest, createMeter } from "./meter.ts";
import { createMetricsText } from "./metrics-text.ts";

const REQUEST: CountedRequest = {
  endpoint: "/chat/:id",
  model: "m",
  provider: "p",
  outcome: "completed",
  durationMs: 100,
  ownMs: undefined,
  firstContentMs: undefined,
  attempts: [],
  spent: undefined,
};

/** Micro-credits for one of each bucket; NaN where there is no price. */
function ratesOf(prices: Partial<Record<PriceBucket, number>>): readonly number[] {
  return PRICE_BUCKETS.map((bucket) => prices[bucket] ?? Number.NaN);
}

function open() {
  const registry = createRegistry();
  const meter = createMeter({
    registry,
    nowMs: () => 0,
    endpoints: new Map([["/chat/:id", "/chat/{id}"]]),
    isModel: (id) => id === "m",
    providerId: (name) => ({ p: "p", q: "q", "route:p": "p" })[name],
  });
  const text = createMetricsText(registry);
  /** The samples of a family; of a histogram its count. */
  const samples = async (name: string): Promise<string[]> =>
    (await text()).split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return { meter, text, samples };
}

test("labels are what the table, the catalogue and the providers know; all else is other, and nothing is none", async () => {
  const { meter, samples } = open();
  meter.ended(REQUEST);
  meter.ended({ ...REQUEST, endpoint: "/admin.php", outcome: "x", provider: "evil", model: "evil" });
  meter.ended({ ...REQUEST, endpoint: undefined, model: undefined, provider: undefined });
  expect(await samples("switchyard_requests_total")).toEqual([
    'switchyard_requests_total{endpoint="/chat/{id}",model="m",provider="p",outcome="completed"} 1',
    'switchyard_requests_total{endpoint="other",model="other",provider="other",outcome="other"} 1',
    'switchyard_requests_total{endpoint="other",model="none",provider="none",outcome="completed"} 1',
  ]);
});

test("10,000 made-up paths, models, providers, outcomes and statuses add no more series than one of each", async () => {
  const { meter, text } = open();
  const count = (i: string): void =>
    meter.ended({
      ...REQUEST,
      endpoint: `/path${i}`,
      model: `model${i}`,
      provider: `provider${i}`,
      outcome: `outcome${i}`,
      ownMs: 1,
      firstContentMs: 1,
      attempts: [{ provider: `provider${i}`, status: 1_000 + Number(i) }],
      spent: { usage: { ...NO_USAGE, input: 1 }, charge: 1n, rates: ratesOf({ input: 1 }) },
    });
  count("0");
  const before = (await text()).split("\n").length;
  for (let i = 1; i <= 10_000; i += 1) count(`${i}`);
  expect((await text()).split("\n").length).toBe(before);
});

const USAGE = { ...NO_USAGE, input: 7, cacheRead: 11, reasoning: 3, images: 2, webSearches: 1 };
const RATES = ratesOf({ input: 2_001, cache_read: 0, reasoning: 9_999, image: 10_000, web_search: 36_000 });

test("tokens are counted by bucket, units by theirs, and the credits of each to the last digit", async () => {
  const { meter, samples } = open();
  const spent = { usage: USAGE, charge: 100_004n, rates: RATES };
  for (let i = 0; i < 10_000; i += 1) meter.ended({ ...REQUEST, spent });
  expect(await samples("switchyard_tokens_total")).toEqual([
    'switchyard_tokens_total{model="m",provider="p",bucket="input"} 70000',
    'switchyard_tokens_total{model="m",provider="p",bucket="cache_read"} 110000',
    'switchyard_tokens_total{model="m",provider="p",bucket="reasoning"} 30000',
  ]);
  expect(await samples("switchyard_units_total")).toEqual([
    'switchyard_units_total{model="m",provider="p",unit="image"} 20000',
    'switchyard_units_total{model="m",provider="p",unit="web_search"} 10000',
  ]);
  expect(await samples("switchyard_credits_total")).toEqual([
    'switchyard_credits_total{model="m",provider="p",bucket="input"} 140.07',
    'switchyard_credits_total{model="m",provider="p",bucket="cache_read"} 0',
    'switchyard_credits_total{model="m",provider="p",bucket="reasoning"} 299.97',
    'switchyard_credits_total{model="m",provider="p",bucket="image"} 200',
    'switchyard_credits_total{model="m",provider="p",bucket="web_search"} 360',
  ]);
});

test("credits of a charge that is less than the usage comes to are those of its first buckets", async () => {
  const { meter, samples } = open();
  meter.ended({ ...REQUEST, spent: { usage: USAGE, charge: 14_007n + 29_997n + 5n, rates: RATES } });
  expect((await samples("switchyard_credits_total")).map((line) => line.replace(/.*bucket=/, ""))).toEqual([
    '"input"} 0.014007',
    '"cache_read"} 0',
    '"reasoning"} 0.029997',
    '"image"} 0.000005',
    '"web_search"} 0',
  ]);
});

test("attempts are counted at the provider that was asked, by its status", async () => {
  const { meter, samples } = open();
  const attempts = [
    { provider: "q", status: 429 },
    { provider: "route:p", status: 418 },
    { provider: "p", status: null },
    { provider: "p", status: 524 },
  ];
  meter.ended({ ...REQUEST, attempts });
  expect(await samples("switchyard_attempts_total")).toEqual([
    'switchyard_attempts_total{provider="q",result="429"} 1',
    'switchyard_attempts_total{provider="p",result="other"} 1',
    'switchyard_attempts_total{provider="p",result="no_answer"} 1',
    'switchyard_attempts_total{provider="p",result="524"} 1',
  ]);
});

test("the statuses that providers are known to answer with are told apart, and no others", async () => {
  const { meter, samples } = open();
  const known = [
    200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524,
    525, 526, 529, 530,
  ];
  const others = [199, 201, 302, 405, 418, 431, 499, 501, 505, 519, 527, 528, 531, 599];
  meter.ended({ ...REQUEST, attempts: [...known, ...others].map((status) => ({ provider: "p", status })) });
  expect(await samples("switchyard_attempts_total")).toEqual([
    ...known.map((status) => `switchyard_attempts_total{provider="p",result="${status}"} 1`),
    `switchyard_attempts_total{provider="p",result="other"} ${others.length}`,
  ]);
});

test("who asks for the text while it is written gets the same one, and the event loop has turns meanwhile", async () => {
  const { meter, text } = open();
  meter.ended(REQUEST);
  const first = text();
  expect(text()).toBe(first);
  const { turns } = await countTurns(() => first);
  expect(turns).toBeGreaterThan(5);
  expect(text()).not.toBe(first);
});
