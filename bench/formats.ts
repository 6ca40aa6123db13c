import { BENCHMARK_FORMATS, type BenchmarkFormat } from "../test/upstream/benchmark-answers.ts";

/** One request as a client sends it to the gateway, and as the gateway sends it upstream. */
export interface FormatRequest {
  readonly clientPath: string;
  readonly upstreamPath: string;
  readonly clientBody: Uint8Array;
  readonly upstreamBody: Uint8Array;
  /** The last bytes of the answer, the gateway's and the upstream's alike. */
  readonly endMark: string;
}

/** A wire format as the benchmark asks in it. */
export interface Format {
  readonly name: BenchmarkFormat;
  /** Events that the upstream writes around those of content. */
  readonly eventsAround: number;
  request(stream: boolean): FormatRequest;
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
const PLAIN_END = "}";

/** The formats, each with the same text of about 1 KB: a system text, a turn that was answered, and a question. */
export const FORMATS: Readonly<Record<BenchmarkFormat, Format>> = {
  chat: { name: "chat", eventsAround: 4, request: chatRequest },
  messages: { name: "messages", eventsAround: 5, request: messagesRequest },
  // The first and the last event of this format are content too.
  generate: { name: "generate", eventsAround: 0, request: generateRequest },
};

/** The formats of these names, all for none. Throws for a name that is none. */
export function formatsNamed(names: readonly string[]): Format[] {
  const unknown = names.find((name) => !(BENCHMARK_FORMATS as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new Error(`--format must be one of ${BENCHMARK_FORMATS.join(", ")}, got ${unknown}`);
  return BENCHMARK_FORMATS.filter((name) => names.length === 0 || names.includes(name)).map(
    (name) => FORMATS[name],
  );
}

function chatRequest(stream: boolean): FormatRequest {
  const messages = [
    { role: "system", content: SYSTEM },
    ...TURNS.map(({ role, text }) => ({ role, content: text })),
  ];
  const rest = { messages, max_completion_tokens: MOST_OUTPUT, user: "customer-4711" };
  const asked = stream ? { stream } : {};
  const added = stream ? { stream, stream_options: { include_usage: true } } : {};
  return {
    clientPath: "/api/v1/chat/completions",
    upstreamPath: "/v1/chat/completions",
    clientBody: json({ model: "openai/gpt-5.6-luna", ...rest, ...asked }),
    upstreamBody: json({ model: "gpt-5.6-luna", ...rest, ...added }),
    endMark: stream ? "data: [DONE]\n\n" : PLAIN_END,
  };
}

function messagesRequest(stream: boolean): FormatRequest {
  const rest = {
    max_tokens: MOST_OUTPUT,
    system: SYSTEM,
    messages: TURNS.map(({ role, text }) => ({ role, content: text })),
    metadata: { user_id: "customer-4711" },
    ...(stream ? { stream } : {}),
  };
  return {
    clientPath: "/api/v1/messages",
    upstreamPath: "/v1/messages",
    clientBody: json({ model: "anthropic/claude-haiku-4.5", ...rest }),
    upstreamBody: json({ model: "claude-haiku-4-5", ...rest }),
    endMark: stream ? 'data: {"type":"message_stop"}\n\n' : PLAIN_END,
  };
}

function generateRequest(stream: boolean): FormatRequest {
  const body = json({
    systemInstruction: { parts: [{ text: SYSTEM }] },
    contents: TURNS.map(({ role, text }) => ({
      role: role === "assistant" ? "model" : role,
      parts: [{ text }],
    })),
    generationConfig: { maxOutputTokens: MOST_OUTPUT },
  });
  const verb = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return {
    clientPath: `/api/v1/models/google/gemini-3.8-flash:${verb}`,
    upstreamPath: `/v1beta/models/gemini-3.8-flash:${verb}`,
    clientBody: body,
    upstreamBody: body,
    // There is no end mark: the usual last member is told apart from a cut event by its braces alone.
    endMark: stream ? "}\n\n" : PLAIN_END,
  };
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
