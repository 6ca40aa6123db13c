import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { spentBy } from "../gateway/spent.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import {
  answerInTurn,
  answerOf,
  creditOf,
  HELLO,
  roundOf,
  type Said,
  VENDORS,
} from "./translated-vendors.ts";

// Claude and Gemini asked in Responses by the official SDK, unmodified: only its base address and key are set. The
// upstream is the double, in each vendor's own format and as strict as the vendor is.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
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

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const tools: NonNullable<Create["tools"]> = [
  {
    type: "function",
    name: "weather",
    description: "The weather of a city",
    strict: false,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];

/** The answer to one request, plain or collected by the SDK's own helper. */
async function respond(body: Create, streamed: boolean): Promise<Json> {
  if (!streamed) return client.responses.create(body);
  const { stream: _, ...rest } = body;
  return client.responses.stream(rest).finalResponse();
}

const last = (): Json => double.requests.at(-1)?.json();

describe.each(VENDORS)("%s", (_name, vendor) => {
  const { model } = vendor;
  const answer = (...saids: readonly Said[]): void => answerInTurn(double, vendor, saids);

  for (const streamed of [false, true]) {
    const how = streamed ? ", streamed" : "";

    test(`the response arrives with usage and credit, the price times what was used${how}`, async () => {
      answer(HELLO);
      const spent = await spentBy(gateway, async () => {
        const response = await respond(
          { model, instructions: "Be short.", input: "Say hello.", max_output_tokens: 50, store: false },
          streamed,
        );
        expect(response).toMatchObject({
          object: "response",
          status: "completed",
          model,
          store: false,
          instructions: "Be short.",
          output_text: "Hello there.",
          usage: { input_tokens: 11, output_tokens: 4, total_tokens: 15 },
          credit: creditOf(vendor, HELLO),
        });
      });
      expect(spent).toBe(creditOf(vendor, HELLO));
    });

    test(`four rounds of two calls each, thinking on: every answer goes back as it came${how}`, async () => {
      const rounds = [1, 2, 3, 4].map(roundOf);
      const end: Said = { text: "Rome.", input: 500, output: 2 };
      answer(...rounds, end);
      const input: Json[] = [{ role: "user", content: "Where is it warm?" }];
      let credits = 0;
      const spent = await spentBy(gateway, async () => {
        for (let round = 0; round <= rounds.length; round += 1) {
          const response = await respond(
            {
              model,
              input,
              tools,
              store: false,
              reasoning: { effort: "low", summary: "auto" },
              max_output_tokens: 4_000,
            },
            streamed,
          );
          credits += response.credit;
          expect(response.status).toBe("completed");
          // Clients send items back as they came.
          input.push(...response.output);
          if (round === rounds.length) {
            expect(response.output_text).toBe("Rome.");
            break;
          }
          const calls = response.output.filter(({ type }: Json) => type === "function_call");
          expect(
            calls.map((call: Json) => ({
              id: call.call_id,
              name: call.name,
              input: JSON.parse(call.arguments),
            })),
          ).toEqual(rounds[round]!.calls as Json);
          // A client may answer in any order.
          for (const { call_id } of calls.toReversed())
            input.push({ type: "function_call_output", call_id, output: '{"celsius":3}' });
        }
      });
      expect(double.requests.length).toBe(5);
      expect(vendor.answersIn(last())).toEqual(rounds.map((said) => vendor.sentBack(said)) as Json);
      expect(vendor.resultsIn(last())).toEqual(rounds.map(({ calls }) => calls!.map(({ id }) => id)));
      const due = [...rounds, end].reduce((sum, said) => sum + creditOf(vendor, said), 0);
      expect(spent).toBeCloseTo(due, 6);
      expect(credits).toBeCloseTo(due, 6);
    });
  }

  test("a conversation is compacted into one item, and goes on from there", async () => {
    answer({ text: "The user wants Oslo.", input: 50, output: 8 }, HELLO);
    const asked = { role: "user" as const, content: "Tell me of Oslo." };
    const trigger = { type: "compaction_trigger" };
    const compacted: Json = await client.responses
      .stream({ model, tools, store: false, input: [asked, trigger] as Json })
      .finalResponse();
    expect(compacted.output).toMatchObject([{ type: "compaction" }]);
    const sent = JSON.stringify(last());
    expect(sent).toContain("hand-over");
    expect(sent).not.toContain("compaction");
    await client.responses.create({
      model,
      store: false,
      input: [asked, ...compacted.output, { role: "user", content: "Go on." }],
    });
    expect(JSON.stringify(last())).toContain("The user wants Oslo.");
  });

  for (const streamed of [false, true])
    test(`a custom tool is called with its text, which goes back as it came${streamed ? ", streamed" : ""}`, async () => {
      const patch = '*** Begin Patch\n+say "hi" \u00e9\n*** End Patch';
      const call = { id: "call_1", name: "apply_patch", input: { input: patch } };
      const said: Said = { calls: [call], signature: btoa("s ~~~"), thinking: "Hm.", input: 11, output: 4 };
      answer(said, HELLO);
      const format = { type: "grammar", syntax: "lark", definition: "start: /x/" } as const;
      const asked = { role: "user" as const, content: "Patch it." };
      const body: Create = {
        model,
        store: false,
        input: [asked],
        tools: [{ type: "custom", name: "apply_patch", format }],
        reasoning: { effort: "low", summary: "auto" },
      };
      const response = await respond(body, streamed);
      const custom = response.output.at(-1);
      expect(custom).toMatchObject({
        type: "custom_tool_call",
        name: "apply_patch",
        input: patch,
        call_id: "call_1",
      });
      expect(JSON.stringify(last().tools)).toContain("start: /x/");
      const result = { type: "custom_tool_call_output", call_id: "call_1", output: "Done!" };
      await respond({ ...body, input: [asked, ...response.output, result] }, streamed);
      expect(vendor.answersIn(last())).toEqual([vendor.sentBack(said)] as Json);
    });

  test("tools of namespaces are called as the client knows them", async () => {
    const call = { id: "call_1", name: "b__search", input: { city: "Oslo" } };
    answer({ calls: [call], input: 11, output: 4 });
    const inner = {
      type: "function",
      name: "search",
      strict: false,
      parameters: { type: "object", properties: {} },
    };
    const spaces = ["a", "b"].map((name) => ({ type: "namespace", name, description: name, tools: [inner] }));
    const response: Json = await client.responses.create({
      model,
      store: false,
      input: "Go.",
      tools: spaces as Json,
    });
    expect(response.output.at(-1)).toMatchObject({ type: "function_call", namespace: "b", name: "search" });
    expect(response.tools).toMatchObject(spaces);
  });

  test("structured output: the schema goes in, and the SDK's helper parses what comes out", async () => {
    answer({ text: '{"city":"Oslo"}', input: 11, output: 4 });
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const response = await client.responses.parse({
      model,
      input: "Where?",
      text: { format: { type: "json_schema", name: "place", strict: true, schema } },
    });
    expect(JSON.parse(response.output_text)).toEqual({ city: "Oslo" });
    const { output_config: config, generationConfig } = last();
    expect(config?.format.schema ?? generationConfig.responseJsonSchema).toEqual(schema);
  });

  test("thinking that its vendor does not know again is left out, and the request goes on", async () => {
    answer(HELLO);
    const { response } = await client.responses
      .create({
        model,
        store: false,
        input: [
          { role: "user", content: "Hi." },
          { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAABforeign" },
          { role: "assistant", content: "Hello." },
          { role: "user", content: "Again." },
        ],
      })
      .withResponse();
    expect(response.headers.get("warning")).toContain("input[1] was left out");
    expect(JSON.stringify(last())).not.toContain("gAAAAAB");
  });

  test("what agents send with every request is left out by name: a search of the web, and hosted tools", async () => {
    answer(HELLO);
    const { response } = await client.responses
      .create({
        model,
        input: "Hi.",
        tools: [...tools, { type: "file_search", vector_store_ids: ["vs_1"] }],
        include: ["reasoning.encrypted_content"],
      })
      .withResponse();
    expect(response.headers.get("warning")).toContain("file_search");
    const { tools: sent } = last();
    expect(JSON.stringify(sent)).not.toContain("file_search");
  });

  test("what cannot be said is the SDK's BadRequestError with the field, before the provider is asked", async () => {
    answer(HELLO);
    for (const [param, body] of [
      ["tools[0].type", { tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }],
      [
        "input[1].type",
        {
          input: [
            { role: "user", content: "Hi." },
            { type: "mcp_call", id: "mcp_1" },
          ],
        },
      ],
      [
        "input[0].content[0].file_id",
        { input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }] },
      ],
    ] as const) {
      const error: Json = await client.responses
        .create({ model, input: "Hi.", ...body } as unknown as Create)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error.param).toBe(param);
    }
    expect(double.requests.length).toBe(0);
  });

  test("a stream that breaks in the middle raises in the SDK, raw and helper", async () => {
    const long: Said = { text: "one two three four five six seven", input: 11, output: 400 };
    const body = vendor.stream({ ...long, thinking: "Hm.", signature: btoa("s") });
    const cut = { ...sseAnswer(body), framing: "close" as const };
    double.handle(() => ({ ...cut, end: { at: body.length - 120, how: "fin" as const } }));
    const raw = async (): Promise<string[]> => {
      const types: string[] = [];
      const stream = await client.responses.create({ model, input: "Go.", stream: true });
      for await (const { type } of stream) types.push(type);
      return types;
    };
    const helped = client.responses.stream({ model, input: "Go." }).finalResponse();
    for (const thrown of await Promise.all(
      [raw(), helped].map((run) => run.catch((error: unknown) => error)),
    ))
      expect(thrown).toBeInstanceOf(OpenAI.APIError);
    await gateway.settled();
  });

  test("an overloaded provider is a 503", async () => {
    double.handle(() => vendor.overloaded);
    const error: Json = await client.responses
      .create({ model, input: "Hi." })
      .catch((thrown: unknown) => thrown);
    expect(error.status).toBe(503);
  });
});

test("what one vendor's model thought is left out for another's, and the request goes on", async () => {
  const [, claude] = VENDORS[0];
  const [, gemini] = VENDORS[1];
  const said: Said = { thinking: "Hm.", signature: btoa("signed ~~~"), text: "Hello.", input: 11, output: 4 };
  for (const [from, to] of [
    [claude, gemini],
    [gemini, claude],
  ] as const) {
    double.reset();
    double.handle((request) =>
      answerOf(
        double.requests.length === 1 ? from : to,
        request,
        double.requests.length === 1 ? said : HELLO,
      ),
    );
    const asked = { role: "user" as const, content: "Hi." };
    const reasoning = { effort: "low", summary: "auto" } as const;
    const first = await client.responses.create({
      model: from.model,
      store: false,
      input: [asked],
      reasoning,
    });
    const second = await client.responses.create({
      model: to.model,
      store: false,
      input: [asked, ...(first.output as Json), asked],
    });
    expect(second.output_text).toBe("Hello there.");
    const sent = JSON.stringify(last());
    for (const gone of ["Hm.", said.signature, "sw1."]) expect(sent).not.toContain(gone as string);
    expect(sent).toContain("Hello.");
  }
});
