import { describe, expect, test } from "bun:test";
import { toBytes, toText } from "./bytes.ts";
import { loadRecordings, recordingsAvailable } from "./recordings.ts";
import { createRecord } from "./seen-request.ts";
import { type StrictGemini, strictGenerateContent } from "./strict-gemini.ts";

const PLAIN = "/v1beta/models/gemini-3.8-flash:generateContent";

function refused(
  body: unknown,
  profile: StrictGemini = {},
  target = PLAIN,
  key: string | undefined = "AIza-good",
): { readonly status: number | undefined; readonly message: string } | undefined {
  const headers = [
    ["content-type", "application/json"] as const,
    ...(key === "" ? [] : [["x-goog-api-key", key] as const]),
  ];
  const record = createRecord(
    { method: "POST", target, headers },
    { id: 1, connection: 1, nthOnConnection: 1, nowMs: 0 },
  );
  record.take(toBytes(typeof body === "string" ? body : JSON.stringify(body)));
  const answer = strictGenerateContent(profile)(record);
  if (answer === undefined) return undefined;
  const { error } = JSON.parse(toText(toBytes(answer.body ?? ""))) as { error: { message: string } };
  return { status: answer.status, message: error.message };
}

const user = { role: "user", parts: [{ text: "hi" }] };
const call = (name: string, signature?: string) => ({
  functionCall: { name, args: {} },
  ...(signature === undefined ? {} : { thoughtSignature: signature }),
});
const response = (name: string) => ({ functionResponse: { name, response: { output: 1 } } });
const ask = (more: object = {}) => ({ contents: [user], ...more });
const turns = (...contents: object[]) => ({ contents });

test("a plain request passes, in both spellings and by both verbs", () => {
  expect(refused(ask())).toBeUndefined();
  expect(refused(ask(), {}, "/v1beta/models/x:streamGenerateContent?alt=sse")).toBeUndefined();
  expect(
    refused({ contents: { parts: { inline_data: { mime_type: "a/b", data: "AAAA" } } } }),
  ).toBeUndefined();
});

test("a request to count is contents alone, or a whole request that names the model of the path", () => {
  const count = (body: object) => refused(body, {}, "/v1beta/models/m:countTokens")?.status;
  const whole = { model: "models/m", ...ask({ systemInstruction: user }) };
  expect(count(ask())).toBeUndefined();
  expect(count({ generateContentRequest: whole })).toBeUndefined();
  expect(count({ generate_content_request: whole })).toBeUndefined();
  expect(count(ask({ systemInstruction: user }))).toBe(400);
  expect(count(ask({ model: "models/m" }))).toBe(400);
  expect(count(ask({ generateContentRequest: whole }))).toBe(400);
  expect(count({ generateContentRequest: { ...whole, model: "models/other" } })).toBe(400);
  expect(count({ generateContentRequest: { ...whole, model: undefined } })).toBe(400);
  expect(count({ generateContentRequest: { ...whole, nonsense: 1 } })).toBe(400);
  expect(count({})).toBe(400);
});

test("keys and models it does not know are refused as Google does", () => {
  expect(refused(ask(), {}, PLAIN, "")?.status).toBe(403);
  expect(refused(ask(), { keys: ["other"] })).toMatchObject({
    status: 400,
    message: "API key not valid. Please pass a valid API key.",
  });
  expect(refused(ask(), { models: ["other"] })?.status).toBe(404);
  for (const target of [
    "/v1/models/x:generateContent",
    "/v1beta/models/x:streamGenerateContent",
    "/v1beta/models/a/b:generateContent",
    `${PLAIN}?key=k`,
  ])
    expect(refused(ask(), {}, target)?.status).toBe(404);
});

