import { afterAll, describe, expect, test } from "bun:test";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { buildModel } from "../../catalog/catalog.ts";
import { GatewayError } from "../../core/errors.ts";
import { handOver } from "../../core/handover.ts";
import type { ProtocolId } from "../../core/model.ts";
import type { RelayTarget } from "../../protocols/protocol.ts";
import { encodePng } from "../../runtime/images/encode-png.ts";
import { watchThreads } from "../../../test/gateway/reading-threads.ts";
import type { Aim, Reading } from "./read-request.ts";
import { createOrders } from "./orders.ts";
import { createReader } from "./reader.ts";

// What is read on a thread is read as it is here. The same body with white space at its end takes the other way. No
// reader reads that white space.

const reader = createReader();
afterAll(() => reader.close());

const LENGTHS = {
  here: 0,
  "on the thread of middle ones": 200_000,
  "on the thread of large ones": 3_000_000,
} as const;

const model = buildModel(
  "v/m",
  "language",
  { max_output: 8_000, prices: { input: 1, output: 5 }, input_modalities: ["text", "image"] },
  { supportedProtocols: [], routes: [] },
);
const target: RelayTarget = {
  model,
  upstreamId: "up",
  unknownFields: "remove",
  native: true,
  streamUsageOption: true,
};
const aimAt = (spoken: ProtocolId): Aim => ({ spoken, target });

function bodyOf(value: object, length: number) {
  return handOver(new TextEncoder().encode(JSON.stringify(value).padEnd(length)));
}

const DOT = { width: 1, height: 1, pixels: new Uint8Array(4) };

const CHAT = { model: "v/m", temperature: 0.5, messages: [{ role: "user", content: "a" }], oddity: 1 };
const INPUT = { model: "v/m", input: [{ role: "user", content: "a" }] };
const CONTENTS = { contents: [{ role: "user", parts: [{ text: "a" }] }] };

interface Case {
  readonly name: string;
  readonly reading: Reading;
  readonly spoken: ProtocolId;
  readonly body: object;
  /** Ours, where a bound on output is to be set. */
  readonly bound?: number;
}

const WAYS: readonly Case[] = [
  {
    name: "chat completions",
    reading: { format: "compat_chat_completions", purpose: "answer" },
    spoken: "compat_chat_completions",
    body: CHAT,
  },
  {
    name: "chat completions with a bound of ours",
    reading: { format: "compat_chat_completions", purpose: "answer" },
    spoken: "compat_chat_completions",
    body: CHAT,
    bound: 77,
  },
  {
    name: "chat completions for messages",
    reading: { format: "compat_chat_completions", purpose: "answer" },
    spoken: "compat_messages",
    body: CHAT,
    bound: 77,
  },
  {
    name: "chat completions for generateContent",
    reading: { format: "compat_chat_completions", purpose: "answer" },
    spoken: "compat_generate_content",
    body: CHAT,
  },
  {
    name: "messages",
    reading: { format: "compat_messages", purpose: "answer" },
    spoken: "compat_messages",
    body: { ...CHAT, max_tokens: 5 },
  },
  {
    name: "a count of messages",
    reading: { format: "compat_messages", purpose: "count" },
    spoken: "compat_messages",
    body: CHAT,
  },
  {
    name: "generateContent",
    reading: { format: "compat_generate_content", purpose: "answer" },
    spoken: "compat_generate_content",
    body: CONTENTS,
  },
  {
    name: "a count of generateContent",
    reading: { format: "compat_generate_content", purpose: "count" },
    spoken: "compat_generate_content",
    body: { generateContentRequest: { model: "models/v/m", ...CONTENTS } },
  },
  {
    name: "responses",
    reading: { format: "compat_responses", purpose: "answer" },
    spoken: "compat_responses",
    body: INPUT,
  },
  {
    name: "a count of responses",
    reading: { format: "compat_responses", purpose: "count" },
    spoken: "compat_responses",
    body: INPUT,
  },
];

const wire = {
  headers: new Headers({ "anthropic-beta": "context-1m-2025-08-07" }),
  address: { model: "v/m", stream: true },
};

