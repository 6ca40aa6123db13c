import { describe, expect, test } from "bun:test";
import { encodeUsage, readUsage } from "./usage.ts";

describe("usage is read into disjoint buckets", () => {
  test("what was cached and written is in the input, reasoning in the output", () => {
    const usage = {
      input_tokens: 8_576,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 4_418 },
      output_tokens: 70,
      output_tokens_details: { reasoning_tokens: 64 },
      total_tokens: 8_646,
    };
    const read = readUsage({ usage });
    expect(read?.usage).toMatchObject({ input: 4_158, cacheWrite5m: 4_418, output: 6, reasoning: 64 });
    expect(read?.flags).toEqual([]);
    expect(encodeUsage(read!.usage)).toEqual(usage);
  });

  test("more cached than there is, and more reasoning, is held to what there is", () => {
    const usage = {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 9 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 3 },
    };
    const read = readUsage({ usage });
    expect(read?.usage).toMatchObject({ input: 0, cacheRead: 5, output: 0, reasoning: 2 });
    expect(read?.flags.length).toBeGreaterThan(0);
  });

  test("counts of tokens that no bucket is for are named, and change nothing", () => {
    const usage = { input_tokens: 5, output_tokens: 2, input_tokens_details: {}, total_tokens: 7 };
    const more = {
      ...usage,
      holo_tokens: 3,
      none_tokens: 0,
      cost_in_usd_ticks: 9,
      input_tokens_details: { video_tokens: 2 },
    };
    const read = readUsage({ usage: more });
    expect(read).toEqual({
      ...readUsage({ usage })!,
      unknown: ["usage.holo_tokens", "usage.input_tokens_details.video_tokens"],
    });
    expect(readUsage({ usage })).not.toHaveProperty("unknown");
  });

  test("searches are those that the provider counts, else those among the items; pages are free", () => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const call = (type: string) => ({ type: "web_search_call", action: { type } });
    const output = [call("search"), call("open_page"), { type: "web_search_call" }];
    expect(readUsage({ usage, output })?.usage.webSearches).toBe(2);
    const tool_usage = { web_search: { num_requests: 1 } };
    expect(readUsage({ usage, output, tool_usage })?.usage.webSearches).toBe(1);
    expect(readUsage({ usage })?.usage.webSearches).toBeUndefined();
  });

  test("none is none", () => {
    for (const usage of [undefined, null, {}, "x"]) expect(readUsage({ usage })).toBeUndefined();
  });
});
