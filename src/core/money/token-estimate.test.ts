import { describe, expect, test } from "bun:test";
import { loadRecordings, recordingsFor } from "../../../test/upstream/recordings.ts";
import { estimateTokens, measureText } from "./token-estimate.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- wire data of a test
type Json = any;

function sizeOf(text: string) {
  const size = { ascii: 0, alphabetic: 0, ideographic: 0 };
  measureText(text, size);
  return size;
}

describe("text by script", () => {
  const cases = [
    ["", 0, 0, 0],
    ["plain, 123\n\u007f", 12, 0, 0],
    ["éßЖ", 0, 3, 0],
    ["\u0080", 0, 1, 0],
    ["日本語", 0, 0, 3],
    ["한글", 0, 0, 2],
    ["😀", 0, 0, 2],
    ["a\u2e7f\u2e80", 1, 1, 1],
  ] as const;
  for (const [text, ascii, alphabetic, ideographic] of cases) {
    test(JSON.stringify(text), () => expect(sizeOf(text)).toEqual({ ascii, alphabetic, ideographic }));
  }
});

test("a text has the size of its characters, wherever they stand in it and however long it is", () => {
  const cases = [
    "é",
    "\u2e7f",
    "\u2e80",
    "日",
    "\u0905",
    "あ",
    "日日",
    "😀😀",
    "\ud83d",
    "\udc00",
    "\uffff",
    "😀",
    "é日a😀",
  ];
  for (const beyond of cases) {
    for (const before of [0, 1, 2, 3, 4, 5, 8_190, 8_191, 8_192, 20_000]) {
      for (const after of [0, 1, 2, 3, 40_000]) {
        const units = Array.from({ length: beyond.length }, (_, i) => beyond.charCodeAt(i));
        const ideographic = units.filter((unit) => unit >= 0x2e80).length;
        const alphabetic = units.filter((unit) => unit >= 0x80).length - ideographic;
        const ascii = before + after + beyond.length - alphabetic - ideographic;
        expect(sizeOf(`${"a".repeat(before)}${beyond}${"b".repeat(after)}`)).toEqual({
          ascii,
          alphabetic,
          ideographic,
        });
      }
    }
  }
});

test("nothing of a longer text before it counts", () => {
  for (const before of ["日".repeat(8_192), "é".repeat(8_192)])
    for (const length of [22, 23, 24, 25]) {
      sizeOf(before);
      expect(sizeOf(`é${"a".repeat(length)}`)).toEqual({ ascii: length, alphabetic: 1, ideographic: 0 });
    }
});

test("each script has its rates", () => {
  const of = (text: string) => Object.values(estimateTokens(sizeOf(text)));
  expect(of("a".repeat(400))).toEqual([100, 200]);
  expect(of("a".repeat(401))).toEqual([101, 201]);
  expect(of("Ж".repeat(220))).toEqual([100, 243]);
  expect(of("日".repeat(120))).toEqual([100, 240]);
});

test("the guess is within the bound, both are whole and grow with the text", () => {
  let before = { expected: 0, ceiling: 0 };
  for (let length = 1; length < 200; length += 1) {
    const now = estimateTokens(sizeOf("aé日".repeat(length)));
    expect(now.expected).toBeLessThanOrEqual(now.ceiling);
    expect(Number.isInteger(now.expected) && Number.isInteger(now.ceiling)).toBe(true);
    expect(now.expected >= before.expected && now.ceiling >= before.ceiling).toBe(true);
    before = now;
  }
});

const isAvailable = recordingsFor("calibration of output");

/** Text and counted tokens of an answer that is nothing but text. */
function plainOutput(body: unknown): { text: string; tokens: number } | undefined {
  const parts: Json[] =
    typeof body === "string"
      ? body
          .split("\n")
          .filter((line) => line.startsWith("data: {"))
          .map((line) => JSON.parse(line.slice(6)))
      : [body];
  let text = "";
  let usage: Json;
  for (const part of parts) {
    usage = part?.usage ?? part?.x_groq?.usage ?? part?.choices?.[0]?.usage ?? usage;
    if ((part?.choices?.length ?? 0) > 1) return undefined;
    const said = part?.choices?.[0]?.delta ?? part?.choices?.[0]?.message ?? {};
    if (said.tool_calls || said.reasoning || said.reasoning_content || Array.isArray(said.content))
      return undefined;
    text += said.content ?? "";
  }
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  const isAdditive = usage?.total_tokens === usage?.prompt_tokens + usage?.completion_tokens + reasoning;
  const tokens = (usage?.completion_tokens ?? 0) - (isAdditive ? 0 : reasoning);
  return text.length < 100 || tokens <= 0 ? undefined : { text, tokens };
}

describe.if(isAvailable)("output counted by us beside recorded usage", () => {
  test("the guess is about right and the bound holds, for texts of 100 characters and more", () => {
    const all = loadRecordings("chat-completions")
      // Models that think unseen and do not say how much: their tokens are not in the text.
      .filter(
        ({ response, model }) =>
          response.status === 200 &&
          !/^(o\d|gpt-5|gemini-2\.5|magistral)|compound/.test(model.replace(/^.*\//, "")),
      )
      .flatMap(({ path, response }) => {
        const output = plainOutput(response.body);
        return output === undefined
          ? []
          : [{ path, tokens: output.tokens, ...estimateTokens(sizeOf(output.text)) }];
      });
    const ratios = all.map(({ expected, tokens }) => expected / tokens).toSorted((a, b) => a - b);
    const middle = ratios[Math.floor(ratios.length / 2)] as number;
    console.log(
      `output: ${all.length} recordings, expected/recorded median ${middle.toFixed(2)}, least ${ratios[0]?.toFixed(2)}, most ${ratios.at(-1)?.toFixed(2)}`,
    );
    expect(all.length).toBeGreaterThan(20);
    expect(middle).toBeGreaterThan(0.75);
    expect(middle).toBeLessThan(1.35);
    expect(all.filter(({ ceiling, tokens }) => ceiling < tokens)).toEqual([]);
  });
});
