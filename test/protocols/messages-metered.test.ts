import { describe, expect, test } from "bun:test";
import { inputTokens, outputTokens } from "../../src/core/money/usage.ts";
import { servedBy } from "../../src/protocols/index.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";
import { type Json } from "./chat-events.ts";
import { chatTarget } from "./chat-client.ts";
import { wireRequest } from "./wire-request.ts";

// What a caller of messages is charged for at a provider of chat completions: as one of the format itself would be.

const WAY = servedBy("compat_messages", "compat_chat_completions")!;

function metered(usage: Json, within: "top" | "choice" = "top") {
  const choice = { index: 0, delta: {}, finish_reason: "stop" };
  const last = within === "top" ? { choices: [choice], usage } : { choices: [{ ...choice, usage }] };
  const chunks: Json = [
    { id: "a", choices: [{ index: 0, delta: { content: "Hi" } }] },
    { id: "a", ...last },
    "[DONE]",
  ];
  const stream = WAY.openStream({ ...ANSWER_CONTEXT, native: false });
  stream.push(sse(chunks));
  stream.end(true);
  return stream.metered().usage;
}

describe("usage", () => {
  test("that leaves reasoning out of the completion is charged with it", () => {
    const usage = metered({
      prompt_tokens: 10_120,
      completion_tokens: 1_499,
      total_tokens: 14_428,
      completion_tokens_details: { reasoning_tokens: 2_809 },
    });
    expect([inputTokens(usage), outputTokens(usage)]).toEqual([10_120, 4_308]);
  });

  test("that stands in a choice alone is found there", () => {
    const usage = metered({ prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }, "choice");
    expect([inputTokens(usage), outputTokens(usage)]).toEqual([9, 4]);
  });

  test("with more cached tokens than there are is held to what there is", () => {
    const details = { cached_tokens: 50 };
    const usage = metered({
      prompt_tokens: 9,
      completion_tokens: 4,
      total_tokens: 13,
      prompt_tokens_details: details,
    });
    expect([usage.input, usage.cacheRead]).toEqual([0, 9]);
  });
});

describe("reasoning that its vendor counts beside the bound is held for", () => {
  const heldAt = (vendor: "xai" | "dashscope" | "openai", body: object) => {
    const messages = [{ role: "user", content: "Hi" }];
    const request = WAY.readRequest(wireRequest({ model: "v/m", max_tokens: 99, messages, ...body }));
    const { maxOutputTokens, reasoningOnTop } = WAY.demandAt!(request, chatTarget(vendor));
    return [maxOutputTokens, reasoningOnTop];
  };
  test("without an end, up to the budget that was set, or not at all", () => {
    expect(heldAt("openai", {})).toEqual([99, undefined]);
    expect(heldAt("xai", {})).toEqual([99, Infinity]);
    expect(
      heldAt("dashscope", { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000 }),
    ).toEqual([2_000, 1_024]);
    expect(heldAt("dashscope", { thinking: { type: "disabled" } })).toEqual([99, undefined]);
  });
});
