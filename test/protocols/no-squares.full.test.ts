import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildModel } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import type { ProtocolId } from "../../src/core/model.ts";
import { type ChatDialect, COMPATIBLE_CHAT, REFERENCE_CHAT } from "../../src/protocols/chat-dialect.ts";
import { servedBy } from "../../src/protocols/index.ts";
import type { RelayProtocol, RelayTarget } from "../../src/protocols/protocol.ts";
import { createSandbox, PROVIDERS } from "../../src/providers/registry.ts";
import { countSteps } from "./count-steps.ts";
import { CHATS, GENERATES, MESSAGES } from "./growing-bodies.ts";

// No request makes work that grows with its square. One of twice the size takes about twice the steps, on every way
// that it can take.

const model = buildModel(
  "v/m",
  "language",
  {
    max_output: 8_000,
    prices: { input: 1, output: 5 },
    input_modalities: ["text", "image", "audio", "video", "pdf"],
  },
  { supportedProtocols: [], routes: [] },
);

const target = (chat?: ChatDialect): RelayTarget => ({
  model,
  upstreamId: "up",
  unknownFields: "remove",
  native: chat === undefined,
  streamUsageOption: true,
  ...(chat === undefined ? {} : { chat }),
});

/** The dialect that changes the most. */
const STRICTEST: ChatDialect = {
  ...COMPATIBLE_CHAT,
  messageFields: ["role", "content", "tool_calls", "tool_call_id", "reasoning_content"],
  reasoningBack: ["reasoning_content"],
  nullContent: false,
  toolIds: "nine",
};

const encoder = new TextEncoder();
const SEEN = new AbortController().signal;

/** A way that a request takes: read, put into the target's words, and where it ends in the sandbox, answered. */
async function take(way: RelayProtocol, to: RelayTarget, body: object, spoken?: ProtocolId): Promise<void> {
  const request = way.readRequest({
    body: encoder.encode(JSON.stringify(body)),
    headers: new Headers(),
    address: { model: "v/m", stream: false },
  });
  way.demandAt?.(request, to);
  const sent = way.upstreamBody(request, to);
  if (spoken === undefined) return;
  const server = [...sandbox.providers.values()]
    .flatMap(({ protocols }) => protocols)
    .find(({ id }) => id === spoken);
  const answer = await server?.transport?.(`http://sandbox.invalid${way.upstreamPath("v/m", false)}`, {
    method: "POST",
    headers: { accept: "application/json" },
    body: sent.body,
    signal: SEEN,
  });
  await answer?.arrayBuffer();
}

const sandbox = createSandbox({
  clock: systemClock,
  hash: (text) => Bun.hash(text).toString(16),
  modelOf: () => model,
  definitions: PROVIDERS,
});

interface Way {
  readonly name: string;
  readonly bodies: typeof CHATS;
  readonly asked: ProtocolId;
  readonly spoken: ProtocolId;
  readonly to: RelayTarget;
  readonly ofSandbox?: boolean;
}

const CHAT = { bodies: CHATS, asked: "compat_chat_completions" } as const;
const WAYS: readonly Way[] = [
  { name: "chat, relayed to the reference", ...CHAT, spoken: CHAT.asked, to: target(REFERENCE_CHAT) },
  { name: "chat, relayed to a strict vendor", ...CHAT, spoken: CHAT.asked, to: target(STRICTEST) },
  { name: "chat, relayed to the sandbox", ...CHAT, spoken: CHAT.asked, to: target(), ofSandbox: true },
  {
    name: "chat, translated into messages",
    ...CHAT,
    spoken: "compat_messages",
    to: target(),
    ofSandbox: true,
  },
  {
    name: "chat, translated into generateContent",
    ...CHAT,
    spoken: "compat_generate_content",
    to: target(),
    ofSandbox: true,
  },
  {
    name: "messages",
    bodies: MESSAGES,
    asked: "compat_messages",
    spoken: "compat_messages",
    to: target(),
    ofSandbox: true,
  },
  {
    name: "messages, translated into chat completions",
    bodies: MESSAGES,
    asked: "compat_messages",
    spoken: CHAT.asked,
    to: target(STRICTEST),
  },
  {
    name: "generateContent",
    bodies: GENERATES,
    asked: "compat_generate_content",
    spoken: "compat_generate_content",
    to: target(),
    ofSandbox: true,
  },
  {
    name: "generateContent, translated into chat completions",
    bodies: GENERATES,
    asked: "compat_generate_content",
    spoken: CHAT.asked,
    to: target(STRICTEST),
  },
];

/** What cannot be said on a way is refused, of any size. */
const isRefusal = (error: unknown): boolean => error instanceof Error && error.name === "GatewayError";

const N = 400;

for (const { name, bodies, asked, spoken, to, ofSandbox = false } of WAYS) {
  describe(`${name}: twice as many take twice the steps`, () => {
    const way = servedBy(asked, spoken) as RelayProtocol;
    for (const [what, grow] of Object.entries(bodies)) {
      const stepsOf = (n: number): Promise<number> =>
        countSteps(async () => {
          try {
            await take(way, to, { model: "v/m", max_tokens: 50, ...grow(n) }, ofSandbox ? spoken : undefined);
          } catch (error) {
            if (!isRefusal(error)) throw error;
          }
        });
      test(what, async () => {
        // What is made once is made before it is counted.
        await stepsOf(3);
        const some = await stepsOf(N);
        const twice = await stepsOf(2 * N);
        expect(twice / some).toBeLessThan(2.3);
      });
    }
  });
}

test("no pattern looks from each place for the end of the text: one of 200 KB would take minutes", () => {
  // Short texts, or such that we have written.
  const known = new Set(["core/money/credits.ts"]);
  const root = join(import.meta.dir, "../../src");
  const folders = ["core", "protocols", "gateway", "providers/sandbox"];
  const pattern = /[(\s]\/(?:\[[^\]]*\]|\\?.)[+*]\$\/[a-z]*/g;
  const found = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        join(folder, file),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !known.has(file))
    .flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(pattern)].map(([hit]) => `${file}: ${hit}`),
    );
  expect(found).toEqual([]);
});
