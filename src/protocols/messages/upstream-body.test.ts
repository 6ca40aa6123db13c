import { joinBytes } from "../../core/bytes/bytes.ts";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import type { RelayTarget } from "../protocol.ts";
import { readRequest } from "./request.ts";
import { upstreamBody } from "./upstream-body.ts";

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';
const SAMPLING = ["temperature", "top_p", "top_k"];
const haiku: Partial<Model> = {
  thinking: { style: "budget", canBeOff: true },
  sampling: { maxTemperature: 1, eitherTemperatureOrTopP: true, fixedWhileThinking: true },
};
const opus: Partial<Model> = { thinking: { style: "adaptive", canBeOff: true }, ignoredParameters: SAMPLING };
const sonnet: Partial<Model> = {
  thinking: { style: "adaptive", canBeOff: false },
  ignoredParameters: SAMPLING,
};

interface Aim {
  readonly model?: Partial<Model>;
  readonly target?: Partial<RelayTarget>;
  readonly betas?: string;
  readonly maxTokens?: number;
}

function send(sent: string, { model = {}, target = {}, betas, maxTokens = 5000 }: Aim = {}) {
  const whole = { id: "v/m", ignoredParameters: [], maxOutput: 64_000, ...model } as unknown as Model;
  const headers = new Headers(betas === undefined ? {} : { "anthropic-beta": betas });
  const text = `{"model":"v/m","max_tokens":${maxTokens},${MESSAGES}${sent}}`;
  const up = upstreamBody(readRequest(wireRequest(text, { headers })), {
    model: whole,
    upstreamId: "up",
    unknownFields: "remove",
    native: true,
    streamUsageOption: false,
    ...target,
  });
  const body = new TextDecoder().decode(joinBytes(up.body));
  const head = `{"model":"up","max_tokens":${maxTokens},${MESSAGES}`;
  return { text: body, rest: body.startsWith(head) ? body.slice(head.length, -1) : body, ...up };
}

