import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { jsonAnswer } from "../test/upstream/answer.ts";
import { DOUBLES, environmentOf, type Vendor, VENDORS } from "../test/upstream/media/doubles.ts";
import type { Fault, MediaDouble } from "../test/upstream/media/media-double.ts";
import { PROVIDERS } from "../src/providers/registry.ts";
import { smoke } from "./smoke.ts";

const KEY = "sk-smoke-canary-1";
/** What the cheapest work of each provider is, and what of it is said. */
const WORKS: Readonly<Record<Vendor, readonly string[]>> = {
  openai: ["image of openai/gpt-image-2 as gpt-image-2"],
  google: ["as gemini-3-pro-image"],
  dashscope: ["image of alibaba/qwen-image-2.0 as qwen-image-2.0"],
  ark: ["video of bytedance/seedance-2.0-fast", "video/mp4"],
  midjourney: ["a grid of 2 by 2"],
  fal: ["image of openai/gpt-image-2 as openai/gpt-image-2", "image/png"],
  wavespeed: ["as openai/gpt-image-2/text-to-image"],
};

const doubles = new Map<Vendor, MediaDouble>();
beforeAll(async () => {
  for (const vendor of VENDORS) doubles.set(vendor, await DOUBLES[vendor](KEY));
});
afterAll(async () => {
  for (const double of doubles.values()) await double.close();
});

function doubleOf(vendor: Vendor): MediaDouble {
  const double = doubles.get(vendor);
  if (double === undefined) throw new Error(`${vendor} was not started.`);
  double.reset();
  return double;
}

/** The exit code of a run, and what it said; the key is never in it. */
async function run(
  id: string | undefined,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const code = await smoke(id, environment, (text) => lines.push(text), { pollMs: 1 });
  expect(lines.join("\n")).not.toContain(KEY);
  return { code, lines };
}

describe("one cheap work is made, once, and told of, at", () => {
  for (const vendor of VENDORS)
    test(vendor, async () => {
      const double = doubleOf(vendor);
      const { code, lines } = await run(vendor, environmentOf(vendor, double, KEY));
      expect([code, lines.at(-1)]).toEqual([0, `${vendor} works: 1 of 1 results can be used`]);
      for (const words of WORKS[vendor]) expect(lines.join("\n")).toContain(words);
      expect(double.accepted).toHaveLength(1);
    });
});

describe("an operator is told what to look at:", () => {
  for (const vendor of VENDORS) {
    const { keyVariable = "", baseUrlVariable = "" } = PROVIDERS.find(({ id }) => id === vendor) ?? {};

    test(`${vendor} without its key`, async () => {
      expect(await run(vendor, {})).toEqual({
        code: 2,
        lines: [`${keyVariable} is not set in the environment: nothing was sent.`],
      });
    });

    test(`${vendor} with a wrong key`, async () => {
      const environment = { ...environmentOf(vendor, doubleOf(vendor), KEY), [keyVariable]: "sk-wrong" };
      const { code, lines } = await run(vendor, environment);
      expect(code).toBe(1);
      expect(lines.at(-1)).toStartWith(`${vendor} refuses this account: code `);
      expect(lines.at(-1)).toContain(`Check ${keyVariable}`);
      expect(lines.join()).not.toContain("sk-wrong");
    });

    test(`${vendor} at an address where nobody is, where something else is, and at none`, async () => {
      const double = doubleOf(vendor);
      const environment = environmentOf(vendor, double, KEY);
      const nobody = await run(vendor, { ...environment, [baseUrlVariable]: "http://127.0.0.1:9" });
      expect([nobody.code, nobody.lines.at(-1)]).toEqual([1, expect.stringMatching(/^failed: /)]);
      expect(nobody.lines.at(-1)).toEndWith(`is ${baseUrlVariable} right?`);

      double.upstream.handle(() => ({ status: 200, body: "<html>welcome" }));
      const page = await run(vendor, environment);
      expect([page.code, page.lines.at(-1)]).toEqual([1, expect.stringContaining("did not answer as")]);
      double.upstream.handle(() => ({ status: 404, body: "<html>nothing here" }));
      expect((await run(vendor, environment)).lines.at(-1)).toContain(`404`);

      const none = await run(vendor, { ...environment, [baseUrlVariable]: "queue.example" });
      expect(none).toEqual({
        code: 2,
        lines: [`${baseUrlVariable} is no URL that begins with http:// or https://.`],
      });
    });
  }

  test("a provider that is limited, and a work that is refused", async () => {
    const double = doubleOf("openai");
    const environment = environmentOf("openai", double, KEY);
    const says = (status: number, code: string): Fault => ({
      instead: jsonAnswer(status, { error: { message: "No.", code } }),
    });
    double.fault("images", says(429, "rate_limit_exceeded"));
    expect((await run("openai", environment)).lines.at(-1)).toStartWith(
      "openai takes no work now: code rate",
    );
    double.fault("images", says(400, "moderation_blocked"));
    expect((await run("openai", environment)).lines.at(-1)).toBe(
      "refused: moderation, code moderation_blocked, No.",
    );
  });

  test("no provider, one that makes nothing, and one without an address", async () => {
    const usage = /^npm run smoke -- <provider>.* Providers: openai, /;
    expect(await run(undefined, {})).toEqual({ code: 2, lines: [expect.stringMatching(usage)] });
    const groq = await run("groq", { GROQ_API_KEY: KEY });
    expect(groq).toEqual({ code: 2, lines: [expect.stringMatching(usage)] });
    const { lines } = await run("midjourney", { MIDJOURNEY_PROXY_SECRET: KEY });
    expect(lines).toEqual([expect.stringMatching(/^MIDJOURNEY_PROXY_BASE_URL must be set/)]);
  });
});
