import { expect, test } from "bun:test";
import { jsonAnswer } from "../test/upstream/answer.ts";
import { startArkDouble } from "../test/upstream/media/ark-double.ts";
import { startDashscopeDouble } from "../test/upstream/media/dashscope-double.ts";
import { startFalDouble } from "../test/upstream/media/fal-double.ts";
import { startGoogleDouble } from "../test/upstream/media/google-double.ts";
import { startMidjourneyDouble } from "../test/upstream/media/midjourney-double.ts";
import { startOpenaiDouble } from "../test/upstream/media/openai-double.ts";
import { smoke } from "./smoke.ts";

const KEY = "sk-smoke-canary-1";
const DOUBLES = [
  {
    id: "openai",
    name: "OPENAI",
    variable: "OPENAI_API_KEY",
    start: startOpenaiDouble,
    line: "image of openai/gpt-image-2 as gpt-image-2",
  },
  {
    id: "google",
    name: "GEMINI",
    variable: "GEMINI_API_KEY",
    start: startGoogleDouble,
    line: "as gemini-3-pro-image",
  },
  {
    id: "dashscope",
    name: "DASHSCOPE",
    variable: "DASHSCOPE_API_KEY",
    start: startDashscopeDouble,
    line: "as qwen-image-2.0",
  },
  {
    id: "ark",
    name: "ARK",
    variable: "ARK_API_KEY",
    start: startArkDouble,
    line: "video of bytedance/seedance-2.0-fast",
  },
  {
    id: "midjourney",
    name: "MIDJOURNEY_PROXY",
    variable: "MIDJOURNEY_PROXY_SECRET",
    start: startMidjourneyDouble,
    line: "a grid of 2 by 2",
  },
  { id: "fal", name: "FAL", variable: "FAL_KEY", start: startFalDouble, line: "about" },
] as const;

for (const { id, name, variable, start, line } of DOUBLES)
  test(`one cheap work is made at ${id}, once, and told of`, async () => {
    const double = await start(KEY);
    try {
      const environment = { [variable]: KEY, [`${name}_BASE_URL`]: double.baseUrl };
      const lines: string[] = [];
      const code = await smoke(id, environment, (text) => lines.push(text), { pollMs: 1 });
      expect([code, lines.at(-1)]).toEqual([0, `${id} works: 1 of 1 results can be used`]);
      expect(lines.join("\n")).toContain(line);
      expect(lines.join("\n")).not.toContain(KEY);
      expect(double.accepted).toHaveLength(1);
      const refused: string[] = [];
      const stage = id === "ark" ? "film" : "pictures";
      double.fault(stage, { instead: jsonAnswer(401, {}) });
      expect(await smoke(id, environment, (text) => refused.push(text), { pollMs: 1 })).toBe(1);
      expect(refused.at(-1)).toContain("refused: operator_fault");
    } finally {
      await double.close();
    }
  });

test("nothing is sent without a key, or to a provider that is none", async () => {
  const said = async (id: string | undefined, environment: Record<string, string>): Promise<string> => {
    const lines: string[] = [];
    expect(await smoke(id, environment, (text) => lines.push(text))).toBe(2);
    return lines.join("\n");
  };
  expect(await said("fal", {})).toBe("FAL_KEY is not set in the environment: nothing was sent.");
  expect(await said("midjourney", { MIDJOURNEY_PROXY_SECRET: "k" })).toStartWith(
    "MIDJOURNEY_PROXY_BASE_URL must be set",
  );
  expect(await said(undefined, {})).toContain("Providers: openai,");
  expect(await said("groq", { GROQ_API_KEY: "k" })).toContain("Providers: ");
});
