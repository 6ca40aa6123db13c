import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { rawImageSizeOf } from "../../core/media/image-size.ts";
import { createKeyedHash } from "../../runtime/hash.ts";
import { type Answer, composeAnswer, drawImages } from "./answer.ts";
import { type Ask, Refusal } from "./formats/ask.ts";
import { readOrders } from "./orders.ts";
import { makeImage } from "./draw/poster.ts";
import { createSeal } from "./seal.ts";
import { fitText, piecesOf, tokensOf } from "./text-pieces.ts";

const seal = createSeal(createKeyedHash("secret"));

const ASK: Ask = {
  model: "acme/one",
  digest: "0123456789abcdef",
  seed: "seed",
  userText: "Say hello.",
  toolResults: [],
  tools: [],
  toolChoice: "auto",
  parallelCalls: true,
  stop: [],
  choices: 1,
  thinking: "none",
  image: "none",
  inputTokens: 7,
  images: [],
};

const compose = (ask: Partial<Ask> = {}, tokens?: number): Answer =>
  composeAnswer({ ...ASK, ...ask }, tokens === undefined ? {} : { tokens }, seal);
const textIn = (answer: Answer, choice = 0): string =>
  answer.choices[choice]?.pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("") ?? "";
const callsIn = (answer: Answer): readonly string[] =>
  answer.choices[0]?.pieces.flatMap((piece) => (piece.type === "call" ? [piece.name] : [])) ?? [];

describe("an answer", () => {
  test("begins by saying that it is the sandbox, and whose place it takes", () => {
    expect(textIn(compose())).toStartWith("This is the Switchyard sandbox in place of acme/one");
    expect(textIn(compose())).toContain("Say hello.");
  });

  test("is the same for the same seed, another for another; its choices differ", () => {
    expect(compose()).toEqual(compose());
    expect(textIn(compose({ seed: "other" }))).not.toBe(textIn(compose()));
    const two = compose({ choices: 2 });
    expect(two.choices).toHaveLength(2);
    expect(textIn(two, 0)).not.toBe(textIn(two, 1));
    expect(two.usage.text).toBe(tokensOf(textIn(two, 0)) + tokensOf(textIn(two, 1)));
  });

  test("never has more output than was asked for, and says `length` when it would have", () => {
    const many = fc.record({
      maxTokens: fc.integer({ min: 1, max: 200 }),
      userText: fc.string({ unit: "grapheme", maxLength: 300 }),
      thinking: fc.constantFrom("none", "shown", "hidden"),
      image: fc.constantFrom("none", "with_text"),
      tools: fc.constantFrom([], [{ name: "look_up", schema: { type: "object", required: ["a"] } }]),
      toolChoice: fc.constantFrom("auto", "any", "none"),
    } as const);
    fc.assert(
      fc.property(many, (ask) => {
        const { usage, choices } = compose(ask);
        expect(usage.text + usage.thinking + usage.image).toBeLessThanOrEqual(ask.maxTokens);
        if (choices[0]?.finish === "length") return;
        expect(compose({ ...ask, maxTokens: 100_000 }).choices).toEqual(choices);
      }),
    );
  });

  test("ends before a stop sequence, and says which", () => {
    const answer = compose({ stop: ["zzz", "sandbox", "Switchyard"] });
    expect(textIn(answer)).toBe("This is the ");
    expect(answer.choices[0]).toMatchObject({ finish: "stop", stopSequence: "Switchyard" });
  });

  test("is as long as it is ordered", () => {
    for (const tokens of [1, 7, 60, 500, 5_000]) expect(compose({}, tokens).usage.text).toBe(tokens);
  });

  test("calls what is forced, what is named, and nothing that was not asked for", () => {
    const tools = [
      {
        name: "get_weather",
        schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
      { name: "sendMail", schema: {} },
    ];
    expect(callsIn(compose({ tools }))).toEqual([]);
    expect(callsIn(compose({ tools, toolChoice: { name: "sendMail" } }))).toEqual(["sendMail"]);
    expect(callsIn(compose({ tools, toolChoice: "any" }))).toHaveLength(1);
    const both = { tools, userText: "What is the weather? Then mail it, please." };
    expect(callsIn(compose(both))).toEqual(["get_weather", "sendMail"]);
    expect(callsIn(compose({ ...both, parallelCalls: false }))).toEqual(["get_weather"]);
    expect(callsIn(compose({ ...both, toolChoice: "none" }))).toEqual([]);
    expect(callsIn(compose({ tools, userText: "Use a tool." }))).toEqual(["get_weather"]);
    expect(compose(both).choices[0]?.finish).toBe("calls");
    const after = compose({ ...both, toolResults: ["sunny"] });
    expect(callsIn(after)).toEqual([]);
    expect(textIn(after)).toContain("sunny");
  });
});

test("text is cut into pieces that make it up again, and fits what it is given", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(50), (text, most) => {
      expect(piecesOf(text).join("")).toBe(text);
      const fitted = fitText(text, most);
      expect(text).toStartWith(fitted.text);
      expect(tokensOf(fitted.text)).toBeLessThanOrEqual(most);
      expect(fitted.whole).toBe(fitted.text === text);
    }),
  );
});