/** All that comes of a request, without the white space at the end. */
async function take({ reading, spoken, body, bound }: Case, length: number) {
  const names: unknown[] = [];
  const asked = (name: unknown): void => void names.push(name);
  const request = await reader.readRequest(reading, wire, bodyOf(body, length), { asked });
  const { model: name, stream } = request;
  const demand = await request.aimAt(aimAt(spoken));
  await request.write();
  const sent = await request.take(bound);
  // The bound on its tokens goes by the bytes of the body, white space too.
  const { textTokens, ...asksFor } = demand;
  const text = new TextDecoder().decode(joinBytes(sent.body)).replaceAll(/ {2,}/g, "");
  return {
    name,
    stream,
    asksFor,
    expectedTokens: textTokens.expected,
    names,
    text,
    headers: sent.headers,
    warnings: sent.warnings,
  };
}

describe("a request is read and written the same", () => {
  for (const way of WAYS)
    test(way.name, async () => {
      const here = await take(way, LENGTHS.here);
      expect(here.text).toContain('"a"');
      if (way.bound !== undefined) expect(here.text).toContain("77");
      expect(await take(way, LENGTHS["on the thread of middle ones"])).toEqual(here);
      expect(await take(way, LENGTHS["on the thread of large ones"])).toEqual(here);
    });

  test("a conversation that is made shorter: a provider without a call for that is asked for a summary", async () => {
    const reading: Reading = { format: "compat_responses", purpose: "compact" };
    const way: Case = { name: "", reading, spoken: "compat_responses", body: INPUT };
    const here = await take(way, LENGTHS.here);
    expect([here.stream, JSON.parse(here.text).input.length]).toEqual([false, 2]);
    expect(await take(way, LENGTHS["on the thread of middle ones"])).toEqual(here);
  });

  test("images and videos", async () => {
    const url = `data:image/png;base64,${encodePng(DOT).toBase64()}`;
    const image = { model: "v/i", prompt: "a", image: [url], oddity: 1 };
    const video = { model: "v/v", prompt: "a", frame_images: [url], oddity: 1 };
    const read = async (length: number) => {
      const names: unknown[] = [];
      const asked = (name: unknown): void => void names.push(name);
      return {
        image: await reader.readImage(bodyOf(image, length), { asked }),
        video: await reader.readVideo(bodyOf(video, length), { asked }),
        names,
      };
    };
    const here = await read(LENGTHS.here);
    expect([here.image.fields.image, here.video.fields.firstFrame]).toEqual([[url], url]);
    expect(here.names).toEqual(["v/i", "v/v"]);
    expect(await read(LENGTHS["on the thread of middle ones"])).toEqual(here);
    expect(await read(LENGTHS["on the thread of large ones"])).toEqual(here);
  });
});

describe("what is refused is refused the same, with the model that was asked for", () => {
  const CHATS = { format: "compat_chat_completions", purpose: "answer" } as const;
  const refusal = async (run: () => unknown): Promise<object> => {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { kind, message, param, code, headers, foreign } = error;
      return { kind, message, param, code, headers, foreign };
    }
    throw new Error("Nothing was refused.");
  };

  for (const [where, length] of Object.entries(LENGTHS)) {
    test(`a field of a request, read ${where}`, async () => {
      const names: unknown[] = [];
      const body = { ...CHAT, temperature: 9 };
      const asked = (name: unknown): void => void names.push(name);
      const error = await refusal(() => reader.readRequest(CHATS, wire, bodyOf(body, length), { asked }));
      expect(error).toMatchObject({ kind: "invalid_request_error", param: "temperature" });
      expect(names).toEqual(["v/m"]);
    });

    test(`what the target cannot express, of one read ${where}`, async () => {
      const request = await reader.readRequest(CHATS, wire, bodyOf({ ...CHAT, logprobs: true }, length), {});
      const error = await refusal(() => request.aimAt(aimAt("compat_messages")));
      expect(error).toMatchObject({ kind: "invalid_request_error", param: "logprobs" });
      request.release();
    });

    test(`a field of an image, read ${where}`, async () => {
      const error = await refusal(() => reader.readImage(bodyOf({ model: "v/i" }, length), {}));
      expect(error).toMatchObject({ kind: "invalid_request_error", param: "prompt" });
    });
  }
});

