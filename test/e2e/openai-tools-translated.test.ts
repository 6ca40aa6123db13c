import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { answerOf, type Said, VENDORS } from "./translated-vendors.ts";

// Tools of chat completions that Claude and Gemini do not have, by the official SDK: only its base address and key are
// set. The upstream is the double, in each vendor's own format and as strict as the vendor is.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

type Message = OpenAI.ChatCompletionMessageParam;
type Tool = OpenAI.ChatCompletionTool;

const DONE: Said = { text: "Done.", input: 11, output: 4 };
const last = (): Json => double.requests.at(-1)?.json();
const namesSent = ({ tools }: Json): readonly string[] =>
  (tools[0].functionDeclarations ?? tools).map(({ name }: Json) => name);

describe.each(VENDORS)("%s", (_name, vendor) => {
  const { model } = vendor;
  const answer = (said: Said): void => double.handle((request) => answerOf(vendor, request, said));

  for (const streamed of [false, true])
    test(`a custom tool is called with its text, which goes back as it came${streamed ? ", streamed" : ""}`, async () => {
      const patch = '*** Begin Patch\n+ "a\\b"\n*** End Patch';
      const grammar = { syntax: "lark" as const, definition: "start: /\\*\\*\\*.+/s" };
      const tools: Tool[] = [
        { type: "custom", custom: { name: "apply_patch", format: { type: "grammar", grammar } } },
      ];
      const messages: Message[] = [{ role: "user", content: "Mend it." }];
      const complete = async (): Promise<Json> => {
        const body = { model, messages, tools, tool_choice: "required" as const, max_tokens: 4_000 };
        return streamed
          ? client.chat.completions.stream(body).finalChatCompletion()
          : client.chat.completions.create(body);
      };
      const call = { id: "call_1", name: "apply_patch", input: { input: patch } };
      answer({ calls: [call], input: 11, output: 4 });
      const [choice] = (await complete()).choices;
      expect(choice.finish_reason).toBe("tool_calls");
      expect(choice.message.tool_calls).toEqual([
        { id: "call_1", type: "custom", custom: { name: "apply_patch", input: patch } },
      ]);
      expect(namesSent(last())).toEqual(["apply_patch"]);
      expect(JSON.stringify(last().tools)).toContain("lark");
      messages.push(choice.message, { role: "tool", tool_call_id: "call_1", content: "Done!" });
      answer(DONE);
      await complete();
      const [called] = vendor.answersIn(last());
      expect(JSON.stringify(called)).toContain(JSON.stringify({ input: patch }));
      expect(vendor.resultsIn(last())).toEqual([["call_1"]]);
    });

  test("of tools that may not all be called now the provider has those that may, and that is told", async () => {
    answer(DONE);
    const named = (name: string): Tool => ({ type: "function", function: { name } });
    const { response } = await client.chat.completions
      .create({
        model,
        messages: [{ role: "user", content: "Go." }],
        tools: [named("a"), named("b"), { type: "custom", custom: { name: "c" } }],
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: {
            mode: "auto",
            tools: [named("b"), { type: "custom", custom: { name: "c" } }] as unknown as Record<
              string,
              unknown
            >[],
          },
        },
      })
      .withResponse();
    expect(namesSent(last())).toEqual(["b", "c"]);
    expect(response.headers.get("warning")).toContain("tool_choice.allowed_tools became the list of tools");
  });
});
