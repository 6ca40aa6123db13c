import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { loadRecordings, type Recording, recordingsFor } from "../../../test/upstream/recordings.ts";
import { loadModelFiles } from "../../catalog/catalog.ts";
import type { Model } from "../../core/model.ts";
import { generateContentCounter } from "../../protocols/generate-content/count.ts";
import { messagesCounter } from "../../protocols/messages/count.ts";
import type { Demand, TokenCounter } from "../../protocols/protocol.ts";
import { ownCount } from "./own-count.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const models = loadModelFiles(join(import.meta.dir, "../../../models"));
const modelNamed = (id: string): Model => models.find((model) => model.id === id) as Model;
const HAIKU = modelNamed("anthropic/claude-haiku-4.5");
const OPUS = modelNamed("anthropic/claude-opus-5.5");
const FLASH = modelNamed("google/gemini-3.8-flash");

const PLAIN: Demand = {
  textTokens: { expected: 100, ceiling: 300 },
  media: {},
  images: [],
  mediaBytes: 0,
  choices: 1,
  webSearches: 0,
  buckets: [],
};

describe("our own count", () => {
  test("is above what is expected of the text, and never above its bound", () => {
    expect(ownCount(HAIKU, PLAIN)).toEqual({ total: 131, byKind: { text: 131 } });
    const bounded = { ...PLAIN, textTokens: { expected: 100, ceiling: 110 } };
    expect(ownCount(HAIKU, bounded).total).toBe(110);
  });

  test("is never nothing", () => {
    const empty = { ...PLAIN, textTokens: { expected: 1, ceiling: 96 } };
    expect(ownCount(HAIKU, empty).total).toBeGreaterThan(0);
  });

  test("has images by the model's formula, and those behind a link at its most", () => {
    const images = [{ size: { width: 280, height: 280 } }, {}];
    const demand = { ...PLAIN, media: { image: 2 }, images };
    expect(ownCount(HAIKU, demand).byKind).toEqual({ text: 131, image: 116 + 1_600 });
  });

  test("has other media by their bytes, at the least a page or some seconds, at the most what the model takes", () => {
    const counted = (media: Demand["media"], mediaBytes: number) =>
      ownCount(FLASH, { ...PLAIN, media, mediaBytes }).byKind;
    expect(counted({ pdf: 1 }, 0)).toEqual({ text: 131, pdf: 2_700 });
    expect(counted({ pdf: 1 }, 500_000)).toEqual({ text: 131, pdf: 10_000 });
    expect(counted({ audio: 1, video: 1 }, 1_000_000)).toEqual({ text: 131, audio: 10_000, video: 10_000 });
    expect(counted({ pdf: 1 }, 1e12).pdf).toBe(FLASH.mediaTokenCeiling.pdf);
  });
});

const isAvailable = recordingsFor("calibration of our own count");

function eventsOf(body: string): Json[] {
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
}

/** Input as Anthropic told it, cached tokens included. */
function messagesInput({ body }: Recording["response"]): number | undefined {
  const told =
    typeof body === "string" ? eventsOf(body).map((event) => event.message?.usage) : [(body as Json)?.usage];
  const usage = told.find((found) => found !== undefined && found !== null);
  if (typeof usage?.input_tokens !== "number") return undefined;
  return usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
}

function generateInput({ body }: Recording["response"]): number | undefined {
  if (typeof body !== "string") return (body as Json)?.usageMetadata?.promptTokenCount;
  return eventsOf(body).findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata.promptTokenCount;
}

/** Recorded requests of one format, with what was counted for them. */
interface Calibration {
  readonly counter: TokenCounter;
  readonly recordings: () => readonly Recording[];
  readonly told: (response: Recording["response"]) => number | undefined;
  readonly modelOf: (name: string) => Model;
  /** What the provider adds while it answers is not in a count. */
  readonly leftOut: (body: Json) => boolean;
}

const CALIBRATIONS: readonly Calibration[] = [
  {
    counter: messagesCounter,
    recordings: () =>
      ["messages", "cross-protocol"]
        .flatMap(loadRecordings)
        .filter(({ protocol }) => protocol === "messages"),
    told: messagesInput,
    modelOf: (name) => (/opus-4-[78]|opus-5|sonnet-5|fable/.test(name) ? OPUS : HAIKU),
    leftOut: (body) =>
      body?.mcp_servers !== undefined || JSON.stringify(body?.tools ?? []).includes('"type":"web_'),
  },
  {
    counter: generateContentCounter,
    recordings: () =>
      ["generate-content", "cross-protocol"]
        .flatMap(loadRecordings)
        .filter(({ request }) => /enerateContent/.test(request.url)),
    told: generateInput,
    modelOf: () => FLASH,
    leftOut: (body) =>
      body?.cachedContent !== undefined || /earch|ontext|xecution/.test(JSON.stringify(body?.tools ?? "")),
  },
];

/** Our count beside the recorded one; `undefined` for what cannot be compared. */
function compared(calibration: Calibration, recording: Recording) {
  const { counter, told, modelOf, leftOut } = calibration;
  const { request, response, model, path } = recording;
  const counted = response.status === 200 ? told(response) : undefined;
  if (counted === undefined || typeof request.body !== "object" || request.body === null) return undefined;
  if (leftOut(request.body)) return undefined;
  try {
    const wire = wireRequest(request.body, { address: { model: "google/x", stream: false } });
    const ours = ownCount(modelOf(model), counter.readRequest(wire).demand).total;
    return { path, counted, ratio: ours / counted };
  } catch {
    return undefined;
  }
}

describe.if(isAvailable)("our own count beside recorded ones", () => {
  for (const calibration of CALIBRATIONS) {
    const { id } = calibration.counter.protocol;
    test(`of ${id} is too low for one in ten at the most, and there by a quarter at the most`, () => {
      const rows = calibration
        .recordings()
        .flatMap((recording) => compared(calibration, recording) ?? [])
        .toSorted((a, b) => a.ratio - b.ratio);
      const at = (part: number): string => rows[Math.floor((rows.length - 1) * part)]?.ratio.toFixed(2) ?? "";
      const low = rows.filter(({ ratio }) => ratio < 1);
      console.log(
        `own count of ${id}: ${rows.length} recordings, ours/recorded least ${at(0)}, median ${at(0.5)}, nine of ten below ${at(0.9)}; ${low.length} too low`,
      );
      expect(rows.length).toBeGreaterThan(150);
      expect(low.length).toBeLessThanOrEqual(rows.length / 10);
      // A handful of tokens apart, which is nothing to a client.
      expect(low.filter(({ ratio, counted }) => ratio < 0.75 && counted > 100)).toEqual([]);
      expect(Number(at(0.5))).toBeLessThan(2);
    });
  }

  test("is above each count that a provider's own counter gave", () => {
    const all = loadRecordings("count-tokens");
    expect(all.length).toBeGreaterThan(8);
    for (const { path, provider, request, response } of all) {
      const [counter, model] =
        provider === "anthropic"
          ? ([messagesCounter, HAIKU] as const)
          : ([generateContentCounter, FLASH] as const);
      const wire = wireRequest(request.body as object, { address: { model: "google/x", stream: false } });
      const ours = ownCount(model, counter.readRequest(wire).demand).total;
      const counted = counter.countIn(response.body as Json) as number;
      expect([path, ours >= counted]).toEqual([path, true]);
      // Short texts are mostly what stands around them.
      expect([path, ours <= counted * 2 + 70]).toEqual([path, true]);
    }
  });
});