test("a model that is no name does not come back from a thread, large as it may be", async () => {
  const names: unknown[] = [];
  const body = bodyOf({ ...CHAT, model: ["v/m"] }, LENGTHS["on the thread of large ones"]);
  const reading = { format: "compat_chat_completions", purpose: "answer" } as const;
  const terms = { asked: (name: unknown): void => void names.push(name) };
  expect(await messageOf(reader.readRequest(reading, wire, body, terms))).toMatch("model");
  expect(names).toEqual([]);
});

async function messageOf(failing: unknown): Promise<string> {
  try {
    await failing;
  } catch (error) {
    return (error as Error).message;
  }
  return "Nothing was thrown.";
}

describe("a request that has ended", () => {
  for (const [where, length] of Object.entries(LENGTHS))
    test(`gives nothing any more, read ${where}`, async () => {
      const reading = { format: "compat_chat_completions", purpose: "answer" } as const;
      const request = await reader.readRequest(reading, wire, bodyOf(CHAT, length), {});
      await request.aimAt(aimAt("compat_chat_completions"));
      request.release();
      request.release();
      expect(await messageOf(Promise.resolve().then(() => request.take(undefined)))).toMatch("request");
    });
});

test("a thread that ends takes what it has read with it, and the next body is read on a new one", async () => {
  const own = createReader();
  const reading = { format: "compat_chat_completions", purpose: "answer" } as const;
  const length = LENGTHS["on the thread of large ones"];
  const request = await own.readRequest(reading, wire, bodyOf(CHAT, length), {});
  const aimed = request.aimAt(aimAt("compat_chat_completions"));
  own.close();
  expect(await messageOf(aimed)).toMatch("ended");
  expect(await messageOf(request.write())).toMatch("ended");
  const next = await own.readRequest(reading, wire, bodyOf(CHAT, length), {});
  expect(next.model).toBe("v/m");
  own.close();
});

test("a thread keeps nothing of a request that was taken", () => {
  const carryOut = createOrders();
  const reading = { format: "compat_chat_completions", purpose: "answer" } as const;
  const body = bodyOf(CHAT, 0).take();
  expect(carryOut({ do: "read", id: 1, reading, wire: { body, headers: [] } })).toHaveProperty("result");
  expect(carryOut({ do: "aim", id: 1, aim: aimAt("compat_chat_completions") })).toHaveProperty("result");
  expect(carryOut({ do: "take", id: 1, outputBound: undefined })).toHaveProperty("result.body");
  const { problem } = carryOut({ do: "write", id: 1 }) as { problem?: string };
  expect(problem).toMatch("There is no such request.");
});

describe("of requests that wait for their turn", () => {
  const reading = { format: "compat_chat_completions", purpose: "answer" } as const;
  const body = () => bodyOf(CHAT, LENGTHS["on the thread of large ones"]);

  test("one whose client has gone is not read", async () => {
    const threads = watchThreads();
    const own = createReader();
    const gone = new AbortController();
    const terms = { signal: gone.signal };
    const first = own.readRequest(reading, wire, body(), {});
    const left = [
      messageOf(own.readRequest(reading, wire, body(), terms)),
      messageOf(own.readImage(body(), terms)),
      messageOf(own.readVideo(body(), terms)),
    ];
    const last = own.readRequest(reading, wire, body(), {});
    gone.abort(new Error("gone"));
    expect(await Promise.all(left)).toEqual(["gone", "gone", "gone"]);
    expect([(await first).model, (await last).model, threads.orders]).toEqual([
      "v/m",
      "v/m",
      ["read", "read"],
    ]);
    own.close();
    threads.restore();
  });

  test("those that were read come first, and one whose client has gone then is let go of", async () => {
    const threads = watchThreads();
    const own = createReader();
    const gone = new AbortController();
    const read = await own.readRequest(reading, wire, body(), { signal: gone.signal });
    const others = Promise.all([
      Promise.resolve(own.readRequest(reading, wire, body(), {})),
      Promise.resolve(own.readRequest(reading, wire, body(), {})),
    ]);
    await read.aimAt(aimAt("compat_chat_completions"));
    gone.abort(new Error("gone"));
    const written = read.write();
    read.release();
    expect(await messageOf(written)).toBe("gone");
    await others;
    expect(threads.orders).toEqual(["read", "read", "aim", "read", "release"]);
    own.close();
    threads.restore();
  });
});