describe("each rewrite does what it is named for and leaves every other byte", () => {
  const cases: readonly (Aim & { name: string; sent: string; got: string; warns?: string[] })[] = [
    { name: "the model's upstream id", sent: "", got: "" },
    {
      name: "what is not named keeps its spelling, order and spaces",
      sent: ', "temperature" : 1.0e0,"stop_sequences":["\\u0041"],"metadata":{"user_id":"u"},"cache_control":{"type":"ephemeral"}',
      got: ', "temperature" : 1.0e0,"stop_sequences":["\\u0041"],"metadata":{"user_id":"u"},"cache_control":{"type":"ephemeral"}',
    },
    {
      name: "sampling that the model ignores",
      model: opus,
      sent: ',"temperature":0.5,"top_p":1,"top_k":3',
      got: "",
      warns: SAMPLING.map((name) => `${name} was left out: v/m does not take it`),
    },
    {
      name: "fields that nobody knows",
      sent: ',"betas":["x"],"stream":true',
      got: ',"stream":true',
      warns: ["betas was left out: it is not a field of messages"],
    },
    {
      name: "prices that are the usual ones",
      sent: ',"speed":"standard","service_tier":"auto","inference_geo":null',
      got: ',"speed":"standard","service_tier":"auto","inference_geo":null',
    },
    {
      name: "a temperature above the model's range",
      model: haiku,
      sent: ',"temperature":1.7',
      got: ',"temperature":1',
      warns: ["temperature was lowered to 1: v/m takes no more"],
    },
    {
      name: "temperature and top_p together",
      model: haiku,
      sent: ',"temperature":0.3,"top_p":0.9',
      got: ',"temperature":0.3',
      warns: ["top_p was left out: v/m does not take it together with temperature"],
    },
    {
      name: "sampling beside thinking by a budget",
      model: haiku,
      sent: ',"thinking":{"type":"enabled","budget_tokens":2000},"temperature":0.3,"top_k":5,"top_p":0.5',
      got: ',"thinking":{"type":"enabled","budget_tokens":2000}',
      warns: ["temperature", "top_p", "top_k"].map(
        (name) => `${name} was left out: v/m does not take it while it thinks`,
      ),
    },
    {
      name: "sampling that thinking allows",
      model: haiku,
      sent: ',"thinking":{"type":"enabled","budget_tokens":2000},"top_p":0.97',
      got: ',"thinking":{"type":"enabled","budget_tokens":2000},"top_p":0.97',
    },
    ...[
      [3_999, "low"],
      [4_000, "medium"],
      [15_999, "medium"],
      [16_000, "high"],
      [48_000, "max"],
    ].map(([budget, effort]) => ({
      name: `a budget of ${budget} where thinking is asked for by effort`,
      model: sonnet,
      sent: `,"thinking":{"type":"enabled","budget_tokens":${budget},"display":"omitted"}`,
      got: `,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"${effort}"}`,
      warns: [`thinking was changed to adaptive with effort ${effort}: v/m takes no budget`],
    })),
    {
      name: "a budget beside an output config without effort",
      model: opus,
      sent: ',"output_config":{"format":{"type":"json_schema"}},"thinking":{"budget_tokens":1024,"type":"enabled"}',
      got: ',"output_config":{"format":{"type":"json_schema"},"effort":"low"},"thinking":{"type":"adaptive"}',
      warns: ["thinking was changed to adaptive with effort low: v/m takes no budget"],
    },
    {
      name: "a budget beside an effort of null",
      model: opus,
      sent: ',"output_config":{"effort":null},"thinking":{"type":"enabled","budget_tokens":1024}',
      got: ',"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}',
      warns: ["thinking was changed to adaptive with effort low: v/m takes no budget"],
    },
    {
      name: "a budget of null",
      model: opus,
      sent: ',"thinking":{"type":"enabled","budget_tokens":null}',
      got: ',"thinking":{"type":"adaptive"}',
      warns: ["thinking was changed to adaptive: v/m takes no budget"],
    },
    {
      name: "a budget beside an output config of null",
      model: opus,
      sent: ',"output_config":null,"thinking":{"type":"enabled","budget_tokens":1024}',
      got: ',"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}',
      warns: ["thinking was changed to adaptive with effort low: v/m takes no budget"],
    },
    {
      name: "a budget beside the caller's own effort",
      model: opus,
      sent: ',"output_config":{"effort":"max"},"thinking":{"type":"enabled","budget_tokens":1024}',
      got: ',"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}',
      warns: ["thinking was changed to adaptive: v/m takes no budget"],
    },
    {
      name: "thinking as the model has it",
      model: sonnet,
      sent: ',"thinking":{"type":"adaptive"}',
      got: ',"thinking":{"type":"adaptive"}',
    },
    {
      name: "thinking switched off where it can be",
      model: opus,
      sent: ',"thinking":{"type":"disabled"}',
      got: ',"thinking":{"type":"disabled"}',
    },
    {
      name: "thinking switched off where it cannot be",
      model: sonnet,
      sent: ',"thinking":{"type":"disabled"},"top_k":1',
      got: "",
      warns: [
        "top_k was left out: v/m does not take it",
        "thinking was left out: v/m cannot be kept from thinking",
      ],
    },
    {
      name: "adaptive thinking where there are only budgets",
      model: haiku,
      maxTokens: 20_000,
      sent: ',"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}',
      got: ',"thinking":{"type":"enabled","display":"summarized","budget_tokens":8192}',
      warns: [
        "output_config.effort was left out: v/m does not take it",
        "thinking was given a budget of 8192 tokens: v/m needs one that fits",
      ],
    },
    {
      name: "an effort beside a format where there are only budgets",
      model: haiku,
      sent: ',"output_config":{"effort":"low","format":{"type":"json_schema"}}',
      got: ',"output_config":{"format":{"type":"json_schema"}}',
      warns: ["output_config.effort was left out: v/m does not take it"],
    },
    {
      name: "a budget that is not below the most output",
      model: haiku,
      sent: ',"thinking":{"type":"enabled","budget_tokens":9000}',
      got: ',"thinking":{"type":"enabled","budget_tokens":4999}',
      warns: ["thinking was given a budget of 4999 tokens: v/m needs one that fits"],
    },
    {
      name: "a budget that is too small",
      model: haiku,
      sent: ',"thinking":{"type":"enabled","budget_tokens":100}',
      got: ',"thinking":{"type":"enabled","budget_tokens":1024}',
      warns: ["thinking was given a budget of 1024 tokens: v/m needs one that fits"],
    },
    {
      name: "a budget that no output leaves room for",
      model: haiku,
      maxTokens: 1024,
      sent: ',"thinking":{"type":"enabled","budget_tokens":1024},"temperature":0.5',
      got: ',"temperature":0.5',
      warns: ["thinking was left out: max_tokens leaves no room for a budget of 1024"],
    },
    {
      name: "a budget above the most output that is for the whole turn",
      model: haiku,
      betas: "interleaved-thinking-2025-05-14",
      sent: ',"thinking":{"type":"enabled","budget_tokens":9000}',
      got: ',"thinking":{"type":"enabled","budget_tokens":9000}',
    },
    {
      name: "a tool that searches without a bound",
      sent: ',"tools":[{"name":"f","input_schema":{}}, {"type":"web_search_20250305","name":"web_search" }]',
      got: ',"tools":[{"name":"f","input_schema":{}}, {"type":"web_search_20250305","name":"web_search","max_uses":10 }]',
      warns: ["tools[1].max_uses was set to 10: it had no bound"],
    },
    {
      name: "a tool that fetches with a bound of null, and one that searches with its own",
      sent: ',"tools":[{"type":"web_fetch_20250910","name":"web_fetch","max_uses":null},{"type":"web_search_20250305","name":"web_search","max_uses":2}]',
      got: ',"tools":[{"type":"web_fetch_20250910","name":"web_fetch","max_uses":10,"max_content_tokens":20000},{"type":"web_search_20250305","name":"web_search","max_uses":2}]',
      warns: [
        "tools[0].max_uses was set to 10: it had no bound",
        "tools[0].max_content_tokens was set to 20000: it had no bound",
      ],
    },
    {
      name: "a tool that fetches with bounds of its own",
      sent: ',"tools":[{"type":"web_fetch_20250910","name":"web_fetch","max_uses":1,"max_content_tokens":90000}]',
      got: ',"tools":[{"type":"web_fetch_20250910","name":"web_fetch","max_uses":1,"max_content_tokens":90000}]',
    },
    {
      name: "the field of a preview without its preview",
      sent: ',"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}',
      got: "",
      warns: [
        "context_management was left out: it needs the preview context-management, which was not asked for or is not relayed",
      ],
    },
    {
      name: "the same with it",
      betas: "context-management-2025-06-27",
      sent: ',"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}',
      got: ',"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}',
    },
    {
      name: "an edit that writes a summary",
      betas: "context-management-2025-06-27",
      sent: ',"context_management":{"edits":[{"type":"compact_20260112"}]}',
      got: "",
      warns: ["context_management was left out: of its edits only those that clear are relayed"],
    },
    {
      name: "servers of tools, whose preview is not relayed",
      betas: "mcp-client-2025-11-20",
      sent: ',"mcp_servers":[{"type":"url","url":"https://example.com","name":"x"}]',
      got: "",
      warns: [
        "anthropic-beta mcp-client-2025-11-20 was left out: it is not known to keep the price",
        "mcp_servers was left out: it needs the preview mcp-client, which was not asked for or is not relayed",
      ],
    },
    {
      name: "a provider that takes unknown fields",
      target: { unknownFields: "pass" },
      sent: ',"mcp_servers":[],"x":1',
      got: ',"mcp_servers":[],"x":1',
    },
  ];
  for (const { name, sent, got, warns = [], ...aim } of cases) {
    test(name, () => {
      const { rest, warnings } = send(sent, aim);
      expect(rest).toBe(got);
      expect(warnings).toEqual(warns);
    });
  }

  test("a bound above what the model puts out is lowered", () => {
    const { text, warnings } = send("", { maxTokens: 70_000 });
    expect(text).toContain('"max_tokens":64000,');
    expect(warnings).toEqual(["max_tokens was lowered to 64000: v/m puts out no more"]);
  });

  test("a budget is made to fit a bound that was lowered", () => {
    const { text } = send(',"thinking":{"type":"enabled","budget_tokens":65000}', {
      model: haiku,
      maxTokens: 70_000,
    });
    expect(text).toContain('"budget_tokens":63999');
  });

  for (const [field, value] of [
    ["speed", '"fast"'],
    ["inference_geo", '"us"'],
    ["service_tier", '"priority"'],
  ] as const) {
    test(`${field} ${value} changes the price and is a 400`, () => {
      expect(() => send(`,"${field}":${value}`)).toThrow(GatewayError);
      expect(() => send(`,"${field}":${value}`)).toThrow(`${field} changes the price`);
    });
  }
});

