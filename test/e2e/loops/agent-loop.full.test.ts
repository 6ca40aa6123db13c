import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../../gateway/gateway.ts";
import {
  callId,
  type Script,
  type ScriptedVendors,
  signatureOf,
  startScriptedVendors,
  type VendorName,
} from "../../upstream/scripted-vendors.ts";
import { type Caller, CALLERS } from "./callers.ts";

// An agent's loop of four rounds, each with thinking and two parallel calls, by the SDK of each format with a model of
// each vendor. Calls and results arrive whole and in order, and what the model has signed comes back to it.

const TOOL = "look_up";
const ROUNDS = 4;
const CALLS = 2;

const MODELS: Readonly<Record<VendorName, string>> = {
  openai: "openai/gpt-5.6-luna",
  deepseek: "deepseek/deepseek-v4-pro",
  anthropic: "anthropic/claude-haiku-4.5",
  google: "google/gemini-3.8-flash",
};

/** One that its provider serves by Responses and in no other way. */
const RESPONSES_ALONE = "openai/gpt-alone";

const inputOf = (round: number, call: number): Json => ({
  word: `w${round}.${call} "日本" \\ 🌙`,
  depth: call,
});
const outputOf = (round: number, call: number): string => `found ${round}.${call}:\n\t"é"`;
const thinkingOf = (round: number): string => `Round ${round}: which words?`;

/** The model's part: it looks up two words in each round, and then is done. */
const SCRIPT: Script = (_, results) => {
  const round = results / CALLS;
  if (round >= ROUNDS) return { thinking: "Enough.", text: "It is done." };
  const calls = [0, 1].map((call) => ({ tool: TOOL, input: inputOf(round, call) }));
  return { thinking: thinkingOf(round), text: `Round ${round}.`, calls };
};

let gateway: TestGateway;
let vendors: ScriptedVendors;

beforeAll(async () => {
  vendors = await startScriptedVendors(SCRIPT);
  const settings = `
providers:
  responses-alone:
    protocol: responses
    dialect: native
    base_url: "${vendors.environment.OPENAI_BASE_URL}"
    api_key: "${vendors.environment.OPENAI_API_KEY}"
    models: [{ id: ${RESPONSES_ALONE}, upstream_id: gpt, prices: { input: 1, output: 2 } }]
`;
  gateway = await startGateway({ environment: vendors.environment, settings });
});
afterAll(async () => {
  await gateway.close();
  await vendors.close();
});

describe.each([true, false])("streamed: %p", (streamed) => {
  for (const caller of CALLERS) {
    for (const [vendor, model] of Object.entries(MODELS) as [VendorName, string][]) {
      test(`${caller.name}, ${vendor}`, async () => {
        const refused = vendors.refusals.length;
        const final = await loop(caller, model, streamed);
        expect(vendors.refusals.slice(refused)).toEqual([]);
        expect(final).toBe("It is done.");
        JUDGES[vendor](vendors.received.at(-1)?.body, caller);
      });
    }
    test(`${caller.name}, a provider that speaks Responses alone`, async () => {
      const refused = vendors.refusals.length;
      expect(await loop(caller, RESPONSES_ALONE, streamed)).toBe("It is done.");
      expect(vendors.refusals.slice(refused)).toEqual([]);
      expectItems(vendors.received.at(-1)?.body);
    });
  }
});

describe("OpenAI called by Responses, as an operator prefers", () => {
  for (const caller of CALLERS.filter(({ name }) => name !== "Responses"))
    test(`${caller.name}: all but clients of chat completions keep what the model thought`, async () => {
      const settings = "providers: { openai: { protocols: [responses, chat_completions] } }";
      const preferring = await startGateway({ environment: vendors.environment, settings });
      try {
        expect(await loop(caller, MODELS.openai, true, preferring)).toBe("It is done.");
      } finally {
        await preferring.close();
      }
      const body: Json = vendors.received.at(-1)?.body;
      if (caller.name === "chat completions") expectChat(body);
      else expectItems(body);
    });
});

/** Goes on until the model calls nothing any more; what it says then. */
async function loop(caller: Caller, model: string, streamed: boolean, at = gateway): Promise<string> {
  const history = caller.begin("Look the words up.");
  for (let round = 0; ; round += 1) {
    const { text, calls, kept } = await caller.ask(at, {
      model,
      history,
      tools: [TOOL],
      streamed,
    });
    if (calls.length === 0) return text;
    expect(round).toBeLessThan(ROUNDS);
    expect(text).toBe(`Round ${round}.`);
    expect(calls.map(({ name, input }) => ({ name, input }))).toEqual(
      [0, 1].map((call) => ({ name: TOOL, input: inputOf(round, call) })),
    );
    const outputs = [0, 1].map((call) => outputOf(round, call));
    history.push(...kept, ...caller.results(calls, outputs));
  }
}

