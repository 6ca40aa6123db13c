import { expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../../test/protocols/answer-context.ts";
import { seededRandom } from "../../../test/upstream/cuts.ts";
import { sse } from "../../../test/upstream/sse-bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import { openStream } from "./relay.ts";

// Streams made up at random, of everything that a chunk may have or lack, and what holds for all of them.

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

const RUNS = 3_000;
const context = { ...ANSWER_CONTEXT, model: "google/x", padding: ["padding"], expectedInput: 3 };

interface Dice {
  chance(of: number): boolean;
  one<Item>(items: readonly Item[]): Item;
}

function dice(seed: number): Dice {
  const random = seededRandom(seed);
  return {
    chance: (of) => random() < of,
    one: (items) => items[Math.floor(random() * items.length)] as (typeof items)[number],
  };
}

let names = 0;

function randomPart({ one }: Dice): object {
  names += 1;
  return one([
    { text: "" },
    { text: `t${names}` },
    { text: `ü\\"\n${names}`, thought: true },
    { thoughtSignature: `S${names}=`, text: "" },
    { functionCall: { name: `f${names}`, args: { "a}": [1, { b: "]" }] } }, thoughtSignature: "AA==" },
    { inlineData: { mimeType: "image/png", data: `D${names}` } },
    {},
  ]);
}

function randomCandidate(roll: Dice): object {
  const fields: [string, unknown][] = [];
  if (roll.chance(0.85)) {
    const parts = roll.one([undefined, null, [], [randomPart(roll)], [randomPart(roll), randomPart(roll)]]);
    const content = {
      ...(roll.chance(0.8) ? { role: "model" } : {}),
      ...(parts === undefined ? {} : { parts }),
    };
    fields.push(["content", roll.chance(0.05) ? null : content]);
  }
  if (roll.chance(0.3))
    fields.push(["finishReason", roll.one(["STOP", "MAX_TOKENS", null, "FINISH_REASON_UNSPECIFIED", 1])]);
  if (roll.chance(0.5)) fields.push(["index", 0]);
  if (roll.chance(0.1)) fields.push(["groundingMetadata", { webSearchQueries: [`q${(names += 1)}`] }]);
  if (roll.chance(0.1)) fields.push(["finishMessage", "why"]);
  return shuffled(fields, roll);
}

function randomChunk(roll: Dice): object {
  const fields: [string, unknown][] = [];
  if (roll.chance(0.9)) fields.push(["candidates", roll.chance(0.05) ? [] : [randomCandidate(roll)]]);
  if (roll.chance(0.5))
    fields.push([
      "usageMetadata",
      { promptTokenCount: 3, candidatesTokenCount: (names += 1), totalTokenCount: names + 3 },
    ]);
  if (roll.chance(0.1)) fields.push(["promptFeedback", { safetyRatings: [] }]);
  if (roll.chance(0.1)) fields.push(["credit", 99]);
  if (roll.chance(0.1)) fields.push(["padding", "xxx"]);
  if (roll.chance(0.5)) fields.push(["modelVersion", "m"]);
  return shuffled(fields, roll);
}

function shuffled(fields: [string, unknown][], roll: Dice): object {
  const left = [...fields];
  const order: [string, unknown][] = [];
  while (left.length > 0) order.push(...left.splice(left.indexOf(roll.one(left)), 1));
  return Object.fromEntries(order);
}

/** The parts that say something, in the order they came. */
function told(chunks: readonly Json[]): string[] {
  return chunks
    .flatMap(({ candidates }) => candidates ?? [])
    .flatMap(({ content }: Json) => content?.parts ?? [])
    .filter((part: Json) => Object.keys(part).length > 0 && JSON.stringify(part) !== '{"text":""}')
    .map((part: Json) => JSON.stringify(part));
}

test("nothing that was said is lost or made up, every chunk has parts, and it ends once or with an error", () => {
  let whole = 0;
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const roll = dice(seed);
    const chunks = Array.from({ length: 1 + Math.floor(seed % 6) }, () => randomChunk(roll));
    const stream = openStream(context);
    const decoder = new TextDecoder();
    let text = decoder.decode(stream.push(sse(chunks as Record<string, unknown>[])));
    text += decoder.decode(stream.end(false));
    expect([seed, stream.failure]).toEqual([seed, undefined]);
    const metered = stream.metered();
    const end = stream.isComplete
      ? stream.tail(metered, 1_000_000n)
      : stream.failureTail(new GatewayError("upstream_error", "Cut."), metered, 1_000_000n);
    text += decoder.decode(end);
    const events: Json[] = text
      .slice(0, -2)
      .split("\n\n")
      .map((event) => JSON.parse(event.replace(/^data: /, "")));
    const answers = events.filter(({ error }) => error === undefined);
    expect([seed, told(answers)]).toEqual([seed, told(chunks)]);
    for (const { candidates } of answers) {
      const [{ content }] = candidates;
      expect([seed, content.role, content.parts.length > 0]).toEqual([seed, "model", true]);
      for (const part of content.parts) expect([seed, Object.keys(part).length > 0]).toEqual([seed, true]);
    }
    const finishes = answers.filter(({ candidates: [{ finishReason }] }) =>
      ["STOP", "MAX_TOKENS", 1].includes(finishReason),
    );
    expect([seed, finishes]).toEqual([seed, stream.isComplete ? [events.at(-1)] : []]);
    expect([seed, events.map(({ credit }) => credit).filter((credit) => credit !== undefined)]).toEqual([
      seed,
      [1],
    ]);
    expect([seed, text.includes("padding")]).toEqual([seed, false]);
    const usage = (chunks as Json[]).findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata;
    const counted = metered.flags.includes("estimated");
    if (stream.isComplete && usage !== undefined && !counted)
      expect([seed, events.at(-1).usageMetadata]).toEqual([seed, usage]);
    if (stream.isComplete) whole += 1;
  }
  expect(whole).toBeGreaterThan(RUNS / 4);
});