describe("previews", () => {
  test("that keep the price go up, once each, and no other header does", () => {
    const { headers, warnings } = send("", {
      betas: "claude-code-20250219, interleaved-thinking-2025-05-14,effort-2025-11-24,effort-2025-11-24",
    });
    expect(headers).toEqual({
      "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,effort-2025-11-24",
    });
    expect(warnings).toEqual([]);
  });

  test("that bring more output, other service, or are not known stay here, each with a warning", () => {
    const values = [
      "output-300k-2026-03-24",
      "fast-mode-2026-02-01",
      "context-1m-2025-08-07",
      "new-2027-01-01",
      'x"y',
    ];
    const { headers, warnings } = send("", { betas: values.join(",") });
    expect(headers).toBeUndefined();
    expect(warnings).toEqual(
      values.map(
        (value) =>
          `anthropic-beta ${value.replace('"', "?")} was left out: it is not known to keep the price`,
      ),
    );
  });

  test("whose field shapes the answer are asked for, or the field is a 400 that names it and what needs none", () => {
    const field = ',"output_format":{"type":"json_schema","schema":{"type":"object"}}';
    expect(() => send(field)).toThrow(GatewayError);
    expect(() => send(field, { betas: "effort-2025-11-24" })).toThrow(
      /^output_format needs .*output_config\.format/,
    );
    const { rest, headers, warnings } = send(field, { betas: "structured-outputs-2025-11-13" });
    expect([rest, headers, warnings]).toEqual([
      field,
      { "anthropic-beta": "structured-outputs-2025-11-13" },
      [],
    ]);
    expect(send(',"output_format":null').rest).toBe("");
  });
});
