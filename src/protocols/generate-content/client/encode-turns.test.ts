import { describe, expect, test } from "bun:test";
import { chatOf, FLASH, gemini, IMAGE, sentToGemini } from "../../../../test/protocols/gemini-sent.ts";
import type { Part, Source, Turn } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";

const text = (said: string, signature?: string): Part => ({
  type: "text",
  text: said,
  ...(signature === undefined ? {} : { signature }),
});
const user = (...parts: Part[]): Turn => ({ role: "user", parts });
const assistant = (...parts: Part[]): Turn => ({ role: "assistant", parts });
const system = (said: string): Turn => ({ role: "system", parts: [text(said)] });
const tool = (...parts: Part[]): Turn => ({ role: "tool", parts });
const call = (id: string, name: string, input = "{}", signature?: string): Part => ({
  type: "tool_call",
  id,
  name,
  input,
  ...(signature === undefined ? {} : { signature }),
});
const result = (callId: string, ...parts: (string | Part)[]): Part => ({
  type: "tool_result",
  callId,
  isError: false,
  parts: parts.map((part) => (typeof part === "string" ? text(part) : part)),
});
const thinking = (said: string, signature?: string, issuer?: "google" | "anthropic"): Part => ({
  type: "thinking",
  text: said,
  ...(signature === undefined ? {} : { signature }),
  ...(issuer === undefined ? {} : { issuer }),
});
const image = (mediaType: string, signature?: string): Part => ({
  type: "image",
  source: { kind: "data", mediaType, data: "cGlj" },
  ...(signature === undefined ? {} : { signature }),
});
const ASK = user(text("hi"));

test("an image in the system's instruction is a 400 that names the caller's field, not left out unsaid", () => {
  const turn: Turn = { role: "system", parts: [text("a"), image("image/png")] };
  expect(refusal([turn, ASK])).toMatchObject({ status: 400, param: "messages" });
});

const PLACEHOLDER = "skip_thought_signature_validator";

const sent = (turns: readonly Turn[], model = FLASH) => sentToGemini(chatOf(turns), model);
const contents = (turns: readonly Turn[], model = FLASH) => sent(turns, model).body.contents;
/** The parts of the second content: the answer after a question. */
const answer = (...parts: Part[]) => contents([ASK, assistant(...parts), user(text("go on"))])[1]?.parts;

