// Bodies that take long for their size, each as large as its kind is taken: 30 MB, or 10,000 messages, or 200,000 values.
import { concat, pngFile } from "../test/assets/media-files.ts";
import { CHATS, GENERATES, MESSAGES } from "../test/protocols/growing-bodies.ts";

/** One of them, and where it is sent. */
export interface BlockingBody {
  readonly name: string;
  readonly path: string;
  /** Its JSON. */
  readonly make: () => string;
}

const MODELS = {
  openai: "openai/gpt-5.6-luna",
  claude: "anthropic/claude-haiku-4.5",
  gemini: "google/gemini-3.8-flash",
  image: "openai/gpt-image-2/edit",
} as const;

const CHAT = "/api/v1/chat/completions";
const GENERATE = `/api/v1/models/${MODELS.gemini}:generateContent`;
const BYTES = 30_000_000;
/** Of one image to begin with, in bytes. */
const MOST_OF_ONE = 11_000_000;

/** A text of 30 MB in JSON that has so many characters of `unit` in it. */
const long = (unit: string): string => unit.repeat(BYTES / JSON.stringify(unit).slice(1, -1).length);
const png = (bytes = (BYTES * 3) / 4): string => concat([pngFile(), new Uint8Array(bytes)]).toBase64();
const image = (): string => `data:image/png;base64,${png()}`;

const BASE: Readonly<Record<string, object>> = {
  openai: { model: MODELS.openai, max_completion_tokens: 50 },
  claude: { model: MODELS.claude, max_completion_tokens: 50 },
  gemini: { model: MODELS.gemini, max_completion_tokens: 50 },
};

const chats = (to: "openai" | "claude" | "gemini", name: string, make: () => object): BlockingBody => ({
  name: `chat for ${to}, ${name}`,
  path: CHAT,
  make: () => JSON.stringify({ ...BASE[to], ...make() }),
});

const grown = (bodies: typeof CHATS, name: string, count: number): object => {
  const grow = bodies[name];
  if (grow === undefined) throw new Error(`No body grows by ${name}.`);
  return grow(count);
};

const said = (content: unknown): object => ({ messages: [{ role: "user", content }] });
const seen = (): object =>
  said([
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url: image() } },
  ]);

export const BLOCKING_BODIES: readonly BlockingBody[] = [
  ...(["openai", "claude", "gemini"] as const).flatMap((to) => [
    chats(to, "30 MB of escapes", () => said(long("\n"))),
    chats(to, "30 MB beyond Latin-1", () => said("私".repeat(BYTES / 3))),
    chats(to, "an image of 30 MB", seen),
    chats(to, "4,900 calls with results", () => grown(CHATS, "calls one by one", 4_900)),
    chats(to, "16,000 calls at once", () => grown(CHATS, "calls in one answer", 16_000)),
    chats(to, "30,000 tools", () => grown(CHATS, "tools", 30_000)),
    chats(to, "30,000 parts", () => grown(CHATS, "parts", 30_000)),
    chats(to, "9,900 messages of 3 KB", () => ({
      messages: Array.from({ length: 9_900 }, () => ({ role: "user", content: "word ".repeat(600) })),
    })),
  ]),
  chats("openai", "a key of 10 MB", () => ({ ...said("a"), ["k".repeat(10_000_000)]: 1 })),
  chats("openai", "190,000 unknown fields", () => grown(CHATS, "unknown fields", 190_000)),
  {
    name: "chat for openai, 30 MB that are no JSON at their end",
    path: CHAT,
    make: () => JSON.stringify({ ...BASE.openai, ...said("a".repeat(BYTES)) }).slice(0, -1),
  },
  {
    name: "messages, an image of 30 MB",
    path: "/api/v1/messages",
    make: () =>
      JSON.stringify({
        model: MODELS.claude,
        max_tokens: 50,
        ...said([
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: png() },
          },
        ]),
      }),
  },
  {
    name: "messages, 4,900 calls with results",
    path: "/api/v1/messages",
    make: () =>
      JSON.stringify({ model: MODELS.claude, max_tokens: 50, ...grown(MESSAGES, "calls one by one", 4_900) }),
  },
  {
    name: "count_tokens, 30 MB of escapes",
    path: "/api/v1/messages/count_tokens",
    make: () => JSON.stringify({ model: MODELS.claude, ...said(long("\n")) }),
  },
  {
    name: "generateContent, 30,000 parts",
    path: GENERATE,
    make: () => JSON.stringify(grown(GENERATES, "parts", 30_000)),
  },
  {
    name: "generateContent, an image of 30 MB",
    path: GENERATE,
    make: () =>
      JSON.stringify({
        contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: png() } }] }],
      }),
  },
  {
    name: "images, two of 15 MB to begin with",
    path: "/api/v1/images/generations",
    make: () =>
      JSON.stringify({
        model: MODELS.image,
        prompt: "4096 bytes",
        size: "1024*1024",
        image: [png(MOST_OF_ONE), png(MOST_OF_ONE)],
      }),
  },
];
