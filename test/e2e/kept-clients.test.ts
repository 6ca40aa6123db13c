import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, type ModelMessage, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import type { UpstreamDouble } from "../upstream/double.ts";
import { askKept, KEPT_MODELS, startKeptDouble, startKeptGateway } from "./kept-station.ts";

// Libraries that name earlier answers unless they are told not to, at a provider that speaks Responses and at one that
// does not.

let double: UpstreamDouble;
let says: Awaited<ReturnType<typeof startKeptDouble>>["says"];
let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  ({ double, says } = await startKeptDouble());
  gateway = await startKeptGateway(double);
  openai = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => says((round) => ({ text: `Answer ${round}.` })));

/** Texts, thoughts and calls that the provider was sent last, in order, whatever its format. */
const told = (): string[] => {
  const { input, messages }: Json = double.requests.at(-1)!.json();
  const text = JSON.stringify(input ?? messages).replaceAll('\\"', "'");
  return [...text.matchAll(/Ask \d|Answer \d|Thought \d|'?city'?"?:['"]\w+|\d in \w+/g)].map(([found]) =>
    found.replaceAll(/['":]|city/g, ""),
  );
};

describe.each(KEPT_MODELS)("%s", (model) => {
  const weather = tool({
    description: "w",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `3 in ${city}`,
  });
  const settings = () => ({
    model: createOpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key })(model),
    tools: { weather },
    stopWhen: isStepCount(5),
    maxRetries: 0,
    providerOptions: { openai: { forceReasoning: true, reasoningSummary: "auto" } },
  });
  /** Two rounds of calls, then words. */
  const script = (round: number) =>
    round < 3 ? { call: { city: round === 1 ? "Oslo" : "Rome" } } : { text: `Answer ${round}.` };

  describe("the AI SDK, as it is by itself,", () => {
    test("calls tools over several steps, and goes on with the chat", async () => {
      says(script);
      const asked: ModelMessage[] = [{ role: "user", content: "Ask 1" }];
      const first = await generateText({ ...settings(), messages: asked });
      expect([first.text, first.steps.length]).toEqual(["Answer 3.", 3]);
      expect(told()).toEqual(["Ask 1", "Thought 1", "Oslo", "3 in Oslo", "Thought 2", "Rome", "3 in Rome"]);
      const messages = [...asked, ...first.response.messages, { role: "user" as const, content: "Ask 2" }];
      const second = await generateText({ ...settings(), messages });
      expect(second.text).toBe("Answer 4.");
      expect(told().slice(-3)).toEqual(["Thought 3", "Answer 3", "Ask 2"]);
    });

    test("the same streamed", async () => {
      says(script);
      const result = streamText({ ...settings(), prompt: "Ask 1" });
      const parts: string[] = [];
      for await (const part of result.stream) parts.push(part.type);
      expect(parts).not.toContain("error");
      expect(await result.text).toBe("Answer 3.");
      expect(told()).toEqual(["Ask 1", "Thought 1", "Oslo", "3 in Oslo", "Thought 2", "Rome", "3 in Rome"]);
    });
  });

  test("the official SDK goes on by the id of an answer, and its helper too", async () => {
    const first = await openai.responses.create({ model, input: "Ask 1" });
    const second = await openai.responses
      .stream({ model, input: "Ask 2", previous_response_id: first.id })
      .finalResponse();
    expect([second.output_text, second.previous_response_id]).toEqual(["Answer 2.", first.id]);
    await openai.responses.create({ model, input: "Ask 3", previous_response_id: second.id });
    expect(told()).toEqual(["Ask 1", "Thought 1", "Answer 1", "Ask 2", "Thought 2", "Answer 2", "Ask 3"]);
  });

  test("the official SDK reads an answer, pages through what it was given, and deletes it", async () => {
    const first = await openai.responses.create({ model, input: "Ask 1" });
    const second = await openai.responses.create({
      model,
      input: [
        { role: "user", content: "Ask 2" },
        { role: "user", content: [{ type: "input_text", text: "Ask 3" }] },
      ],
      previous_response_id: first.id,
    });
    expect(await openai.responses.retrieve(second.id)).toEqual(second);
    const items: Json[] = [];
    const pages = openai.responses.inputItems.list(second.id, { limit: 2, order: "asc" });
    for await (const item of pages) items.push(item);
    expect(items.map(({ type, role, content }) => [type, role, content?.[0].text])).toEqual([
      ["message", "user", "Ask 1"],
      ["reasoning", undefined, undefined],
      ["message", "assistant", "Answer 1."],
      ["message", "user", "Ask 2"],
      ["message", "user", "Ask 3"],
    ]);
    expect(new Set(items.map(({ id }) => id)).size).toBe(5);
    const newest = await openai.responses.inputItems.list(second.id, { limit: 1 });
    expect([newest.data[0]!.id, newest.has_more]).toEqual([items[4].id, true]);
    // What a list names can be named.
    await openai.responses.create({ model, input: [items[3], { type: "item_reference", id: items[4].id }] });
    expect(told()).toEqual(["Ask 2", "Ask 3"]);
    await openai.responses.delete(second.id);
    const gone: unknown = await openai.responses.retrieve(second.id).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(OpenAI.NotFoundError);
  });

  test("an answer cannot be cancelled: it has ended", async () => {
    const { id } = await askKept(gateway, { model });
    const refused: unknown = await openai.responses.cancel(id).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 404, type: "not_found_error" });
    expect((refused as Error).message).toContain("Only background responses can be cancelled");
    const unknown: unknown = await openai.responses.cancel("resp_x").catch((error: unknown) => error);
    expect(unknown).toMatchObject({ status: 404 });
  });
});