function refusal(turns: readonly Turn[]): GatewayError {
  try {
    sent(turns);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
}

describe("what the system says", () => {
  test("at the start is the instruction, part by part", () => {
    const { body } = sent([system("a"), { role: "system", parts: [text("b"), text("")] }, ASK]);
    expect(body.systemInstruction).toEqual({ parts: [{ text: "a" }, { text: "b" }] });
    expect(body.contents).toEqual([{ role: "user", parts: [{ text: "hi" }] }]);
  });

  test("later stays in its place, as a user's text", () => {
    const { body } = sent([system("a"), ASK, assistant(text("yes")), system("b"), user(text("so"))]);
    expect(body.systemInstruction).toEqual({ parts: [{ text: "a" }] });
    expect(body.contents.map(({ role, parts }: never) => [role, parts])).toEqual([
      ["user", [{ text: "hi" }]],
      ["model", [{ text: "yes" }]],
      ["user", [{ text: "b" }]],
      ["user", [{ text: "so" }]],
    ]);
  });

  test("alone is what the model answers", () => {
    const { body, warnings } = sent([system("a")]);
    expect(body).toEqual({ contents: [{ role: "user", parts: [{ text: "a" }] }] });
    expect(warnings).toHaveLength(1);
  });
});

describe("media", () => {
  const data = (mediaType: string): Source => ({ kind: "data", mediaType, data: "AAAA" });
  const url = (address: string, mediaType?: string): Source => ({
    kind: "url",
    url: address,
    ...(mediaType === undefined ? {} : { mediaType }),
  });
  const inline = (mimeType: string) => ({ inlineData: { mimeType, data: "AAAA" } });
  const file = (mimeType: string, fileUri: string) => ({ fileData: { mimeType, fileUri } });
  const cases: readonly [string, Part, object][] = [
    ["an image", { type: "image", source: data("image/png") }, inline("image/png")],
    ["parameters go", { type: "image", source: data("image/PNG;charset=x;a=b") }, inline("image/png")],
    ["jpg has its name", { type: "image", source: data("image/jpg") }, inline("image/jpeg")],
    [
      "a document",
      { type: "document", source: data("application/pdf"), name: "a.pdf" },
      inline("application/pdf"),
    ],
    ["a document by its name", { type: "document", source: data(""), name: "a.CSV" }, inline("text/csv")],
    ["audio", { type: "audio", source: data("audio/wav") }, inline("audio/wav")],
    ["a video", { type: "video", source: data("video/webm") }, inline("video/webm")],
    [
      "a link by its ending",
      { type: "image", source: url("https://a.example/b.WebP?x=1.gif#y") },
      file("image/webp", "https://a.example/b.WebP?x=1.gif#y"),
    ],
    [
      "a link by its kind",
      { type: "image", source: url("https://a.example/b") },
      file("image/jpeg", "https://a.example/b"),
    ],
    [
      "a link by what is said",
      { type: "image", source: url("https://a.example/b.png", "image/gif") },
      file("image/gif", "https://a.example/b.png"),
    ],
    ["a bucket", { type: "video", source: url("gs://b/c.mov") }, file("video/mov", "gs://b/c.mov")],
    [
      "a video of the vendor's site",
      { type: "video", source: url("https://www.youtube.com/watch?v=x") },
      file("video/mp4", "https://www.youtube.com/watch?v=x"),
    ],
    [
      "audio behind a link",
      { type: "audio", source: url("https://a.example/s") },
      file("audio/mp3", "https://a.example/s"),
    ],
    [
      "a file of the provider",
      { type: "document", source: { kind: "file", id: "files/ab-1" } },
      file("application/pdf", "files/ab-1"),
    ],
    [
      "a file of the provider by its address",
      {
        type: "document",
        source: { kind: "file", id: "https://generativelanguage.googleapis.com/v1beta/files/ab" },
      },
      file("application/pdf", "https://generativelanguage.googleapis.com/v1beta/files/ab"),
    ],
  ];
  for (const [name, part, wanted] of cases) {
    test(name, () => {
      expect(contents([user(text("see"), part)])).toEqual([
        { role: "user", parts: [{ text: "see" }, wanted] },
      ]);
    });
  }

  test("what cannot be fetched or found is a 400 that names the caller's field", () => {
    const at = "messages[2].content[1].image_url.url";
    const parts: readonly Part[] = [
      { type: "image", source: url("http://a.example/b.png"), at },
      { type: "video", source: url("ftp://a.example"), at },
      { type: "document", source: { kind: "file", id: "file-abc" }, at },
    ];
    for (const part of parts) {
      const { param, message } = refusal([user(part)]);
      expect(param).toBe(at);
      expect(message).toStartWith(at);
    }
  });
});

test("a conversation that begins with a call has something before it, and that is told", () => {
  const { body, warnings } = sent([assistant(call("a", "f")), tool(result("a", "1")), user(text("Go on."))]);
  expect(body.contents.map(({ role }: never) => role)).toEqual(["user", "model", "user", "user"]);
  expect(body.contents[0].parts).toEqual([{ text: "(What was said before this is not here.)" }]);
  expect(warnings[0]).toMatch(/^messages begin with a call/);
});

describe("an earlier answer", () => {
  const cases: readonly [string, readonly Part[], readonly object[]][] = [
    [
      "keeps its order",
      [text("a"), image("image/png"), text("b")],
      [{ text: "a" }, { inlineData: { mimeType: "image/png", data: "cGlj" } }, { text: "b" }],
    ],
    ["has no empty text", [text(""), text("a")], [{ text: "a" }]],
    ["is sent without what was thought", [thinking("hm"), text("a")], [{ text: "a" }]],
    [
      "has a text's signature on it",
      [text("a", "U0lH"), text("b")],
      [{ text: "a", thoughtSignature: "U0lH" }, { text: "b" }],
    ],
    [
      "gets a signature back on the text before it",
      [thinking("hm"), text("a"), thinking("", "U0lH", "google"), text("b")],
      [{ text: "a", thoughtSignature: "U0lH" }, { text: "b" }],
    ],
    [
      "gets a signature whose place was lost on its last text",
      [thinking("hm", "U0lH", "google"), text("a"), text("b")],
      [{ text: "a" }, { text: "b", thoughtSignature: "U0lH" }],
    ],
    [
      "gets one of a vendor that was not named",
      [thinking("hm", "U0lH"), text("a")],
      [{ text: "a", thoughtSignature: "U0lH" }],
    ],
    [
      "without a text gets it back alone",
      [thinking("hm", "U0lH", "google"), call("c", "f", "{}", "Q0FM")],
      [
        { text: "", thoughtSignature: "U0lH" },
        { functionCall: { id: "c", name: "f", args: {} }, thoughtSignature: "Q0FM" },
      ],
    ],
    [
      "loses none of two signatures, and joins none",
      [text("a"), thinking("", "QQ==", "google"), thinking("x", "Qg==", "google")],
      [
        { text: "a", thoughtSignature: "QQ==" },
        { text: "", thoughtSignature: "Qg==" },
      ],
    ],
    ["has no id where there was none", [call("", "f")], [{ functionCall: { name: "f", args: {} } }]],
    [
      "has an empty object for no arguments",
      [call("c", "f", " ")],
      [{ functionCall: { id: "c", name: "f", args: {} } }],
    ],
  ];
  for (const [name, parts, wanted] of cases) {
    test(name, () => {
      const calls = parts.filter((part) => part.type === "tool_call");
      const after = calls.length === 0 ? [] : [tool(...calls.map(({ id }) => result(id, "ok")))];
      const turns = [ASK, assistant(...parts), ...after, user(text("go on"))];
      expect(contents(turns)[1]).toEqual({ role: "model", parts: [...wanted] });
    });
  }

  test("is left out where nothing of it is sent, and two in a row are one", () => {
    expect(contents([ASK, assistant(thinking("hm")), user(text("so"))])).toHaveLength(2);
    expect(contents([ASK, assistant(text("a")), assistant(text("b")), ASK])[1]).toEqual({
      role: "model",
      parts: [{ text: "a" }, { text: "b" }],
    });
  });

  test("another vendor's thinking is left out with a warning", () => {
    const foreign: readonly Part[] = [
      thinking("hm", "U0lH", "anthropic"),
      { type: "redacted_thinking", data: "U0lH", issuer: "anthropic" },
      thinking("hm", "not base64!"),
    ];
    const { body, warnings } = sent([ASK, assistant(...foreign, text("a")), ASK]);
    expect(body.contents[1].parts).toEqual([{ text: "a" }]);
    expect(warnings).toEqual([
      "reasoning_details of another vendor's model were left out: only their own model can read them",
    ]);
  });

  test("arguments keep the digits of their numbers, and must be an object", () => {
    const input = '{"id":12345678901234567890,"x":1.0,"y":-0,"s":"1.0"}';
    const turns = [ASK, assistant(call("c", "f", input, "QUJD")), tool(result("c", "ok"))];
    expect(sent(turns).text).toContain(`"args":${input}`);
    for (const wrong of ["{", "[]", '"x"', "1.0", "null"])
      expect(refusal([ASK, assistant(call("c", "f", wrong))]).param).toBe("tool_calls[].function.arguments");
  });
});

describe("an image that the model made", () => {
  const bytes = "+/8BAg==";
  const spellings: readonly [string, string, string?][] = [
    ["as we give it", "-_8BAg"],
    ["as the provider gives it", bytes],
    ["without padding", "+/8BAg"],
    ["percent-encoded", encodeURIComponent(bytes)],
    ["quoted", `"${bytes}"`],
    ["quoted and percent-encoded", `"${encodeURIComponent(bytes)}"`],
  ];
  for (const [name, signature] of spellings) {
    test(`gets its signature back, ${name}`, () => {
      const wanted = [{ inlineData: { mimeType: "image/png", data: "cGlj" }, thoughtSignature: bytes }];
      expect(answer(image("image/png", signature))).toEqual(wanted);
    });
  }

  test("and has none is sent with the placeholder to an image model alone", () => {
    const turns = [ASK, assistant(image("image/png")), user(text("bluer"))];
    const { body, warnings } = sent(turns, IMAGE);
    expect(body.contents[1].parts[0].thoughtSignature).toBe(PLACEHOLDER);
    expect(warnings[0]).toStartWith("image_url.url has no thought_signature");
    expect(sent(turns).body.contents[1].parts[0].thoughtSignature).toBeUndefined();
    expect(
      sent([user(image("image/png"))], IMAGE).body.contents[0].parts[0].thoughtSignature,
    ).toBeUndefined();
  });
});

describe("signatures of calls", () => {
  const signatures = (turns: readonly Turn[]) =>
    contents(turns)
      .filter(({ role }: { role: string }) => role === "model")
      .map(({ parts }: { parts: { thoughtSignature?: string }[] }) =>
        parts.map((part) => part.thoughtSignature),
      );

  test("go back on their own call: the first of parallel ones, and one of each step", () => {
    const turns = [
      ASK,
      assistant(call("a", "f", "{}", "QQ=="), call("b", "g")),
      tool(result("a", "1"), result("b", "2")),
      assistant(call("c", "f", "{}", "Qy1f")),
      tool(result("c", "3")),
    ];
    expect(signatures(turns)).toEqual([["QQ==", undefined], ["Qy1f"]]);
    expect(sent(turns).warnings).toEqual([]);
  });

  test("that are missing are replaced on the first call of each step of the turn that runs, with a warning", () => {
    const step = (id: string) => [
      assistant(call(id, "f"), call(`${id}2`, "g")),
      tool(result(id, "1"), result(`${id}2`, "2")),
    ];
    const turns = [
      ASK,
      ...step("a"),
      assistant(text("done")),
      user(text("more")),
      ...step("b"),
      ...step("c"),
    ];
    expect(signatures(turns)).toEqual([
      [undefined, undefined],
      [undefined],
      [PLACEHOLDER, undefined],
      [PLACEHOLDER, undefined],
    ]);
    expect(sent(turns).warnings).toHaveLength(1);
    expect(sent(turns).warnings[0]).toContain("thought_signature");
  });

  test("that no provider can have made are replaced too", () => {
    const turns = [ASK, assistant(call("a", "f", "{}", "no base64!")), tool(result("a", "1"))];
    expect(signatures(turns)).toEqual([[PLACEHOLDER]]);
    expect(sent(turns).warnings).toHaveLength(2);
  });
});

describe("results of tools", () => {
  const responses = (turns: readonly Turn[], model = FLASH) => contents(turns, model)[2];
  const one = (...parts: (string | Part)[]) =>
    responses([ASK, assistant(call("a", "f", "{}", "QQ==")), tool(result("a", ...parts))]).parts[0]
      .functionResponse.response;

  test("are one content in the order of the calls, by the names of the calls", () => {
    const turns = [
      ASK,
      assistant(call("a", "f", "{}", "QQ=="), call("b", "g")),
      tool(result("b", "2")),
      tool(result("a", "1")),
    ];
    expect(contents(turns)).toHaveLength(3);
    expect(responses(turns)).toEqual({
      role: "user",
      parts: [
        { functionResponse: { id: "a", name: "f", response: { output: "1" } } },
        { functionResponse: { id: "b", name: "g", response: { output: "2" } } },
      ],
    });
  });

  const texts: readonly [string, object][] = [
    ["71 degrees", { output: "71 degrees" }],
    ["", { output: "" }],
    ["7", { output: "7" }],
    ['"x"', { output: '"x"' }],
    ["{broken", { output: "{broken" }],
    ['{"a":1}', { a: 1 }],
    [' {"error":"x"}', { error: "x" }],
    ['["a"]', { output: ["a"] }],
  ];
  test.each(texts)("%p is the object %p", (said, wanted) => {
    expect(one(said)).toEqual(wanted);
    const failed: Part = { type: "tool_result", callId: "a", isError: true, parts: [text(said)] };
    const { response } = responses([ASK, assistant(call("a", "f", "{}", "QQ==")), tool(failed)]).parts[0]
      .functionResponse;
    expect(Object.keys(response)).toEqual(["error"]);
  });

  const turnsWith = (...parts: (string | Part)[]) => [
    ASK,
    assistant(call("a", "f", "{}", "QQ=="), call("b", "g")),
    tool(result("a", ...parts), result("b", "2")),
  ];
  const png = { inlineData: { mimeType: "image/png", data: "cGlj" } };

  test("keep their images inside, where the model takes them there", () => {
    expect(responses(turnsWith("see", image("image/png"))).parts).toEqual([
      { functionResponse: { id: "a", name: "f", response: { output: "see" }, parts: [png] } },
      { functionResponse: { id: "b", name: "g", response: { output: "2" } } },
    ]);
  });

  test("have them beside, where it does not, and media of other kinds always", () => {
    const older = gemini("g", ["text"], { thinking: { style: "budget" } });
    expect(responses(turnsWith("see", image("image/png")), older).parts[1]).toEqual(png);
    const audio: Part = { type: "audio", source: { kind: "data", mediaType: "audio/wav", data: "AAAA" } };
    expect(responses(turnsWith(audio)).parts.flatMap(Object.keys)).toEqual([
      "functionResponse",
      "inlineData",
      "functionResponse",
    ]);
  });

  test("stand behind their calls when something else came between", () => {
    const turns = [
      ASK,
      assistant(call("a", "f", "{}", "QQ=="), call("b", "g")),
      tool(result("a", "1")),
      user(text("wait")),
      tool(result("b", "2")),
    ];
    expect(contents(turns).map(({ parts }: { parts: object[] }) => parts.flatMap(Object.keys))).toEqual([
      ["text"],
      ["functionCall", "thoughtSignature", "functionCall"],
      ["functionResponse", "functionResponse"],
      ["text"],
    ]);
  });

  test("that are missing are errors, and second ones are left out, both with a warning", () => {
    const calls = assistant(call("a", "f", "{}", "QQ=="), call("b", "g"));
    const missing = sent([ASK, calls, tool(result("b", "2")), user(text("so"))]);
    expect(missing.body.contents[2].parts[0].functionResponse).toEqual({
      id: "a",
      name: "f",
      response: { error: "The call was given no result." },
    });
    expect(missing.warnings[0]).toContain("no result");
    const twice = sent([ASK, calls, tool(result("a", "1"), result("a", "x"), result("b", "2"))]);
    expect(twice.body.contents[2].parts).toHaveLength(2);
    expect(twice.warnings[0]).toContain("second result");
  });

  test("of no call are a 400 that names the id", () => {
    for (const turns of [
      [ASK, tool(result("zz", "1"))],
      [ASK, assistant(text("a")), tool(result("zz", "1"))],
      [ASK, assistant(call("a", "f")), tool(result("a", "1"), result("zz", "1"))],
    ]) {
      expect(refusal(turns)).toMatchObject({ status: 400, param: "tool_call_id" });
      expect(refusal(turns).message).toContain('"zz"');
    }
  });
});

test("results that are JSON stay text where they have more values than a body may, or nest deeper", () => {
  const responseOf = (said: string): unknown =>
    contents([ASK, assistant(call("a", "f")), tool(result("a", said)), ASK])[2]?.parts[0].functionResponse
      .response;
  const many = `{"a":[${"0,".repeat(200_000)}0]}`;
  const deep = `{"a":${"[".repeat(80)}${"]".repeat(80)}}`;
  expect(responseOf('{"a":[0]}')).toEqual({ a: [0] });
  for (const said of [many, deep]) expect(responseOf(said)).toEqual({ output: said });
});

describe("more than the format has is a 400 in the words of chat completions:", () => {
  const most = 10_000;
  const many = (count: number): Part[] => Array.from({ length: count }, () => text("a"));
  const calls = (count: number): Part[] => Array.from({ length: count }, (_, i) => call(`c${i}`, "f"));
  const told = (what: string) => ({
    status: 400,
    param: "messages",
    message: `messages have ${what}, and ${FLASH.id} takes at most ${most}.`,
  });

  test("parts of one turn, of the system's instruction, of one answer's calls", () => {
    expect(contents([user(...many(most))])[0]?.parts).toHaveLength(most);
    expect(refusal([user(...many(most + 1))])).toMatchObject(told("10001 parts in one turn"));
    const instruction: Turn = { role: "system", parts: many(most + 1) };
    expect(refusal([instruction, ASK])).toMatchObject(told("10001 parts in one turn"));
    expect(refusal([ASK, assistant(...calls(most + 1)), ASK])).toMatchObject(told("10001 parts in one turn"));
  });

  test("turns, with those that a missing result makes", () => {
    const steps = (count: number) => Array.from({ length: count }, () => [ASK, assistant(call("c", "f"))]);
    expect(contents([ASK, ...steps(3_333).flat()])).toHaveLength(most);
    expect(refusal(steps(3_334).flat())).toMatchObject(told("10002 turns, the results of calls among them"));
  });
});
