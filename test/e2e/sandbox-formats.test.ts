import { afterAll, beforeAll, expect, test } from "bun:test";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// Every language model of the catalogue in every format: what GET /models says of it, and that it answers, with no
// provider's key set.

/** The formats that a vendor's models speak themselves; every other one is translated. */
const RELAYED: Readonly<Record<string, readonly string[]>> = {
  openai: ["compat_chat_completions", "compat_responses"],
  xai: ["compat_chat_completions", "compat_responses"],
  anthropic: ["compat_messages"],
  google: ["compat_generate_content"],
};
const OTHERS: readonly string[] = ["compat_chat_completions"];
const FORMATS = ["compat_chat_completions", "compat_messages", "compat_generate_content", "compat_responses"];

let gateway: TestGateway;
let rows: readonly Json[];

beforeAll(async () => {
  gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.key}` };
  const response = await fetch(`${gateway.url}/api/v1/models?category=language`, { headers });
  rows = ((await response.json()) as Json).data;
});
afterAll(() => gateway.close());

test("each of the 13 models has all four formats, relayed where its vendor speaks them", () => {
  expect(rows).toHaveLength(13);
  for (const { id, formats } of rows) {
    const relayed = RELAYED[id.split("/")[0]] ?? OTHERS;
    const wanted = FORMATS.map((format) => [format, relayed.includes(format) ? "relay" : "translation"]);
    expect([id, formats]).toEqual([id, Object.fromEntries(wanted)]);
  }
});

test("supported_protocols keeps its three identifiers, of 13, 3 and 2 models", () => {
  const named: readonly string[] = rows.flatMap(({ supported_protocols: protocols }) => protocols);
  const counts = FORMATS.map((format) => named.filter((protocol) => protocol === format).length);
  expect([counts, named.length]).toEqual([[13, 3, 2, 0], 18]);
});

/** The text of a plain answer. */
const PLAIN: Readonly<Record<keyof typeof FORMAT_CLIENTS, (answer: Json) => string>> = {
  chat_completions: ({ choices: [{ message }] }) => message.content,
  messages: ({ content }) => content.map(({ text = "" }: Json) => text).join(""),
  generate_content: ({ candidates: [{ content }] }) => content.parts.map(({ text }: Json) => text).join(""),
  responses: ({ output }) =>
    output.flatMap(({ content = [] }: Json) => content.map(({ text }: Json) => text)).join(""),
};

for (const [name, client] of Object.entries<FormatClient>(FORMAT_CLIENTS))
  test(`every model answers in ${name.replaceAll("_", " ")}, plain and streamed, in the same words`, async () => {
    for (const { id } of rows) {
      const body = streamedBody(client, id);
      const path = client.path(id);
      const { stream: _stream, ...plain } = body;
      const whole = await gateway.post(
        path.replace(":streamGenerateContent?alt=sse", ":generateContent"),
        plain,
      );
      expect([id, whole.status]).toEqual([id, 200]);
      const text = PLAIN[name as keyof typeof PLAIN](await whole.json());
      expect(text).toContain("sandbox");
      const streamed = await gateway.post(path, body);
      expect([id, streamed.status, streamed.headers.get("x-switchyard-provider")]).toEqual([
        id,
        200,
        "sandbox",
      ]);
      const events = jsonEvents(await streamed.text());
      expect([id, client.isWhole(events), client.textOf(events)]).toEqual([id, true, text]);
    }
  });