describe("is a 400", () => {
  const cases: readonly [string, unknown, string][] = [
    ["no JSON", "{", "Invalid JSON"],
    ["no contents", {}, "contents is not specified"],
    ["an unknown name", ask({ credit: 1 }), 'Unknown name "credit"'],
    ["an unknown name of the config", ask({ generationConfig: { max_tokens: 1 } }), "'generation_config'"],
    [
      "an unknown name of a part",
      turns({ parts: [{ text: "a", cache_control: {} }] }),
      "'contents[0].parts[0]'",
    ],
    ["both spellings", ask({ generationConfig: { topP: 1, top_p: 1 } }), "set twice"],
    ["a key twice", '{"contents":[{"parts":[{"text":"a"}]}],"contents":[]}', "twice"],
    ["a role that is none", turns({ role: "system", parts: [{ text: "a" }] }), "valid role"],
    ["two kinds of data", turns({ parts: [{ text: "a", functionCall: { name: "f" } }] }), "oneof"],
    ["no data", turns({ parts: [{ thought: true }] }), "oneof"],
    ["no base64", turns({ parts: [{ text: "a", thoughtSignature: "a.b" }] }), "Base64"],
    ["a temperature", ask({ generationConfig: { temperature: 3 } }), "supported range"],
    [
      "two ways to bound thinking",
      ask({ generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } } }),
      "only one",
    ],
    [
      "parameters twice",
      ask({ tools: [{ functionDeclarations: [{ name: "f", parameters: {}, parametersJsonSchema: {} }] }] }),
      "mutually exclusive",
    ],
    [
      "JSON Schema where a subset is taken",
      ask({
        tools: [
          {
            functionDeclarations: [
              { name: "f", parameters: { type: "object", properties: { a: { $ref: "x" } } } },
            ],
          },
        ],
      }),
      '"$ref"',
    ],
    [
      "a response of text",
      turns(
        user,
        { role: "model", parts: [call("f", "AAAA")] },
        { role: "user", parts: [{ functionResponse: { name: "f", response: "x" } }] },
      ),
      "Struct",
    ],
    ["a turn without parts", turns({ role: "user" }), "must not be empty"],
    ["a last turn of the model without parts", turns(user, { role: "model" }), "must not be empty"],
    [
      "a link to a private host",
      turns({ parts: [{ fileData: { fileUri: "https://localhost/a.png" } }] }),
      "Cannot fetch",
    ],
    [
      "fewer responses than calls",
      turns(
        user,
        { role: "model", parts: [call("f", "AAAA"), call("g")] },
        { role: "user", parts: [response("f")] },
      ),
      "number of function response parts",
    ],
    [
      "a response to nothing",
      turns({ role: "user", parts: [response("f")] }),
      "immediately after a function call",
    ],
    [
      "a call without its signature",
      turns(user, { role: "model", parts: [call("f")] }, { role: "user", parts: [response("f")] }),
      "missing a thought_signature",
    ],
    [
      "the second step without its signature",
      turns(
        user,
        { role: "model", parts: [call("f", "AAAA")] },
        { role: "user", parts: [response("f")] },
        { role: "model", parts: [call("g")] },
        { role: "user", parts: [response("g")] },
      ),
      "position 4",
    ],
  ];
  for (const [name, body, words] of cases) {
    test(name, () => {
      const found = refused(body);
      expect(found?.status).toBe(400);
      expect(found?.message).toContain(words);
    });
  }
});

test("signatures of turns that are over, and of parallel calls, are not asked for", () => {
  const over = turns(
    user,
    { role: "model", parts: [call("f")] },
    { role: "user", parts: [response("f")] },
    { role: "model", parts: [{ text: "a" }] },
    user,
  );
  const parallel = turns(
    user,
    { role: "model", parts: [call("f", "AAAA"), call("g")] },
    { role: "user", parts: [response("f"), response("g")] },
  );
  expect([refused(over), refused(parallel)]).toEqual([undefined, undefined]);
});

test("turns of one side are one, however many they stand in; the model may have been cut off", () => {
  const inMany = turns(
    user,
    { role: "model", parts: [{ text: "a" }] },
    { role: "model", parts: [call("f", "AAAA")] },
    { role: "model", parts: [call("g")] },
    { role: "user", parts: [response("f")] },
    { role: "user", parts: [response("g")] },
  );
  expect([refused(inMany), refused(turns(user, { role: "model" }, user))]).toEqual([undefined, undefined]);
});

test.if(recordingsAvailable())("what Gemini 3 accepted in recordings passes", () => {
  const accepted = loadRecordings("generate-content").filter(
    ({ request, response: given, model, provider }) =>
      provider === "google" &&
      given.status === 200 &&
      model.startsWith("gemini-3") &&
      typeof request.body === "object" &&
      request.body !== null,
  );
  expect(accepted.length).toBeGreaterThan(20);
  for (const { request, path } of accepted) expect([path, refused(request.body)]).toEqual([path, undefined]);
});
