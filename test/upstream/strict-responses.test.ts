import { describe, expect, test } from "bun:test";
import { toBytes, toText } from "./bytes.ts";
import { loadRecordings, recordingsAvailable } from "./recordings.ts";
import type { SeenRequest } from "./seen-request.ts";
import { strictResponses } from "./strict-responses.ts";

const strict = strictResponses({ keys: ["good"] });

/** What the double says to a body; `undefined` where it takes it. */
function said(body: unknown, key = "good"): string | undefined {
  const bodyText = typeof body === "string" ? body : JSON.stringify(body);
  const request = {
    header: (name: string) => (name === "authorization" ? `Bearer ${key}` : undefined),
    json: () => JSON.parse(bodyText) as unknown,
    bodyText,
  } as unknown as SeenRequest;
  const answer = strict(request);
  return answer === undefined ? undefined : `${answer.status} ${toText(toBytes(answer.body as string))}`;
}

const SEALED = "reasoning.encrypted_content";
const base = { model: "gpt", store: false, include: [SEALED], input: "hi" };
const user = { role: "user", content: "hi" };
const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
const output = { type: "function_call_output", call_id: "c1", output: "x" };
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
const withInput = (...input: readonly object[]) => ({ ...base, input });

describe("what OpenAI takes is taken", () => {
  const cases: readonly object[] = [
    base,
    withInput(user),
    withInput(user, thought, call, output),
    withInput(user, thought, { ...call, id: "fc_1" }, output, user),
    { ...base, text: { format: { type: "json_schema", name: "n", schema: {} } } },
    withInput({
      role: "user",
      content: [{ type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" }],
    }),
  ];
  for (const body of cases)
    test(JSON.stringify(body).slice(60, 180), () => expect(said(body)).toBeUndefined());
});

describe("what OpenAI refuses is refused, in its words", () => {
  const cases: readonly (readonly [body: unknown, says: string])[] = [
    ["{", "could not parse"],
    [{ ...base, input: undefined }, "Missing required parameter: 'input'"],
    [{ ...base, stop: ["x"] }, "Unknown parameter: 'stop'"],
    [{ ...base, max_output_tokens: 1 }, "Expected a value >= 16, but got 1 instead."],
    [{ ...base, store: true }, "store must be false"],
    [{ ...base, include: [] }, SEALED],
    [{ ...base, include: [SEALED, "x"] }, "Invalid value: 'x'"],
    [{ ...base, previous_response_id: "resp_1" }, "previous_response_not_found"],
    [{ ...base, tools: [{ type: "function", function: { name: "f" } }] }, "tools[0].name"],
    [{ ...base, text: { format: { type: "json_schema", json_schema: {} } } }, "text.format.name"],
    [withInput({ type: "tool_use" }), "Invalid value: 'tool_use'"],
    [withInput({ role: "user", content: [{ type: "text", text: "x" }] }), "Invalid value: 'text'"],
    [withInput({ role: "assistant", content: [{ type: "input_text", text: "x" }] }), "'output_text'"],
    [withInput(user, call), "No tool output found for function call c1."],
    [withInput(user, output), "No tool call found for function call output with call_id c1."],
    [withInput(user, thought), "without its required following item"],
    [withInput(user, thought, user), "without its required following item"],
    [withInput(user, { ...thought, summary: undefined }, call, output), "input[1].summary"],
    [withInput(user, { ...thought, encrypted_content: undefined }, call, output), "404"],
    [withInput({ type: "item_reference", id: "msg_1" }), "Items are not persisted"],
    [withInput(user, { ...call, id: "call_1" }, output), "begins with 'fc'"],
    [withInput(user, { ...call, call_id: "c".repeat(65) }), "input[1].call_id"],
    [withInput(user, { ...call, arguments: {} }, output), "input[1].arguments"],
  ];
  for (const [body, says] of cases) test(says, () => expect(said(body)).toContain(says));
  test("a key of nobody's", () => expect(said(base, "bad")).toStartWith("401"));
});

/** Fields and items that a gateway must not send up, though OpenAI takes them from others. */
const NOT_OURS = /"(conversation|prompt|previous_response_id|background)":|item_reference/;

test.skipIf(!recordingsAvailable())("every recorded request that OpenAI took is taken", () => {
  const refused = ["responses", "other", "cross-protocol"]
    .flatMap(loadRecordings)
    .filter(({ protocol, provider, request, response }) => {
      const isAsked = request.method === "POST" && request.url.endsWith("/responses");
      return protocol === "responses" && provider === "openai" && isAsked && response.status === 200;
    })
    .flatMap(({ path, request }) => {
      const body = request.body as Record<string, unknown> | null;
      if (body === null || NOT_OURS.test(JSON.stringify(body))) return [];
      const { input } = body;
      const isSealed = (item: { type?: string; encrypted_content?: unknown }): boolean =>
        item.type !== "reasoning" || typeof item.encrypted_content === "string";
      if (Array.isArray(input) && !input.every(isSealed)) return [];
      const words = said({ ...body, store: false, include: [SEALED] });
      return words === undefined ? [] : [`${path}: ${words}`];
    });
  expect(refused).toEqual([]);
});

test("who knows functions alone refuses other tools of the caller's, and their items", () => {
  const narrow = strictResponses({ functionsOnly: true });
  const statusOf = (fields: object): number | undefined => {
    const bodyText = JSON.stringify({ ...base, ...fields });
    const header = (): string => "Bearer any";
    return narrow({ header, json: () => JSON.parse(bodyText), bodyText } as unknown as SeenRequest)?.status;
  };
  expect(statusOf({ tools: [{ type: "function", name: "f" }], input: [user, thought, call, output] })).toBe(
    undefined,
  );
  expect(statusOf({ tools: [{ type: "custom", name: "f" }] })).toBe(422);
  expect(statusOf({ tool_choice: { type: "allowed_tools" } })).toBe(422);
  expect(statusOf({ input: [{ ...call, namespace: "n" }, output] })).toBe(422);
  expect(statusOf({ input: [{ type: "additional_tools", tools: [] }, user] })).toBe(422);
});
