import { describe, expect, test } from "bun:test";
import { PLAIN_TARGET } from "../../test/protocols/plain-target.ts";
import { wireRequest } from "../../test/protocols/wire-request.ts";
import type { ProtocolId } from "../core/model.ts";
import { RELAYS, servedBy } from "./index.ts";

// A warning tells a caller of a field that the caller sent, and of no other.

const FORMATS = Object.keys(RELAYS) as ProtocolId[];
const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
const said = [{ role: "user", content: "Hi" }];

/** What each format cannot do without. */
const LEAST: Readonly<Record<ProtocolId, object>> = {
  compat_chat_completions: { model: "v/m", messages: said },
  compat_messages: { model: "v/m", max_tokens: 50, messages: said },
  compat_generate_content: { contents },
  compat_responses: { model: "v/m", input: "Hi", store: false },
};

function warningsOf(asked: ProtocolId, spoken: ProtocolId, more: object = {}): readonly string[] {
  const way = servedBy(asked, spoken);
  if (way === undefined) throw new Error("There is no such way.");
  const address = asked === "compat_generate_content" ? { model: "v/m", stream: false } : undefined;
  const wire = {
    ...wireRequest({ ...LEAST[asked], ...more }),
    ...(address === undefined ? {} : { address }),
  };
  return way.upstreamBody(way.readRequest(wire), PLAIN_TARGET).warnings;
}

describe("a request that says no more than it must is warned of nothing", () => {
  for (const asked of FORMATS)
    for (const spoken of FORMATS)
      test(`${asked}, served in ${spoken}`, () => expect(warningsOf(asked, spoken)).toEqual([]));
});

describe("whether thinking is shown", () => {
  const level = { thinkingLevel: "LOW" };
  const told = "thinkingConfig.includeThoughts was left out: this model's provider has no such field";
  const alone =
    "thinkingConfig.includeThoughts was left out: nothing else was said of generationConfig.thinkingConfig";

  for (const spoken of ["compat_chat_completions", "compat_messages"] as const)
    test(`is no warning for who said nothing of it, to ${spoken}`, () => {
      for (const config of [{}, level])
        expect(
          warningsOf("compat_generate_content", spoken, { generationConfig: { thinkingConfig: config } }),
        ).toEqual([]);
      expect(warningsOf("compat_responses", spoken, { reasoning: { effort: "low" } })).toEqual([]);
    });

  test("is told to who said that it is not to be, where no field says so", () => {
    const hide = (more: object) => ({
      generationConfig: { thinkingConfig: { includeThoughts: false, ...more } },
    });
    const ask = "compat_generate_content";
    expect(warningsOf(ask, "compat_chat_completions", hide({}))).toEqual([told]);
    expect(warningsOf(ask, "compat_chat_completions", hide(level))).toEqual([told]);
    expect(warningsOf(ask, "compat_messages", hide({}))).toEqual([alone]);
    expect(warningsOf(ask, "compat_messages", hide(level))).toEqual([]);
  });
});
