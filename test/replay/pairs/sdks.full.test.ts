import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Caller, CALLERS } from "../../e2e/loops/callers.ts";
import { startGateway, type TestGateway, UPSTREAM_KEY } from "../../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../upstream/double.ts";
import { answerFrom, type Recording, recordingsFor } from "../../upstream/recordings.ts";
import { LONG } from "../../runs.ts";
import { isEvidence } from "../cases.ts";
import type { Json } from "../wire-json.ts";
import { type Gist, gistOf } from "./gist.ts";
import { at, differences } from "./meaning.ts";
import { recordingsOf, WIRES } from "./wires.ts";

// Every recorded answer of a provider, asked for in each of the four formats. That format's official SDK reads it, in
// its raw way and by its helper. It has every word, thought and call. Without time for many cases the two ways take turns
// over the answers of another format.

const available = recordingsFor("recorded answers");

const PROTOCOLS: Readonly<Record<string, string>> = {
  "chat completions": "chat_completions",
  messages: "messages",
  generateContent: "generate_content",
  Responses: "responses",
};

describe.skipIf(!available)("recorded answers, by the SDK of each format", () => {
  let double: UpstreamDouble;
  let gateway: TestGateway;
  const rows: string[] = [];

  beforeAll(async () => {
    double = await startUpstreamDouble({ sleep: async () => undefined });
    const providers = Object.values(PROTOCOLS).map((protocol) => [
      `of-${protocol.replace("_", "-")}`,
      {
        protocol,
        base_url: double.url,
        api_key: UPSTREAM_KEY,
        models: [
          {
            id: `test/${protocol}`,
            output_modalities: ["text"],
            prices: { input: 1, output: 1, web_search: 0.01 },
          },
        ],
      },
    ]);
    const settings = JSON.stringify({ providers: Object.fromEntries(providers) });
    gateway = await startGateway({ settings, credits: 1_000_000_000 });
  });
  afterAll(async () => {
    console.log(["", "Recorded answers read by official SDKs (of, by, read, left out):", ...rows].join("\n"));
    await gateway.close();
    await double.close();
  });

  for (const wire of WIRES) {
    for (const caller of CALLERS) {
      test(`${wire.name}, by the SDK of ${caller.name}`, async () => {
        const leftOut: Record<string, number> = {};
        const misses: Json[] = [];
        let read = 0;
        const isBoth = LONG || wire.name === caller.name;
        const turns = { streamed: 0, plain: 0 };
        for (const recording of recordingsOf(wire)) {
          if (recording.response.status !== 200 || !isEvidence(recording)) continue;
          const gist = gistOf(wire.name, recording);
          if (typeof gist === "string") {
            leftOut[gist] = (leftOut[gist] ?? 0) + 1;
            continue;
          }
          const turn = (turns[typeof recording.response.body === "string" ? "streamed" : "plain"] += 1);
          for (const isOtherWay of isBoth ? [false, true] : [turn % 2 === 0]) {
            const miss = await readBy(caller, wire.name, recording, { gist, isOtherWay });
            if (miss === undefined) read += 1;
            else misses.push([recording.path, isOtherWay, miss]);
          }
        }
        rows.push(`  ${wire.name}, ${caller.name}: ${read} read, left out ${JSON.stringify(leftOut)}`);
        expect(misses).toEqual([]);
      }, 120_000);
    }
  }

  /** What the SDK has read otherwise than it was said. */
  async function readBy(
    caller: Caller,
    wire: string,
    recording: Recording,
    { gist, isOtherWay }: { readonly gist: Gist; readonly isOtherWay: boolean },
  ): Promise<Json> {
    double.reset();
    double.handle(() => answerFrom(recording));
    const streamed = typeof recording.response.body === "string";
    const tools = [...new Set(gist.calls.map(({ name }) => name))];
    const asked = {
      model: `test/${PROTOCOLS[wire]}`,
      history: caller.begin("Say it."),
      tools,
      streamed,
      isOtherWay,
    };
    try {
      const { text, thinking, calls } = await caller.ask(gateway, asked);
      const declined =
        gist.isDeclined === true && text.startsWith(gist.text) ? { text: gist.text, isDeclined: true } : {};
      const heard = {
        text,
        thinking: gist.thinking === undefined ? undefined : (thinking ?? gist.thinking),
        calls: calls.map(({ name, input }) => ({ name, input })),
        ...declined,
      };
      return Bun.deepEquals(heard, gist)
        ? undefined
        : differences(gist, heard).map((path) => [path, at(gist, path), at(heard, path)]);
    } catch (error) {
      return String(error).slice(0, 300);
    }
  }
});
