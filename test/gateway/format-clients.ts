import type { Json } from "./gateway.ts";

/** How a client of a format asks for a stream, and what its events have told it. */
export interface FormatClient {
  path(model: string): string;
  readonly body: Json;
  /** Whether the end says that nothing is missing. */
  isWhole(events: readonly Json[]): boolean;
  /** Whether the end says that the answer broke. */
  hasFailed(events: readonly Json[]): boolean;
  /** Why it broke, as the end says it. */
  reasonOf(events: readonly Json[]): string | undefined;
  textOf(events: readonly Json[]): string;
}

const TURN = [{ role: "user", content: "Say hello." }];
const of = (events: readonly Json[], type: string): Json[] => events.filter((event) => event.type === type);

/** A client of each format. */
export const FORMAT_CLIENTS = {
  chat_completions: {
    path: () => "/api/v1/chat/completions",
    body: { messages: TURN },
    isWhole: (events) =>
      events.some(({ choices: [choice] = [] }) => choice?.finish_reason === "stop") &&
      events.every(({ error }) => error === undefined),
    hasFailed: (events) => events.some(({ error }) => error !== undefined),
    reasonOf: (events) => events.find(({ error }) => error !== undefined)?.error.message,
    textOf: (events) => events.map(({ choices: [choice] = [] }) => choice?.delta.content ?? "").join(""),
  },
  messages: {
    path: () => "/api/v1/messages",
    body: { max_tokens: 100, messages: TURN },
    isWhole: (events) => of(events, "message_stop").length > 0,
    hasFailed: (events) => of(events, "error").length > 0,
    reasonOf: (events) => of(events, "error")[0]?.error.message,
    textOf: (events) => events.map(({ delta }) => delta?.text ?? "").join(""),
  },
  generate_content: {
    path: (model) => `/api/v1/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: "user", parts: [{ text: "Say hello." }] }] },
    isWhole: (events) => events.some(({ candidates: [one] = [] }) => one?.finishReason !== undefined),
    hasFailed: (events) => events.some(({ error }) => error !== undefined),
    reasonOf: (events) => events.find(({ error }) => error !== undefined)?.error.message,
    textOf: (events) =>
      events.map(({ candidates: [one] = [] }) => one?.content?.parts?.[0]?.text ?? "").join(""),
  },
  responses: {
    path: () => "/api/v1/responses",
    body: { input: "Say hello.", store: false },
    isWhole: (events) => of(events, "response.completed").length > 0,
    hasFailed: (events) => of(events, "error").length === 1 && of(events, "response.failed").length === 1,
    reasonOf: (events) => of(events, "response.failed")[0]?.response.error.message,
    textOf: (events) =>
      of(events, "response.output_text.delta")
        .map(({ delta }) => delta)
        .join(""),
  },
} as const satisfies Readonly<Record<string, FormatClient>>;

/** The body of a streamed request: where the path has no model, it stands there. */
export function streamedBody({ path, body }: FormatClient, model: string): Json {
  return path(model).includes(model) ? body : { ...body, model, stream: true };
}

/** The JSON events of a stream. */
export function jsonEvents(text: string): Json[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
}
