import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { loadRecordings, recordingsFor } from "../../../test/upstream/recordings.ts";
import { loadModelFiles } from "../../catalog/catalog.ts";
import type { Model } from "../../core/model.ts";
import type { Demand } from "../../protocols/protocol.ts";
import { readRequest } from "../../protocols/messages/request.ts";
import { inputReads, mostInput } from "./admit-input.ts";
import { mediaTokens } from "../media-tokens.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const PLAIN: Demand = {
  textTokens: { expected: 100, ceiling: 200 },
  media: {},
  images: [],
  mediaBytes: 0,
  choices: 1,
  webSearches: 0,
  buckets: [],
  outputModalities: ["text"],
};
const model = (totalContext: number | null): Model => ({ totalContext }) as Model;

describe("the most input of a request", () => {
  const cases: readonly { name: string; demand?: Partial<Demand>; context?: number; most: number }[] = [
    { name: "is what was sent", most: 500 },
    { name: "is no more than the context", context: 450, most: 450 },
    {
      name: "with a search is read twice, and what was found once",
      demand: { rereads: 1 },
      most: 21_000,
    },
    { name: "grows by each search's own findings and all before", demand: { rereads: 3 }, most: 122_000 },
    {
      name: "is read once where what was found is not billed as input",
      demand: { webSearches: 10 },
      most: 500,
    },
    {
      name: "is the context once for each reading",
      demand: { rereads: 9 },
      context: 1_000,
      most: 10_000,
    },
    {
      name: "has as much of a page as the request allows",
      demand: { rereads: 2, pageTokens: 90_000 },
      most: 271_500,
    },
    {
      name: "is a number, however often may be searched",
      demand: { rereads: 1e305 },
      context: 1_000_000,
      most: Number.MAX_SAFE_INTEGER,
    },
  ];
  for (const { name, demand, context = null, most } of cases) {
    test(name, () => expect(mostInput(model(context), { ...PLAIN, ...demand }, 300)).toBe(most));
  }

  test("is read once where the provider looks nothing up", () => {
    expect([inputReads(PLAIN), inputReads({ ...PLAIN, webSearches: 2, rereads: 5 })]).toEqual([1, 6]);
  });
});

const isAvailable = recordingsFor("calibration of messages input");

function usageOf(body: unknown): Json {
  if (typeof body !== "string") return (body as Json)?.usage;
  const events = body
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): Json => JSON.parse(line.slice(6)));
  const told = events.map((event) => event.message?.usage ?? event.usage ?? {});
  return Object.assign(
    {},
    ...told.map((usage) => JSON.parse(JSON.stringify(usage), (_, v) => v ?? undefined)),
  );
}

/** Input that the provider adds by itself: no bound can be had from the request. */
const ADDED = (body: Json): boolean => body?.mcp_servers !== undefined;

describe.if(isAvailable)("input of messages beside recorded usage", () => {
  const models = loadModelFiles(join(import.meta.dir, "../../../models"));
  const byName = (id: string): Model => models.find((found) => found.id === `anthropic/${id}`) as Model;

  test("the most is never below what Anthropic counted, images, documents and searches included", () => {
    const known: { path: string; counted: number; expected: number; most: number; searches: number }[] = [];
    let unread = 0;
    for (const { path, protocol, request, response } of ["messages", "cross-protocol"].flatMap(
      loadRecordings,
    )) {
      const usage = response.status === 200 && protocol === "messages" ? usageOf(response.body) : undefined;
      if (typeof usage?.input_tokens !== "number" || ADDED(request.body)) continue;
      let demand: Demand;
      try {
        ({ demand } = readRequest(wireRequest(request.body as object)));
      } catch {
        unread += 1;
        continue;
      }
      const large = /opus-4-[78]|opus-5|sonnet-5|fable/.test(String((request.body as Json).model));
      const like = byName(large ? "claude-opus-5.5" : "claude-haiku-4.5");
      const media = mediaTokens(like, demand);
      known.push({
        path,
        counted:
          usage.input_tokens +
          (usage.cache_read_input_tokens ?? 0) +
          (usage.cache_creation_input_tokens ?? 0),
        expected: demand.textTokens.expected + media.expected,
        most: mostInput(like, demand, media.ceiling),
        searches: demand.webSearches,
      });
    }
    const ratios = known
      .filter(({ searches }) => searches === 0)
      .map(({ expected, counted }) => expected / counted)
      .toSorted((a, b) => a - b);
    const median = ratios[Math.floor(ratios.length / 2)] as number;
    const least = Math.min(...known.map(({ most, counted }) => most / counted));
    console.log(
      `messages: ${known.length} recordings, expected/recorded median ${median.toFixed(2)}, most/recorded least ${least.toFixed(2)}; ${unread} without a readable request`,
    );
    expect(known.length).toBeGreaterThan(150);
    expect(known.filter(({ most, counted }) => most < counted)).toEqual([]);
    expect(median).toBeGreaterThan(0.5);
    expect(median).toBeLessThan(1.5);
  });
});
