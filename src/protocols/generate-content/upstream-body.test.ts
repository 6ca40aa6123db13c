import { describe, expect, test } from "bun:test";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import { sealCarrier } from "../carrier.ts";
import type { RelayTarget } from "../protocol.ts";
import { readRequest } from "./request.ts";
import { NO_SIGNATURE, writeSignature } from "./signatures.ts";
import { upstreamBody } from "./upstream-body.ts";

const MODEL = {
  id: "google/gemini-3.8-flash",
  maxOutput: 100,
  ignoredParameters: [],
  maxTokensField: "max_tokens",
} as unknown as Model;

const TARGET: RelayTarget = {
  model: MODEL,
  upstreamId: "gemini-3.8-flash",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};

function rewrite(body: string, more: Partial<RelayTarget> = {}) {
  const request = readRequest(wireRequest(body, { address: { model: MODEL.id, stream: false } }));
  const { body: bytes, warnings } = upstreamBody(request, { ...TARGET, ...more });
  return { text: new TextDecoder().decode(joinBytes(bytes)), warnings };
}

const TURNS = '"contents":[{"role":"user","parts":[{"text":"hi","thought_signature":"a\\/b=="}]}]';

test("without a reason to change anything the bytes go up as they came", () => {
  const body = `{ ${TURNS} , "generation_config":{"temperature":1.50e0,"top_k":40, "max_output_tokens": 50}, "safetySettings":[] }\n`;
  expect(rewrite(body)).toEqual({ text: body, warnings: [] });
});

describe("the bound on output", () => {
  const outputBound = 42;
  const cases: readonly [string, string, string][] = [
    ["is added with a config", `{${TURNS}}`, `{${TURNS},"generationConfig":{"maxOutputTokens":42}}`],
    [
      "is added to an empty config",
      `{"generationConfig":{ },${TURNS}}`,
      `{"generationConfig":{"maxOutputTokens":42 },${TURNS}}`,
    ],
    [
      "is added to a config in its own spelling",
      `{"generation_config":{"top_p":0.5 },${TURNS}}`,
      `{"generation_config":{"top_p":0.5,"maxOutputTokens":42 },${TURNS}}`,
    ],
    [
      "takes the place of a config of null",
      `{"generationConfig":null,${TURNS}}`,
      `{"generationConfig":{"maxOutputTokens":42},${TURNS}}`,
    ],
    [
      "takes the place of a bound of null",
      `{"generationConfig":{"max_output_tokens":null},${TURNS}}`,
      `{"generationConfig":{"max_output_tokens":42},${TURNS}}`,
    ],
  ];
  for (const [name, body, wanted] of cases) {
    test(name, () => {
      expect(rewrite(body, { outputBound })).toEqual({ text: wanted, warnings: [] });
      expect(rewrite(body).text).toBe(body);
    });
  }

  test("that the caller set stays, and is lowered to the model's most with a warning", () => {
    const body = (tokens: number) => `{"generationConfig":{"max_output_tokens":${tokens}},${TURNS}}`;
    expect(rewrite(body(100))).toEqual({ text: body(100), warnings: [] });
    const lowered = rewrite(body(101));
    expect(lowered.text).toBe(body(100));
    expect(lowered.warnings).toEqual([
      "generationConfig.max_output_tokens was lowered to 100: google/gemini-3.8-flash puts out no more",
    ]);
  });
});

describe("fields", () => {
  test("that nobody knows are left out with a warning, unless the provider takes them", () => {
    const body = `{"model":"x",${TURNS},"generationConfig":{"zoom":1,"topP":0.5,"routingConfig":{}},"__proto__":1}`;
    const { text, warnings } = rewrite(body);
    expect(text).toBe(`{${TURNS},"generationConfig":{"topP":0.5}}`);
    expect(warnings).toEqual([
      "model was left out: it is not a field of generateContent",
      "__proto__ was left out: it is not a field of generateContent",
      "generationConfig.zoom was left out: it is not a field of generateContent",
      "generationConfig.routingConfig was left out: it is not a field of generateContent",
    ]);
    expect(rewrite(body, { unknownFields: "pass" }).text).toBe(body);
  });

  test("that the model ignores are left out, in both spellings", () => {
    const model = { ...MODEL, ignoredParameters: ["topK", "presence_penalty"] };
    const body = `{${TURNS},"generationConfig":{"top_k":1,"presencePenalty":1,"seed":1}}`;
    const { text, warnings } = rewrite(body, { model });
    expect(text).toBe(`{${TURNS},"generationConfig":{"seed":1}}`);
    expect(warnings).toHaveLength(2);
  });

  test("that change the price are refused by the name they were sent under", () => {
    const tier = (value: string) => `{${TURNS},"service_tier":${value}}`;
    for (const value of ['"standard"', '"unspecified"', "null"])
      expect(rewrite(tier(value)).text).toBe(tier(value));
    for (const value of ['"priority"', '"flex"', "1", "{}"]) {
      try {
        rewrite(tier(value));
        throw new Error("was accepted");
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        expect(error).toMatchObject({ status: 400, param: "service_tier" });
      }
    }
  });

  test("that ask for outputs beside those that are held for are refused", () => {
    const body = `{${TURNS},"generationConfig":{"responseFormat":[{"image":{}}]}}`;
    expect(() => rewrite(body)).toThrow("generationConfig.responseFormat changes the price");
  });

  test("of a part that nobody knows are refused, unless the provider takes them", () => {
    const body = '{"contents":[{"parts":[{"hologram_data":{}}]}]}';
    expect(() => rewrite(body)).toThrow("contents[0].parts[0].hologram_data is not a field of a part");
    expect(rewrite(body, { unknownFields: "pass" }).text).toBe(body);
  });
});

describe("what another vendor's model has signed, and a client kept,", () => {
  const seal = sealCarrier(
    { kind: "thinking", issuer: "anthropic", text: "Hm.", signature: "c2ln" },
    undefined,
  );
  const carried = writeSignature([seal]);
  const [call, own] = [{ functionCall: { name: "f" } }, { thoughtSignature: "b3du" }];
  const sent = (...parts: object[]) => {
    const { text, warnings } = rewrite(JSON.stringify({ contents: [{ role: "model", parts }] }));
    return { parts: JSON.parse(text).contents[0].parts, warnings };
  };
  const none = { thoughtSignature: NO_SIGNATURE };

  test("is left out, and the first call of its turn says that it has no signature", () => {
    const warning = (at: number) =>
      `contents[0].parts[${at}]: thinking that another vendor's model has signed was left out`;
    expect(sent({ text: "a", thoughtSignature: carried }, call, call)).toEqual({
      parts: [{ text: "a" }, { ...call, ...none }, call],
      warnings: [warning(0)],
    });
    expect(sent({ ...call, thoughtSignature: carried }, call)).toEqual({
      parts: [{ ...call, ...none }, call],
      warnings: [warning(0)],
    });
  });

  test("is another turn's: calls of Google's own keep what they have, or have not", () => {
    for (const parts of [
      [{ ...call, ...own }, call],
      [call, { text: "a", ...own }],
    ])
      expect(sent(...parts)).toEqual({ parts, warnings: [] });
  });
});
