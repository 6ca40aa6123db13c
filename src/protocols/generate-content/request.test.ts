import { describe, expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { GatewayError } from "../../core/errors.ts";
import { readRequest } from "./request.ts";

const address = { model: "google/gemini-3.8-flash", stream: true };
const read = (body: string | object) => readRequest(wireRequest(body, { address }));
const contents = [{ role: "user", parts: [{ text: "hi" }] }];
const parts = (...given: object[]) => ({ contents: [{ parts: given }] });

function refusal(body: string | object): { readonly message: string; readonly param: string | undefined } {
  try {
    read(body);
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400)
      return { message: error.message, param: error.param };
    throw error;
  }
  throw new Error(`was accepted: ${JSON.stringify(body).slice(0, 100)}`);
}

test("model and stream come from the path", () => {
  expect(read({ contents })).toMatchObject({ model: "google/gemini-3.8-flash", stream: true });
});

describe("is accepted", () => {
  const accepted: readonly [string, object | string][] = [
    [
      "turns of user and model",
      { contents: [...contents, { role: "model", parts: [{ text: "a" }] }, ...contents] },
    ],
    [
      "a turn of a function",
      {
        contents: [{ role: "function", parts: [{ functionResponse: { name: "f", response: { a: null } } }] }],
      },
    ],
    [
      "a model's turn that was cut off before it had a part",
      { contents: [...contents, { role: "model" }, ...contents] },
    ],
    [
      "parts and contents without their lists",
      { contents: { parts: { text: "a" } }, tools: { google_search: {} } },
    ],
    [
      "all in snake case",
      {
        contents: [
          { parts: [{ inline_data: { mime_type: "image/png", data: "AAAA" }, thought_signature: "AA==" }] },
        ],
        system_instruction: { parts: { text: "s" } },
        generation_config: { max_output_tokens: 5, top_p: 0.5, thinking_config: { include_thoughts: true } },
      },
    ],
    ["a signature by itself", parts({ thoughtSignature: "AA==" })],
    ["null for absent", { contents, generationConfig: null, tools: null, systemInstruction: null }],
    ["null within the config", { contents, generationConfig: { temperature: null, maxOutputTokens: null } }],
    [
      "any schema, with any keys",
      {
        contents,
        tools: [
          {
            functionDeclarations: [
              { name: "f", parametersJsonSchema: { additional_properties: 1, additionalProperties: 2 } },
            ],
          },
        ],
      },
    ],
    [
      "arguments with any keys",
      parts({ functionCall: { name: "f", args: { inline_data: 1, inlineData: 2, a: null } } }),
    ],
    [
      "an https address",
      parts({ fileData: { fileUri: "https://example.com/a.png", mimeType: "image/png" } }),
    ],
    ["a bucket", parts({ file_data: { file_uri: "gs://bucket/a.png" } })],
    [
      "a video site",
      parts({
        fileData: { fileUri: "https://www.youtube.com/watch?v=9hE5-98ZeCg" },
        videoMetadata: { fps: 1 },
      }),
    ],
    [
      "a file of the provider",
      parts({ fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/abc" } }),
    ],
    ["its name alone", parts({ fileData: { fileUri: "files/abc-1" } })],
    [
      "kinds of output in any case, and safety settings without their list",
      { contents, safetySettings: {}, generationConfig: { responseModalities: ["Text", "image"] } },
    ],
    ["fields that nobody knows", { contents, whatever: { a: 1 }, generationConfig: { whatever: 1 } }],
  ];
  for (const [name, body] of accepted) test(name, () => void read(body));
});

describe("is a 400 that names the field as it was spelled", () => {
  const refused: readonly [string, object | string, string | undefined][] = [
    ["no JSON", "{", undefined],
    ["a list", "[]", undefined],
    ["no contents", {}, "contents"],
    ["contents of null", { contents: null }, "contents"],
    ["contents of text", { contents: "hi" }, "contents"],
    ["no turn", { contents: [] }, "contents"],
    ["a turn of text", { contents: ["hi"] }, "contents[0]"],
    ["a role that is none", { contents: [{ role: "system", parts: [] }] }, "contents[0].role"],
    ["parts of text", { contents: [{ parts: "hi" }] }, "contents[0].parts"],
    ["a part of text", { contents: [{ parts: ["hi"] }] }, "contents[0].parts[0]"],
    ["a part of nothing", parts({}), "contents[0].parts[0]"],
    ["a text that is a number", parts({ text: 1 }), "contents[0].parts[0].text"],
    [
      "two in one part",
      parts({ text: "a", inlineData: { mimeType: "image/png", data: "AAAA" } }),
      "contents[0].parts[0]",
    ],
    [
      "data without a type",
      parts({ inline_data: { data: "AAAA" } }),
      "contents[0].parts[0].inline_data.mimeType",
    ],
    [
      "data of nothing",
      parts({ inline_data: { mime_type: "image/png", data: "" } }),
      "contents[0].parts[0].inline_data.data",
    ],
    [
      "a file without an address",
      parts({ fileData: { mimeType: "a/b" } }),
      "contents[0].parts[0].fileData.fileUri",
    ],
    [
      "http",
      parts({ file_data: { file_uri: "http://example.com/a" } }),
      "contents[0].parts[0].file_data.file_uri",
    ],
    [
      "a file of this machine",
      parts({ fileData: { fileUri: "file:///etc/passwd" } }),
      "contents[0].parts[0].fileData.fileUri",
    ],
    [
      "data in an address",
      parts({ fileData: { fileUri: "data:image/png;base64,AAAA" } }),
      "contents[0].parts[0].fileData.fileUri",
    ],
    ["no address", parts({ fileData: { fileUri: "https://a b" } }), "contents[0].parts[0].fileData.fileUri"],
    [
      "such a file in a function's response",
      parts({ functionResponse: { name: "f", parts: [{ fileData: { fileUri: "ftp://a" } }] } }),
      "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri",
    ],
    [
      "a response of text",
      parts({ functionResponse: { name: "f", response: "x" } }),
      "contents[0].parts[0].functionResponse.response",
    ],
    [
      "a call without a name",
      parts({ function_call: { args: {} } }),
      "contents[0].parts[0].function_call.name",
    ],
    ["a system's text", { contents, systemInstruction: "Be short." }, "systemInstruction"],
    ["temperature", { contents, generationConfig: { temperature: 2.1 } }, "generationConfig.temperature"],
    ["topP", { contents, generation_config: { top_p: 1.1 } }, "generation_config.top_p"],
    [
      "maxOutputTokens",
      { contents, generationConfig: { maxOutputTokens: 0 } },
      "generationConfig.maxOutputTokens",
    ],
    [
      "maxOutputTokens as text",
      { contents, generationConfig: { max_output_tokens: "5" } },
      "generationConfig.max_output_tokens",
    ],
    [
      "half a token",
      { contents, generationConfig: { maxOutputTokens: 1.5 } },
      "generationConfig.maxOutputTokens",
    ],
    [
      "candidateCount",
      { contents, generationConfig: { candidateCount: 0 } },
      "generationConfig.candidateCount",
    ],
    [
      "six stop sequences",
      { contents, generationConfig: { stopSequences: ["a", "b", "c", "d", "e", "f"] } },
      "generationConfig.stopSequences",
    ],
    [
      "a kind of output that is none",
      { contents, generationConfig: { responseModalities: ["VIDEO"] } },
      "generationConfig.responseModalities[0]",
    ],
    ["a config of text", { contents, generationConfig: "x" }, "generationConfig"],
    ["maps", { contents, tools: [{ googleMaps: {} }] }, "tools[0].googleMaps"],
    [
      "maps in snake case",
      { contents, tools: [{ googleSearch: {} }, { google_maps: {} }] },
      "tools[1].google_maps",
    ],
    ["a tool that nobody knows", { contents, tools: [{ teleport: {} }] }, "tools[0].teleport"],
    [
      "a tool named after what every object has",
      { contents, tools: [{ constructor: {} }] },
      "tools[0].constructor",
    ],
    ["a cache of nothing", { contents, cachedContent: "" }, "cachedContent"],
  ];
  for (const [name, body, param] of refused) test(name, () => expect(refusal(body).param).toBe(param));

  const twice: readonly [string, string, string][] = [
    ["a field", '{"contents":[],"contents":[]}', "contents"],
    ["a field written with an escape", '{"contents":[],"content\\u0073":[]}', "contents"],
    [
      "a field in two spellings",
      '{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{},"generation_config":{}}',
      "generation_config",
    ],
    [
      "one of the config in two spellings",
      '{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"max_output_tokens":1,"maxOutputTokens":9}}',
      "generationConfig.max_output_tokens",
    ],
    [
      "one of the config",
      '{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":9}}',
      "generationConfig",
    ],
    ["a part's", '{"contents":[{"parts":[{"text":"a","text":"b"}]}]}', "contents"],
    [
      "a part's in two spellings",
      '{"contents":[{"parts":[{"inlineData":{"mimeType":"a/b","data":"AA"},"inline_data":{"mimeType":"a/b","data":"AA"}}]}]}',
      "contents[0].parts[0].inline_data",
    ],
    [
      "data's",
      '{"contents":[{"parts":[{"inlineData":{"mimeType":"a/b","data":"AA","data":"BB"}}]}]}',
      "contents",
    ],
    [
      "data's in a function's response",
      '{"contents":[{"parts":[{"functionResponse":{"name":"f","parts":[{"inlineData":{"mimeType":"a/b","data":"AA","data":"BB"}}]}}]}]}',
      "contents",
    ],
    [
      "a tool's",
      '{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"googleSearch":{},"googleSearch":{}}]}',
      "tools",
    ],
    [
      "a tool's in two spellings",
      '{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"googleSearch":{},"google_search":{}}]}',
      "tools[0].google_search",
    ],
    [
      "the system's",
      '{"contents":[{"parts":[{"text":"a"}]}],"systemInstruction":{"parts":[{"text":"a","text":"b"}]}}',
      "systemInstruction",
    ],
  ];
  for (const [name, body, param] of twice) {
    test(`${name}, twice`, () => {
      const { message, param: named } = refusal(body);
      expect(named).toBe(param);
      expect(message).toMatch(/stands (twice|in two spellings)/);
    });
  }
});
