import { describe, expect, test } from "bun:test";
import { chatCompletion } from "../upstream/chat-bytes.ts";
import { geminiAnswer } from "../upstream/gemini-bytes.ts";
import type { Json } from "./chat-events.ts";
import { PROVIDER, TranslatedWay } from "./translated-way.ts";

// How likely each token was, asked for in one format and told in another, where both have it.

const messages = [{ role: "user", content: "Hi" }];
const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
const token = (said: string, logprob: number) => ({
  token: said,
  logprob,
  bytes: [...new TextEncoder().encode(said)],
});
const TOLD = [
  { ...token("He", -0.25), top_logprobs: [token("He", -0.25), token("Hé", -1.0489701e-5)] },
  { ...token("llo", -1), top_logprobs: [token("llo", -1), token("y", -3)] },
];
const chance = ({ token: said, logprob }: Json) => ({ token: said, logProbability: logprob });
const RESULT = {
  chosenCandidates: TOLD.map(chance),
  topCandidates: TOLD.map(({ top_logprobs: top }) => ({ candidates: top.map(chance) })),
};

const atGemini = (): Json => {
  const answer: Json = geminiAnswer({ parts: ["Hello"] });
  answer.candidates[0].logprobsResult = RESULT;
  return answer;
};
const atChat = (): Json => {
  const answer: Json = chatCompletion({ words: ["Hello"] });
  answer.choices[0].logprobs = { content: TOLD, refusal: null };
  return answer;
};
const chunks = (): Json[] => [
  ...["He", "llo"].map((content, i) => ({
    id: "c1",
    choices: [{ index: 0, delta: { content }, logprobs: { content: [TOLD[i]] }, finish_reason: null }],
  })),
  { id: "c1", choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" }] },
];

describe("chat completions", () => {
  const body = { messages, logprobs: true, top_logprobs: 2 };

  test("of Gemini, plain and streamed", () => {
    const way = new TranslatedWay("compat_chat_completions", PROVIDER.gemini());
    const { up } = way.sent(body);
    expect(up.generationConfig).toMatchObject({ responseLogprobs: true, logprobs: 2 });
    expect(way.sent({ messages, logprobs: true }).up.generationConfig.logprobs).toBeUndefined();
    expect(way.plain(atGemini()).choices[0].logprobs).toEqual({ content: TOLD, refusal: null });
    const said = way.streamed([atGemini()]).flatMap(({ choices = [] }) => choices);
    expect(said.flatMap(({ logprobs }: Json) => logprobs?.content ?? [])).toEqual(TOLD);
    expect(said.at(-1).finish_reason).toBe("stop");
  });

  test("of a provider that speaks Responses", () => {
    const way = new TranslatedWay("compat_chat_completions", PROVIDER.responses());
    expect(way.sent(body).up).toMatchObject({ top_logprobs: 2 });
    expect(way.sent(body).up.include).toContain("message.output_text.logprobs");
    const part = { type: "output_text", text: "Hello", annotations: [], logprobs: TOLD };
    const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] };
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const answer = { id: "resp_1", object: "response", status: "completed", output: [item], usage };
    expect(way.plain(answer).choices[0].logprobs.content).toEqual(TOLD);
  });

  test("of Claude is a 400 by name", () => {
    const way = new TranslatedWay("compat_chat_completions", PROVIDER.claude());
    expect(way.refusalOf(body)[0]).toBe("logprobs");
  });
});

describe("Responses", () => {
  test("of a vendor of chat completions that has them, plain and streamed; of another it is a 400", () => {
    const way = new TranslatedWay("compat_responses", PROVIDER.chat("deepseek"));
    const { up, context } = way.sent({ input: "Hi", top_logprobs: 2 });
    expect(up).toMatchObject({ logprobs: true, top_logprobs: 2 });
    const partOf = ({ output }: Json): Json => output[0].content[0];
    expect(partOf(way.plain(atChat(), context)).logprobs).toEqual(TOLD);
    const events = way.streamed(chunks(), { context });
    expect(events.find(({ type }) => type === "response.output_text.done").logprobs).toEqual(TOLD);
    expect(partOf(events.at(-1).response).logprobs).toEqual(TOLD);
    for (const provider of [PROVIDER.claude(), PROVIDER.chat("moonshot")]) {
      const other = new TranslatedWay("compat_responses", provider);
      expect(other.refusalOf({ input: "Hi", top_logprobs: 2 })[0]).toBe("top_logprobs");
    }
    const named = { input: "Hi", include: ["message.output_text.logprobs"] };
    expect(way.sent(named).up.logprobs).toBe(true);
  });
});

describe("generateContent", () => {
  test("of a vendor of chat completions, plain and streamed", () => {
    const way = new TranslatedWay("compat_generate_content", PROVIDER.chat());
    const generationConfig = { responseLogprobs: true, logprobs: 2 };
    expect(way.sent({ contents, generationConfig }).up).toMatchObject({ logprobs: true, top_logprobs: 2 });
    expect(way.plain(atChat()).candidates[0].logprobsResult).toEqual(RESULT);
    expect(way.streamed(chunks()).at(-1).candidates[0].logprobsResult).toEqual(RESULT);
    const claude = new TranslatedWay("compat_generate_content", PROVIDER.claude());
    expect(claude.refusalOf({ contents, generationConfig })[0]).toBe("generationConfig.responseLogprobs");
  });
});
