import { expect, test } from "bun:test";
import { quantiles } from "./histogram.ts";
import { addMeasures, addRequest, type CountedRow, namesOf, noMeasures, timeOf } from "./measures.ts";

const ROW: CountedRow = {
  seq: 1n,
  model: "m",
  provider: "p",
  account_id: "a",
  key_id: "k",
  outcome: "completed",
  charge: 7n,
  cost: 5n,
  usage: '{"input":3,"cacheRead":10,"output":4}',
  admitted_at_ms: 1_000n,
  first_byte_at_ms: 1_100n,
  ended_at_ms: 3_000n,
  settled_at_ms: 3_005n,
};

const of = (...rows: readonly Partial<CountedRow>[]) => {
  const sum = noMeasures();
  for (const row of rows) addRequest(sum, { ...ROW, ...row });
  return sum;
};

test("a request counts its tokens, its charge, its cost and its times", () => {
  const { latency, firstByte, ...counts } = of({});
  expect(counts).toEqual({
    requests: 1,
    failed: 0,
    inputTokens: 13,
    outputTokens: 4,
    cacheReadTokens: 10,
    images: 0,
    seconds: 0,
    credit: 7n,
    cost: 5n,
    creditWithCost: 7n,
  });
  expect(
    [quantiles(latency, [1]), quantiles(firstByte, [1])].flat().map((ms) => Math.round(ms! / 100)),
  ).toEqual([20, 1]);
});

test("a request has failed unless it completed, was cancelled, or its client had gone", () => {
  const outcomes = ["completed", "cancelled", "client_gone", "upstream_error", "refused"];
  expect(outcomes.map((outcome) => of({ outcome }).failed)).toEqual([0, 0, 0, 1, 1]);
  const timed = (row: Partial<CountedRow>) => {
    const { latency, firstByte } = of(row);
    return [latency.length > 0, firstByte.length > 0];
  };
  expect(timed({})).toEqual([true, true]);
  expect(timed({ outcome: "client_gone" })).toEqual([false, true]);
  expect(timed({ first_byte_at_ms: null })).toEqual([true, false]);
});

test("a request whose cost is not known is no part of what was charged where it is", () => {
  const { credit, cost, creditWithCost } = of({ cost: null }, { cost: 0n, charge: 2n });
  expect([credit, cost, creditWithCost]).toEqual([9n, 0n, 2n]);
});

test("what is added up is as if its requests had been counted together", () => {
  const one = { usage: '{"images":2,"seconds":6}', outcome: "refused", cost: null };
  const sum = of({});
  addMeasures(sum, of(one, {}));
  expect(sum).toEqual(of({}, one, {}));
  expect(of(one)).toMatchObject({ images: 2, seconds: 6, inputTokens: 0, outputTokens: 0 });
  expect(of({ usage: null })).toMatchObject({ requests: 1, inputTokens: 0 });
});

test("a request is told apart by its names, and belongs to when it was settled", () => {
  const names = { model: "m", provider: "p", account: "a", key: "k", outcome: "completed" };
  expect(namesOf(ROW)).toEqual(names);
  expect(namesOf({ ...ROW, provider: null })).toEqual({ ...names, provider: "" });
  expect(timeOf(ROW)).toBe(3_005);
});
