import type { ListedProtocolId } from "../src/core/model.ts";
import type { BenchmarkFormat } from "../test/upstream/benchmark-answers.ts";

/** A wire format as the benchmark asks in it. */
export interface Format {
  readonly name: BenchmarkFormat;
  readonly protocol: ListedProtocolId;
  /** A model whose provider speaks the format. */
  readonly modelId: string;
  /** Events that the upstream writes around those of content. */
  readonly eventsAround: number;
  clientPath(modelId: string, stream: boolean): string;
  upstreamPath(stream: boolean): string;
  /** The last bytes of a stream, the gateway's and the upstream's alike. */
  readonly streamEnd: string;
  /** A small conversation of about 1 KB as a client sends it. */
  conversation(modelId: string, stream: boolean): object;
}

const TEXT =
  "You are the assistant of a small online shop. Answer in the customer's language, name the order's number, and do not promise a date that the carrier has not confirmed. When a parcel is late, say what is known of it and what the customer can do now. ";
const SYSTEM = TEXT.repeat(2).trim();
const TURNS = [
  { role: "user", text: "Hello! Is this the right place for a question about a delivery?" },
  { role: "assistant", text: "It is. Please tell me the number of your order and what happened." },
  {
    role: "user",
    text: "My order 20931 was to come last Tuesday, and the tracking page has said “in transit” since then. Can you tell me where it is, and what I can do if it does not come before the weekend?",
  },
] as const;
const MOST_OUTPUT = 256;

/** The formats, each with the same conversation: a system text, a turn that was answered, and a question. */
export const FORMATS: Readonly<Record<BenchmarkFormat, Format>> = {
  chat: {
    name: "chat",
    protocol: "compat_chat_completions",
    modelId: "openai/gpt-5.6-luna",
    eventsAround: 4,
    clientPath: () => "/api/v1/chat/completions",
    upstreamPath: () => "/v1/chat/completions",
    streamEnd: "data: [DONE]\n\n",
    conversation: (model, stream) => ({
      model,
      messages: [
        { role: "system", content: SYSTEM },
        ...TURNS.map(({ role, text }) => ({ role, content: text })),
      ],
      max_completion_tokens: MOST_OUTPUT,
      user: "customer-4711",
      ...(stream ? { stream } : {}),
    }),
  },
  messages: {
    name: "messages",
    protocol: "compat_messages",
    modelId: "anthropic/claude-haiku-4.5",
    eventsAround: 5,
    clientPath: () => "/api/v1/messages",
    upstreamPath: () => "/v1/messages",
    streamEnd: 'data: {"type":"message_stop"}\n\n',
    conversation: (model, stream) => ({
      model,
      max_tokens: MOST_OUTPUT,
      system: SYSTEM,
      messages: TURNS.map(({ role, text }) => ({ role, content: text })),
      metadata: { user_id: "customer-4711" },
      ...(stream ? { stream } : {}),
    }),
  },
  generate: {
    name: "generate",
    protocol: "compat_generate_content",
    modelId: "google/gemini-3.8-flash",
    // The first and the last event of this format are content too.
    eventsAround: 0,
    clientPath: (modelId, stream) => `/api/v1/models/${modelId}:${generateVerb(stream)}`,
    upstreamPath: (stream) => `/v1beta/models/gemini-3.8-flash:${generateVerb(stream)}`,
    // There is no end mark: the usual last member is told apart from a cut event by its braces alone.
    streamEnd: "}\n\n",
    conversation: () => ({
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: TURNS.map(({ role, text }) => ({
        role: role === "assistant" ? "model" : role,
        parts: [{ text }],
      })),
      generationConfig: { maxOutputTokens: MOST_OUTPUT },
    }),
  },
};

function generateVerb(stream: boolean): string {
  return stream ? "streamGenerateContent?alt=sse" : "generateContent";
}