const each = <T>(of: (round: number) => T): T[] => Array.from({ length: ROUNDS }, (_, round) => of(round));

/** Fails unless the last request has the whole conversation, as the vendor's own client would have sent it. */
const JUDGES: Readonly<Record<VendorName, (body: Json, caller: Caller) => void>> = {
  openai: (body, { name }) => (name === "Responses" ? expectItems(body) : expectChat(body)),
  deepseek(body, { name }) {
    expectChat(body);
    const thoughts = body.messages
      .filter(({ role }: Json) => role === "assistant")
      .map(({ reasoning_content: text }: Json) => text);
    // Chat's own SDK keeps the last piece of such a text alone; all others give it back whole.
    if (name !== "chat completions") expect(thoughts).toEqual(each(thinkingOf));
  },
  anthropic({ messages }) {
    const turns = messages.filter(({ role }: Json) => role === "assistant");
    expect(turns.map(({ content }: Json) => content)).toEqual(
      each((round) => [
        { type: "thinking", thinking: thinkingOf(round), signature: signatureOf(round * CALLS) },
        { type: "text", text: `Round ${round}.` },
        ...[0, 1].map((call) => ({
          type: "tool_use",
          id: callId(round * CALLS, call),
          name: TOOL,
          input: inputOf(round, call),
        })),
      ]),
    );
    const results = messages.filter(
      ({ content }: Json) => Array.isArray(content) && content[0].type === "tool_result",
    );
    expect(
      results.map(({ content }: Json) =>
        content.map(({ tool_use_id: id, content: said }: Json) => [
          id,
          typeof said === "string" ? said : said.map(({ text }: Json) => text).join(""),
        ]),
      ),
    ).toEqual(each((round) => [0, 1].map((call) => [callId(round * CALLS, call), outputOf(round, call)])));
  },
  google({ contents }) {
    const turns = contents.filter(({ role }: Json) => role === "model");
    const called = turns.map(({ parts }: Json) =>
      parts.filter((part: Json) => part.functionCall !== undefined),
    );
    expect(
      called.map((parts: Json[]) =>
        parts.map(({ functionCall: { name, args }, thoughtSignature = "" }) => [
          name,
          args,
          thoughtSignature,
        ]),
      ),
    ).toEqual(
      each((round) =>
        [0, 1].map((call) => [TOOL, inputOf(round, call), call === 0 ? signatureOf(round * CALLS) : ""]),
      ),
    );
    const results = contents.filter(({ parts }: Json) => parts[0].functionResponse !== undefined);
    expect(
      results.map(({ parts }: Json) =>
        parts.map(({ functionResponse: { name, response } }: Json) => [name, response]),
      ),
    ).toEqual(each((round) => [0, 1].map((call) => [TOOL, { output: outputOf(round, call) }])));
  },
};

function expectChat({ messages }: Json): void {
  const turns = messages.filter(({ role }: Json) => role === "assistant");
  expect(turns.map(({ content }: Json) => textOf(content))).toEqual(each((round) => `Round ${round}.`));
  expect(
    turns.map(({ tool_calls: calls }: Json) =>
      calls.map(({ id, function: called }: Json) => [id, called.name, JSON.parse(called.arguments)]),
    ),
  ).toEqual(each((round) => [0, 1].map((call) => [callId(round * CALLS, call), TOOL, inputOf(round, call)])));
  const results = messages.filter(({ role }: Json) => role === "tool");
  expect(results.map(({ tool_call_id: id, content }: Json) => [id, textOf(content)])).toEqual(
    each((round) => [0, 1].map((call) => [callId(round * CALLS, call), outputOf(round, call)])).flat(),
  );
}

function expectItems({ input }: Json): void {
  const of = (wanted: string): Json[] => input.filter(({ type }: Json) => type === wanted);
  expect(of("reasoning").map(({ encrypted_content: sealed }) => sealed)).toEqual(
    each((round) => signatureOf(round * CALLS)),
  );
  expect(
    of("function_call").map(({ call_id: id, name, arguments: text }) => [id, name, JSON.parse(text)]),
  ).toEqual(
    each((round) => [0, 1].map((call) => [callId(round * CALLS, call), TOOL, inputOf(round, call)])).flat(),
  );
  expect(of("function_call_output").map(({ call_id: id, output }) => [id, output])).toEqual(
    each((round) => [0, 1].map((call) => [callId(round * CALLS, call), outputOf(round, call)])).flat(),
  );
}

function textOf(content: Json): string {
  return typeof content === "string" ? content : content.map(({ text }: Json) => text).join("");
}
