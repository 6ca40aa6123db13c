import { expect, test } from "bun:test";
import { ownRequests } from "./agent-requests.ts";
import { withCounters } from "./calls.ts";
import { longestChain } from "./structure.ts";
import { createRequestReader, createStreamReader, WAYS } from "./ways.ts";

for (const way of WAYS) {
  test(`agents' requests are of the named sizes and are read: ${way.asked} to ${way.spoken}`, () => {
    const read = createRequestReader(way);
    for (const request of [true, false].flatMap((stream) => ownRequests(way.asked, way.modelId, stream))) {
      expect(request.body.length).toBe(request.kilobytes * 1_000);
      expect(read(request).length).toBeGreaterThan(request.body.length * 0.9);
    }
  });
}

test("a stream that is cut is not measured", () => {
  const [relay] = WAYS;
  expect(() => createStreamReader(relay!)([])).toThrow();
});

test("counters see functions, awaits and promises, and change nothing", async () => {
  const text = `
    const half = (x: number) => x / 2;
    async function all(xs: number[]) { return await Promise.all(xs.map(async (x) => half(await x))); }
    const result = all([2, 4]).then((xs) => xs.map((x) => ({ x })));`;
  const counted = withCounters({ path: "a.ts", text, isTest: false }, () => 0);
  const counts = [0, 0, 0, 0];
  Object.assign(globalThis, { __count: (kind: number) => void counts[kind]!++ });
  const source = new Bun.Transpiler({ loader: "ts" }).transformSync(counted);
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the text stands above
  const result: unknown = new Function(`${source}; return result;`)();
  expect(await result).toEqual([{ x: 1 }, { x: 2 }]);
  expect(counts).toEqual([5, 3, 3, 2]);
  Object.assign(globalThis, { __count: undefined });
});

test("the longest chain of imports is found, and a cycle is refused", () => {
  const graph = { a: ["b", "d"], b: ["c"], c: ["d"], d: [] };
  expect(longestChain(new Map(Object.entries(graph)))).toEqual(["a", "b", "c", "d"]);
  expect(() => longestChain(new Map([["a", ["a"]]]))).toThrow("a imports itself");
});
