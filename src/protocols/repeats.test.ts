import { describe, expect, spyOn, test } from "bun:test";
import { cutsWithin, playStage, repeatedStream, WAYS } from "../../test/protocols/repeated-streams.ts";
import { LONG, SEED } from "../../test/runs.ts";
import { seededRandom } from "../../test/upstream/cuts.ts";
import { chatStream } from "../../test/upstream/chat-bytes.ts";
import { geminiStream } from "../../test/upstream/gemini-bytes.ts";
import { CHUNK } from "./chat-completions/shape.ts";
import { CHUNK as GENERATE_CHUNK } from "./generate-content/shape.ts";

const RUNS = LONG ? 100_000 : 1_500;

describe("an event that is held against the one before gives what its scan gives", () => {
  for (const way of WAYS) {
    test(`${way.join(" from ")}: the same bytes, usage and verdicts, however the bytes come`, () => {
      for (let seed = SEED; seed < SEED + RUNS / WAYS.length; seed += 1) {
        const { form, bytes } = repeatedStream(way, seed);
        const scanned = playStage(way, form, bytes, cutsWithin(bytes));
        const random = seededRandom(seed);
        const cuts = Array.from({ length: seed % 9 }, () => Math.floor(random() * bytes.length));
        expect([seed, playStage(way, form, bytes, [])]).toEqual([seed, scanned]);
        expect([
          seed,
          playStage(
            way,
            form,
            bytes,
            cuts.sort((a, b) => a - b),
          ),
        ]).toEqual([seed, scanned]);
      }
    });
  }
});

describe("events that repeat the one before are not scanned", () => {
  const words = Array.from({ length: 50 }, (_, i) => (i % 7 === 0 ? '\n"so"' : " wörd"));
  const form = { native: true, padding: [], choices: 1 };

  test("in chat completions", () => {
    const scans = spyOn(CHUNK, "clear");
    playStage(["compat_chat_completions", "compat_chat_completions"], form, chatStream({ words }), []);
    // The role, the first word, the finish, the usage and the end mark.
    expect(scans.mock.calls.length).toBeLessThanOrEqual(5);
    scans.mockRestore();
  });

  test("in generateContent, translated, with counts that grow", () => {
    const scans = spyOn(GENERATE_CHUNK, "clear");
    const { body } = geminiStream({ parts: words });
    playStage(["compat_chat_completions", "compat_generate_content"], form, body as Uint8Array, []);
    expect(scans.mock.calls.length).toBeLessThanOrEqual(2);
    scans.mockRestore();
  });
});
