import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool as chainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { answerOf, type Said, VENDORS } from "./translated-vendors.ts";

// The libraries whose default is Responses, with Claude and Gemini behind the gateway: tools over several steps, thinking
// and its signatures included.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const roundOf = (n: number): Said => ({
  thinking: `Round ${n}.`,
  signature: btoa(`signature ${n} ~~~???`),
  calls: [
    { id: `call_${n}a`, name: "weather", input: { city: "Oslo" } },
    { id: `call_${n}b`, name: "weather", input: { city: "Rome" } },
  ],
  input: 100 * n,
  output: 20 + n,
  thought: 7,
});
const ROUNDS = [roundOf(1), roundOf(2)];
const END: Said = { text: "Rome is warm.", input: 500, output: 4 };
const CITY = z.object({ city: z.string() });

describe.each(VENDORS)("%s", (_name, vendor) => {
  const { model } = vendor;
  beforeEach(() => {
    const saids = [...ROUNDS, END];
    double.handle((request) => answerOf(vendor, request, saids[double.requests.length - 1]!));
  });
  /** Every answer went back as it came, with its results behind it. */
  const expectAllBack = (): void => {
    expect(double.requests.length).toBe(3);
    const last: Json = double.requests.at(-1)?.json();
    expect(vendor.answersIn(last)).toEqual(ROUNDS.map((said) => vendor.sentBack(said)) as Json);
    expect(vendor.resultsIn(last)).toEqual(ROUNDS.map(({ calls }) => calls!.map(({ id }) => id)));
  };

  describe("the AI SDK", () => {
    const ask = () => ({
      model: createOpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key })(model),
      prompt: "Where is it warm?",
      tools: {
        weather: tool({ description: "w", inputSchema: CITY, execute: ({ city }) => `3 in ${city}` }),
      },
      stopWhen: isStepCount(5),
      maxRetries: 0,
      providerOptions: {
        openai: { store: false, forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto" },
      },
    });

    test("plain", async () => {
      const { text, steps, totalUsage } = await generateText(ask());
      expect([text, steps.length]).toEqual(["Rome is warm.", 3]);
      expect(totalUsage.inputTokens).toBe(800);
      expectAllBack();
    });

    test("streamed", async () => {
      const result = streamText(ask());
      const parts: string[] = [];
      for await (const part of result.stream) parts.push(part.type);
      expect(await result.text).toBe("Rome is warm.");
      expect(parts).not.toContain("error");
      expectAllBack();
    });
  });

  describe("Agents", () => {
    const weather = agentTool({
      name: "weather",
      description: "w",
      parameters: CITY,
      execute: async ({ city }) => `3 in ${city}`,
    });
    const run = (stream: boolean): Promise<Json> => {
      const provider = new OpenAIProvider({ apiKey: gateway.key, baseURL: `${gateway.url}/api/v1` });
      const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
      const reasoning = { effort: "low" as const, summary: "auto" as const };
      const agent = new Agent({
        name: "a",
        instructions: "Be short.",
        model,
        tools: [weather],
        modelSettings: { reasoning },
      });
      return stream
        ? runner.run(agent, "Where is it warm?", { stream: true })
        : runner.run(agent, "Where is it warm?");
    };

    test("plain", async () => {
      const { finalOutput } = await run(false);
      expect(finalOutput).toBe("Rome is warm.");
      expectAllBack();
    });

    test("streamed", async () => {
      const result = await run(true);
      for await (const _event of result);
      await result.completed;
      expect(result.finalOutput).toBe("Rome is warm.");
      expectAllBack();
    });
  });

  describe("LangChain", () => {
    const weather = chainTool(({ city }) => `3 in ${city}`, {
      name: "weather",
      description: "w",
      schema: CITY,
    });
    // A wish for summaries is what makes it go to Responses by itself; it wants chat completions otherwise, and keeps no
    // thinking of these.
    const asking = (toResponses: boolean) =>
      new ChatOpenAI({
        model,
        apiKey: gateway.key,
        configuration: { baseURL: `${gateway.url}/api/v1` },
        ...(toResponses ? { reasoning: { effort: "low", summary: "auto" } } : {}),
        maxRetries: 0,
      }).bindTools([weather]);
    type Asked = (
      model: ReturnType<typeof asking>,
      history: BaseMessage[],
    ) => Promise<AIMessageChunk | undefined>;
    const plain: Asked = (chat, history) => chat.invoke(history);
    const streamed: Asked = async (chat, history) => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await chat.stream(history)) whole = whole?.concat(chunk) ?? chunk;
      return whole;
    };

    test.each([
      ["with a summary of reasoning, plain", true, plain],
      ["with a summary of reasoning, streamed", true, streamed],
      ["as it is, plain", false, plain],
      ["as it is, streamed", false, streamed],
    ] as const)("%s", async (_form, toResponses, ask) => {
      const history: BaseMessage[] = [new HumanMessage("Where is it warm?")];
      let answer = await ask(asking(toResponses), history);
      while ((answer?.tool_calls ?? []).length > 0) {
        const results = (answer?.tool_calls ?? []).map((call) => weather.invoke(call));
        history.push(answer!, ...(await Promise.all(results)));
        answer = await ask(asking(toResponses), history);
      }
      expect(answer?.text).toBe("Rome is warm.");
      expect(answer?.usage_metadata).toMatchObject({ input_tokens: 500, output_tokens: 4 });
      expectAllBack();
    });
  });
});
