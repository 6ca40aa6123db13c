/** A call of a function, as the model has written it so far. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, if the model wrote it right. */
  readonly arguments: string;
}

/** Tokens of an answer. */
export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** What a model has answered so far, as chunks of chat completions tell it. */
export interface Answered {
  readonly model: string | undefined;
  readonly text: string;
  readonly thinking: string;
  readonly refusal: string;
  /** The thinking with its signatures, which goes back with the next request. */
  readonly details: readonly Record<string, unknown>[];
  readonly calls: readonly ToolCall[];
  /** Addresses of images, or `data:` ones. */
  readonly images: readonly string[];
  readonly finish: string | undefined;
  readonly tokens: Tokens | undefined;
  readonly credit: number | undefined;
  readonly error: { readonly type: string; readonly message: string } | undefined;
}

/** Nothing yet. */
export const NOTHING: Answered = {
  model: undefined,
  text: "",
  thinking: "",
  refusal: "",
  details: [],
  calls: [],
  images: [],
  finish: undefined,
  tokens: undefined,
  credit: undefined,
  error: undefined,
};

/** Whether any of the answer's content is there. */
export function hasContent({ text, thinking, refusal, calls, images }: Answered): boolean {
  return `${text}${thinking}${refusal}` !== "" || calls.length > 0 || images.length > 0;
}

/** Adds a chunk of the stream. Of several choices the first is read. */
export function withChunk(answered: Answered, chunk: unknown): Answered {
  const { model, choices, usage, credit, error } = recordOf(chunk);
  const first = recordsOf(choices).find(({ index = 0 }) => index === 0);
  const delta = recordOf(first?.delta);
  return {
    model: textOr(model, answered.model),
    text: answered.text + (textOr(delta.content) ?? ""),
    thinking: answered.thinking + (textOr(delta.reasoning_content) ?? textOr(delta.reasoning) ?? ""),
    refusal: answered.refusal + (textOr(delta.refusal) ?? ""),
    details: recordsOf(delta.reasoning_details).reduce(withDetail, answered.details),
    calls: recordsOf(delta.tool_calls).reduce(withCall, answered.calls),
    images: [
      ...answered.images,
      ...recordsOf(delta.images).flatMap(({ image_url: link }) => textOr(recordOf(link).url) ?? []),
    ],
    finish: textOr(first?.finish_reason, answered.finish),
    tokens: usage === undefined || usage === null ? answered.tokens : tokensOf(recordOf(usage)),
    credit: typeof credit === "number" ? credit : answered.credit,
    error: error === undefined ? answered.error : errorOf(recordOf(error)),
  };
}

function withCall(calls: readonly ToolCall[], delta: Record<string, unknown>): readonly ToolCall[] {
  const at = typeof delta.index === "number" ? delta.index : calls.length;
  const before = calls[at] ?? { id: "", name: "", arguments: "" };
  const called = recordOf(delta.function);
  return calls.toSpliced(at, 1, {
    id: textOr(delta.id, before.id) ?? "",
    name: textOr(called.name, before.name) ?? "",
    arguments: before.arguments + (textOr(called.arguments) ?? ""),
  });
}

/** Members of a detail that come piece by piece; others come whole. */
const GROWING = new Set(["text", "thinking", "summary", "data"]);

function withDetail(
  details: readonly Record<string, unknown>[],
  delta: Record<string, unknown>,
): readonly Record<string, unknown>[] {
  const at = details.findIndex(
    ({ index, type }) => index !== undefined && index === delta.index && type === delta.type,
  );
  const before = details[at];
  if (before === undefined) return [...details, delta];
  const grown = Object.entries(delta).map(([name, value]) => {
    const had = before[name];
    const grows = GROWING.has(name) && typeof had === "string" && typeof value === "string";
    return [name, grows ? had + value : value] as const;
  });
  return details.with(at, { ...before, ...Object.fromEntries(grown) });
}

function tokensOf(usage: Record<string, unknown>): Tokens {
  return {
    input: numberOf(usage.prompt_tokens),
    cached: numberOf(recordOf(usage.prompt_tokens_details).cached_tokens),
    output: numberOf(usage.completion_tokens),
    reasoning: numberOf(recordOf(usage.completion_tokens_details).reasoning_tokens),
  };
}

function errorOf({ type, message }: Record<string, unknown>): Answered["error"] {
  return { type: textOr(type) ?? "unknown", message: textOr(message) ?? "The answer was broken off." };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function recordsOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

function textOr(value: unknown, otherwise?: string): string | undefined {
  return typeof value === "string" ? value : otherwise;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
