import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { goldenStream } from "../upstream/recordings.ts";

// Streams that many versions of the clients were tried with. The gateway sends them, to the byte, when the provider
// sends the same without what is ours (the credit). Over real sockets, from request to bill.

const OWN = (name: string): string => join(import.meta.dir, "../golden", name);
const USER = [{ role: "user", content: "Go." }];

/** Prices at which each golden answer costs the 12 credits that it tells. */
const PRICES = {
  chat_completions: { input: 200, output: 100 },
  messages: { input: 200, output: 100 },
  generate_content: { input: 120, output: 200 },
};
const FORMATS = [
  {
    protocol: "chat_completions",
    files: [goldenStream("chat.sse"), OWN("chat.sse")],
    path: "/api/v1/chat/completions",
    body: { messages: USER, stream: true },
    withoutOurs: (golden: string) => golden.replace(/data: [^\n]*"credit":[^\n]*\n\n/, ""),
  },
  {
    protocol: "messages",
    files: [goldenStream("messages.sse"), OWN("messages.sse")],
    path: "/api/v1/messages",
    body: { messages: USER, max_tokens: 100, stream: true },
    withoutOurs: (golden: string) =>
      golden.replace(/event: credit\ndata: .*\n\n/, "").replaceAll(/,"credit":[\d.]+/g, ""),
  },
  {
    protocol: "generate_content",
    files: [goldenStream("generate-content.sse"), OWN("generate-content.sse")],
    path: `/api/v1/models/MODEL:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: "user", parts: [{ text: "Go." }] }] },
    withoutOurs: (golden: string) => golden.replace(/,"credit":[\d.]+/, ""),
  },
] as const;

let double: UpstreamDouble;
let gateway: TestGateway;

/** A provider and a model of its own for each format. */
const idOf = (protocol: string): string => `${protocol.replaceAll("_", "-")}/m`;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const providers = FORMATS.map(({ protocol }) => [
    protocol.replaceAll("_", "-"),
    {
      protocol,
      base_url: protocol === "chat_completions" ? `${double.url}/v1` : double.url,
      dialect: "native",
      models: [{ id: idOf(protocol), upstream_id: "up", max_output: 1_000, prices: PRICES[protocol] }],
    },
  ]);
  gateway = await startGateway({
    settings: JSON.stringify({ providers: Object.fromEntries(providers) }),
  });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

describe("golden streams come out byte for byte", () => {
  for (const { protocol, files, path, body, withoutOurs } of FORMATS) {
    for (const file of files) {
      const isOwn = file.startsWith(OWN(""));
      // Those that clients were tried with stand outside of the repository; ours have the same kinds of events.
      if (!isOwn && !existsSync(file)) continue;
      test(`${protocol}${isOwn ? ", our own" : ""}`, async () => {
        const model = idOf(protocol);
        const golden = readFileSync(file, "utf8").replaceAll(/"model":"[^"]*"/g, `"model":"${model}"`);
        const credit = Number(/"credit":([\d.]+)/.exec(golden)?.[1]);
        double.handle(() => sseAnswer(withoutOurs(golden).replaceAll(`"model":"${model}"`, '"model":"up"')));
        const before = (await gateway.account()).balance;
        const response = await gateway.post(path.replace("MODEL", model), { ...body, model });
        const text = (await response.text()).replaceAll(/"credit":[\d.]+/g, `"credit":${credit}`);
        expect(text.trimEnd()).toBe(golden.trimEnd());
        if (file !== OWN("messages.sse")) expect(before - (await gateway.account()).balance).toBe(credit);
      });
    }
  }
});
