import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { keepList } from "../../core/json/kept.ts";
import type { Model } from "../../core/model.ts";
import { sealCarrier } from "../carrier.ts";
import type { RelayTarget } from "../protocol.ts";
import { readRequest } from "./request.ts";
import { upstreamBody } from "./upstream-body.ts";

// A conversation that another vendor's model began goes on with Claude.

const CARRIER = sealCarrier({ kind: "thinking", issuer: "google", text: "", signature: "U0lH" }, undefined);
const foreign = `{"type":"thinking","thinking":"Hm.","signature":"${CARRIER}"}`;
const own = '{"type":"thinking", "thinking":"Own.","signature":"EuQB"}';
const text = '{"type":"text","text":"Well."}';
const call = '{"type":"tool_use","id":"a","name":"f","input":{"n":1.0}}';
const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}';
const user = '{"role":"user","content":"Hi"}';
const says = (...blocks: string[]): string => `{"role":"assistant","content":[${blocks.join(",")}]}`;

const target = (model: Partial<Model>, native: boolean): RelayTarget => ({
  model: { id: "v/m", ignoredParameters: [], maxOutput: 64_000, ...model } as unknown as Model,
  upstreamId: "up",
  unknownFields: "remove",
  native,
  streamUsageOption: false,
});

function send(messages: readonly string[], more = "", model: Partial<Model> = {}, native = true) {
  const body = `{"model":"v/m","max_tokens":5000,"messages":[${messages.join(",")}]${more}}`;
  const up = upstreamBody(readRequest(wireRequest(body)), target(model, native));
  const [, sent = ""] = /"messages":\[(.*)\]/.exec(new TextDecoder().decode(joinBytes(up.body))) ?? [];
  const { thinking } = JSON.parse(new TextDecoder().decode(joinBytes(up.body)));
  return { sent, thinking, warnings: up.warnings };
}

const LEFT = "thinking blocks of earlier answers were left out: only the model that wrote them can read them";

describe("what another vendor's model thought does not go up, and every other byte stays", () => {
  const redacted = `{"type":"redacted_thinking","data":"${CARRIER}"}`;
  const cases: readonly (readonly [name: string, blocks: readonly string[], left: readonly string[]])[] = [
    ["before a text", [foreign, text], [text]],
    ["after a text", [text, foreign], [text]],
    ["on both sides of what is Claude's own", [foreign, own, redacted, call, foreign], [own, call]],
    ["signed with nothing", [`{"type":"thinking","thinking":"Hm.","signature":""}`, text], [text]],
  ];
  test.each(cases)("%s", (_name, blocks, left) => {
    const { sent, warnings } = send([user, says(...blocks), user]);
    expect(sent).toBe([user, says(...left), user].join(","));
    expect(warnings).toEqual([LEFT]);
  });

  test("an answer of which nothing is left goes too, first, last or amid", () => {
    const nothing = says(foreign, redacted);
    expect(send([nothing, user, nothing, user, nothing]).sent).toBe([user, user].join(","));
  });

  test("a conversation that is Claude's own keeps its bytes, and nothing is said", () => {
    const messages = [user, says(own, call), result];
    expect(send(messages)).toMatchObject({ sent: messages.join(","), warnings: [] });
  });

  test("so does one whose answers are texts, have a signature on what is no thinking, or have none on what is", () => {
    for (const blocks of [
      '"Well."',
      `[{"type":"text","text":"x","signature":""}]`,
      '[{"type":"thinking","thinking":"Hm."}]',
    ]) {
      const messages = [user, `{"role":"assistant","content":${blocks}}`, user];
      expect(send(messages)).toMatchObject({ sent: messages.join(","), warnings: [] });
    }
  });

  test("a conversation that comes again is cleaned again, and at each provider by what that one refuses", () => {
    const unsigned = '{"type":"thinking","thinking":"Hm.","signature":""}';
    const request = (blocks: readonly string[]) => {
      const read = readRequest(
        wireRequest(`{"model":"v/m","max_tokens":5000,"messages":[${user},${says(...blocks)},${user}]}`),
      );
      keepList(read.body.messages, undefined);
      return (native: boolean) => upstreamBody(read, target({}, native)).warnings;
    };
    const another = request([foreign, text]);
    expect([another(true), another(true), another(false), another(false)]).toEqual([
      [LEFT],
      [LEFT],
      [LEFT],
      [LEFT],
    ]);
    const nobodys = request([unsigned, text]);
    expect([nobodys(false), nobodys(false), nobodys(true), nobodys(true)]).toEqual([[], [], [LEFT], [LEFT]]);
  });

  test("a compatible server may have signed with nothing itself", () => {
    const unsigned = says('{"type":"thinking","thinking":"Hm.","signature":""}', text);
    expect(send([user, unsigned, user], "", {}, false)).toMatchObject({
      sent: [user, unsigned, user].join(","),
      warnings: [],
    });
    expect(send([user, says(foreign, text), user], "", {}, false).warnings).toEqual([LEFT]);
  });
});

describe("calls that go on without what was thought before them", () => {
  const asked = ',"thinking":{"type":"enabled","budget_tokens":1024}';
  const OFF = "thinking was left out: the answer that called tools came back without thinking";

  test("switch thinking off for a model that measures it out: it refuses such an answer", () => {
    const { thinking, warnings } = send([user, says(foreign, call), result], asked, {
      thinking: { style: "budget", canBeOff: true },
    });
    expect(thinking).toBeUndefined();
    expect(warnings.join()).toContain(OFF);
  });

  const budget: Partial<Model> = { thinking: { style: "budget", canBeOff: true } };
  const runs = (...messages: string[]) => send(messages, asked, budget);

  test("switch it off whatever was thought before the user's last words, or said first in a text", () => {
    const earlier = says(own, text);
    const texts = '{"role":"assistant","content":"Well."}';
    for (const before of [
      [user, earlier, user],
      [user, earlier, '{"role":"user","content":[{"type":"text","text":"Hi"}]}'],
      [user, texts],
    ])
      expect(runs(...before, says(foreign, call), result).thinking).toBeUndefined();
  });

  test("leave it on where the first answer of the run began with what Claude thought, sealed or not", () => {
    const sealed = '{"type":"redacted_thinking","data":"EuQB"}';
    expect(runs(user, says(own, call), result, says(foreign, call), result).thinking).toBeDefined();
    expect(runs(user, says(sealed, foreign, call), result).thinking).toBeDefined();
  });

  test("say nothing of thinking that is off already", () => {
    const off = ',"thinking":{"type":"disabled"}';
    for (const more of [off, ""]) {
      const { thinking, warnings } = send([user, says(foreign, call), result], more, budget);
      expect([thinking?.type, warnings]).toEqual([more === off ? "disabled" : undefined, [LEFT]]);
    }
  });

  test("leave it on where the run began with Claude's own, is over, or the model needs none", () => {
    const own2 = says(foreign, own, call);
    expect(send([user, own2, result], asked, budget).thinking).toBeDefined();
    expect(send([user, says(foreign, call), result, says(text), user], asked, budget).thinking).toBeDefined();
    const adaptive: Partial<Model> = { thinking: { style: "adaptive", canBeOff: true } };
    const more = ',"thinking":{"type":"adaptive"}';
    expect(send([user, says(foreign, call), result], more, adaptive).thinking).toEqual({ type: "adaptive" });
  });
});
