import { afterAll, describe, expect, test } from "bun:test";
import { inputTokens, outputTokens, type TokenUsage } from "../../src/core/money/usage.ts";
import { ANSWER_CONTEXT } from "../protocols/answer-context.ts";
import { loadRecordings, type Recording, recordingsFor } from "../upstream/recordings.ts";
import { isEvidence } from "./cases.ts";
import { chatCutFormat } from "./chat/cut-format.ts";
import { foldRecorded } from "./chat/fold.ts";
import type { CutFormat } from "./cut-format.ts";
import { runStage } from "./cut-streams.ts";
import { formatOf } from "./formats.ts";
import { chunksOf } from "./generate/chunks.ts";
import { leavesOutputOut } from "./generate/format.ts";
import { generateCutFormat } from "./generate/cut-format.ts";
import { messagesCutFormat } from "./messages/cut-format.ts";
import { messagesEvents, streamedUsage } from "./messages/events.ts";
import { messagesInput } from "./messages/tokens.ts";
import { responsesCutFormat } from "./responses/cut-format.ts";
import { LAST, responsesEvents } from "./responses/events.ts";
import { responsesTokens } from "./responses/tokens.ts";
import { paddingOf, vendorOf } from "./vendors.ts";
import type { Json } from "./wire-json.ts";

// Each format counts in its own overlapping way. For every recorded answer the format's own sum is right. The gateway's
// buckets, which do not overlap, come to the same input and the same output.

const available = recordingsFor("sums of recorded usage");

/** What one format says of a usage: all input, all output, and the total that the provider told beside them. */
interface Sums {
  readonly input: number;
  readonly output: number;
  readonly total: number | undefined;
}

interface SummedFormat {
  readonly cut: CutFormat;
  usageOf(body: Json): Json;
  /** Whether an answer says something, and its usage counts none of it. */
  leavesOutputOut?(body: Json): boolean;
  sumsOf(usage: Json): Sums;
}

const FORMATS: readonly SummedFormat[] = [
  {
    cut: chatCutFormat,
    usageOf: (body) => foldRecorded(body, []).usage,
    sumsOf: ({ prompt_tokens: input, completion_tokens: output, total_tokens: total }) => ({
      input,
      output,
      total,
    }),
  },
  {
    cut: messagesCutFormat,
    usageOf: (body) => (typeof body === "string" ? streamedUsage(messagesEvents(body)) : body.usage),
    sumsOf: (usage) => ({ input: messagesInput(usage), output: usage.output_tokens, total: undefined }),
  },
  {
    cut: generateCutFormat,
    usageOf: (body) =>
      typeof body === "string"
        ? chunksOf(body).findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata
        : body.usageMetadata,
    leavesOutputOut,
    sumsOf: (usage) => ({
      input: (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0),
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
      total: usage.totalTokenCount,
    }),
  },
  {
    cut: responsesCutFormat,
    usageOf: (body) => endOf(body)?.usage,
    leavesOutputOut: (body) => responsesTokens(endOf(body)) === undefined,
    sumsOf: ({ input_tokens: input, output_tokens: output, total_tokens: total }) => ({
      input,
      output,
      total,
    }),
  },
];

function endOf(body: Json): Json {
  if (typeof body !== "string") return body;
  return responsesEvents(body).find(({ value }) => LAST.test(value.type))?.value.response;
}

/**
 * Vendors of chat completions whose total is more than prompt and completion, and what stands beside the two. The
 * gateway counts it where it belongs, so that its own sum is the total.
 */
const BESIDE: Readonly<Record<string, "input" | "output">> = { google: "output", mistral: "input" };

const counts = new Map<string, { summed: number; beside: number }>();

describe.skipIf(!available)("recorded usage adds up, and so do the buckets made of it", () => {
  afterAll(() => {
    for (const [protocol, { summed, beside }] of counts)
      console.log(
        `Sums of ${protocol}: ${summed}, of these ${beside} with tokens beside prompt and completion`,
      );
  });

  for (const format of FORMATS) {
    const { protocol } = format.cut;
    for (const recording of answersOf(protocol)) {
      const body: Json = recording.response.body;
      const usage = format.usageOf(body);
      if (usage === undefined || usage === null) continue;
      test(recording.path, () => {
        const { input, output, total } = format.sumsOf(usage);
        const beside = total === undefined ? 0 : total - input - output;
        const where = BESIDE[vendorOf(recording)];
        if (beside !== 0) expect([recording.path, where]).not.toEqual([recording.path, undefined]);
        const wanted = {
          input: input + (where === "input" ? beside : 0),
          output: output + (where === "output" ? beside : 0),
        };
        const buckets = bucketsOf(format.cut, recording);
        expect(inputTokens(buckets)).toBe(wanted.input);
        // Output that nobody counted is counted by us.
        if (format.leavesOutputOut?.(body) === true) expect(outputTokens(buckets)).toBeGreaterThan(0);
        else expect(outputTokens(buckets)).toBe(wanted.output);
        for (const tokens of Object.values(buckets)) expect(tokens).toBeGreaterThanOrEqual(0);
        const seen = counts.get(protocol) ?? { summed: 0, beside: 0 };
        counts.set(protocol, { summed: seen.summed + 1, beside: seen.beside + (beside === 0 ? 0 : 1) });
      });
    }
  }
});

/** Every recorded good answer of a format. */
function answersOf(protocol: string): readonly Recording[] {
  const format = formatOf(protocol);
  if (!available || format === undefined) return [];
  return [protocol, "cross-protocol", "other"]
    .flatMap((folder) => loadRecordings(folder))
    .filter((recording) => recording.protocol === protocol && recording.response.status === 200)
    .filter(isEvidence)
    .filter((recording) => format.unservable(recording)?.answerAlone !== false)
    .map((recording) => format.served(recording));
}

/** The buckets that the gateway's own reader makes of an answer. */
function bucketsOf(cut: CutFormat, recording: Recording): TokenUsage {
  const body: Json = recording.response.body;
  const vendor = vendorOf(recording);
  const native = formatOf(cut.protocol)?.isNative(vendor) ?? false;
  const padding = paddingOf(recording);
  if (typeof body === "string") {
    const bytes = new TextEncoder().encode(body);
    const stream = {
      name: recording.path,
      format: cut,
      bytes,
      native,
      padding,
      choices: cut.choicesOf(body),
    };
    return runStage(stream, bytes, []).facts.metered.usage;
  }
  const context = { ...ANSWER_CONTEXT, native, padding };
  return cut.stages.readAnswer(new TextEncoder().encode(JSON.stringify(body)), context).metered.usage;
}