test("an image is small unless it is asked for large, of the asked shape, and costs what the model's does", async () => {
  const cases = [
    { ask: {}, size: { width: 256, height: 256 }, tokens: 1_120 },
    { ask: { aspectRatio: "16:9" }, size: { width: 256, height: 144 }, tokens: 1_120 },
    { ask: { aspectRatio: "1:99" }, size: { width: 3, height: 256 }, tokens: 1_120 },
    { ask: { imageSize: "1K" }, size: { width: 1024, height: 1024 }, tokens: 1_120 },
    { ask: { imageSize: "2K", aspectRatio: "9:16" }, size: { width: 1536, height: 2752 }, tokens: 1_120 },
    { ask: { imageSize: "4K", aspectRatio: "21:9" }, size: { width: 6336, height: 2688 }, tokens: 2_000 },
  ] as const;
  for (const { ask, size, tokens } of cases) {
    const answer = await drawImages(compose({ image: "only", ...ask }), makeImage);
    const [piece] = answer.choices[0]!.pieces;
    expect(piece?.type === "image" && rawImageSizeOf(piece.data)).toEqual(size);
    expect(answer.usage).toMatchObject({ image: tokens, text: 0 });
  }
});

describe("a signature", () => {
  const flipped = (text: string): string => `${text.startsWith("A") ? "B" : "A"}${text.slice(1)}`;

  test("is of its text, and of this installation", () => {
    const signature = seal.sign("thought");
    expect(seal.verifies("thought", signature)).toBe(true);
    expect(seal.verifies("thoughts", signature)).toBe(false);
    expect(seal.verifies("thought", flipped(signature))).toBe(false);
    expect(createSeal(createKeyedHash("other")).verifies("thought", signature)).toBe(false);
  });

  test("without text is known again as it was given and as a URL carries it, and not when a character is another", () => {
    const token = seal.token("0/image");
    expect(btoa(atob(token))).toBe(token);
    const url = token.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    for (const form of [token, url, encodeURIComponent(token), `"${url}"`])
      expect(seal.isToken(form)).toBe(true);
    for (let i = 0; i < token.length; i += 1) {
      if (token[i] === "=") continue;
      expect([i, seal.isToken(`${token.slice(0, i)}${flipped(token.slice(i))}`)]).toEqual([i, false]);
    }
    expect(seal.isToken("")).toBe(false);
    expect(seal.isToken("skip_thought_signature_validator")).toBe(true);
    expect(seal.isToken(btoa("skip_thought_signature_validator"))).toBe(true);
  });
});

describe("the header", () => {
  test("is read", () => {
    expect(readOrders(undefined, "language")).toEqual({ delayMs: 0 });
    expect(readOrders(" fail=overloaded ; delay_ms=20;tokens=5; speed=0.5;", "language")).toEqual({
      fail: "overloaded",
      delayMs: 20,
      tokens: 5,
      speed: 0.5,
    });
  });

  for (const header of [
    "x",
    "Fail=timeout",
    "fail=never",
    "fail=",
    "tokens=0",
    "tokens=1e9",
    "delay_ms=-1",
    "speed=",
    "speed=0",
    "tokens=1;tokens=2",
    "tokens=1=2",
    "__proto__=1",
  ]) {
    test(`${header} is a 400 that names it`, () => {
      let refusal: unknown;
      try {
        readOrders(header, "language");
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ status: 400, param: "x-sandbox" });
      expect((refusal as Refusal).message).toContain("x-sandbox");
    });
  }
});
