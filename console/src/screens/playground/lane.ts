import { createParser } from "eventsource-parser";
import { createSignal } from "solid-js";
import { createStore } from "solid-js/store";
import { ApiError, Offline, send } from "../../api/client.ts";
import { type Answered, hasContent, NOTHING, withChunk } from "./answered.ts";
import { assistantMessage, bodyOf, type Message, warningsOf, type Wishes } from "./conversation.ts";

/** Why there is no answer, or no whole one. */
export interface Fault {
  readonly type: string;
  readonly message: string;
  readonly field: string | undefined;
}

/** One answer: what was asked, what came, and what it took. */
export interface Run {
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly request: ReturnType<typeof bodyOf>;
  readonly answered: Answered;
  /** From the request to the first content, and to the end, in milliseconds. */
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
  readonly requestId: string | undefined;
  readonly warnings: readonly string[];
  readonly isSandbox: boolean;
  readonly fault: Fault | undefined;
  /** Events as they came, once the answer has ended. */
  readonly raw: string;
}

/** What stands in a conversation: a message of the reader, or an answer. */
export interface Entry {
  readonly message?: Message;
  readonly run?: Run;
}

/** A conversation with one model. */
export interface Lane {
  readonly entries: readonly Entry[];
  isRunning(): boolean;
  /** Adds messages and asks for an answer to them. */
  say(messages: readonly Message[]): Promise<void>;
  /** Asks for the last answer anew. */
  again(): Promise<void>;
  stop(): void;
  clear(): void;
}

/** A conversation with the model that `model` names, after the entries of an earlier one. */
export function createLane(
  model: () => string | undefined,
  wishes: () => Wishes,
  before: readonly Entry[] = [],
): Lane {
  const [lane, setLane] = createStore<{ entries: Entry[] }>({ entries: before.map(ended) });
  const [cut, setCut] = createSignal<AbortController>();

  async function answer(): Promise<void> {
    const id = model();
    if (id === undefined || cut() !== undefined) return;
    const request = bodyOf(id, messagesOf(lane.entries), wishes());
    const at = lane.entries.length;
    const abort = new AbortController();
    setCut(abort);
    const begun: Run = {
      state: "running",
      request,
      answered: NOTHING,
      firstMs: undefined,
      totalMs: undefined,
      requestId: undefined,
      warnings: [],
      isSandbox: false,
      fault: undefined,
      raw: "",
    };
    setLane("entries", at, { run: begun });
    const change = (run: Partial<Run>): void => {
      // The conversation may have been cleared since, and another begun.
      if (cut() === abort) setLane("entries", at, (entry) => ({ run: { ...(entry?.run ?? begun), ...run } }));
    };
    try {
      await perform(request, abort.signal, change);
    } finally {
      if (cut() === abort) setCut();
    }
  }

  return {
    get entries() {
      return lane.entries;
    },
    isRunning: () => cut() !== undefined,
    say(messages) {
      setLane("entries", (entries) => [...entries, ...messages.map((message) => ({ message }))]);
      return answer();
    },
    again() {
      setLane("entries", (entries) => (entries.at(-1)?.run ? entries.slice(0, -1) : entries));
      return answer();
    },
    stop: () => cut()?.abort(),
    clear() {
      cut()?.abort();
      setCut();
      setLane("entries", []);
    },
  };
}

/** An answer that was still coming in comes no further. */
function ended(entry: Entry): Entry {
  return entry.run?.state === "running" ? { ...entry, run: { ...entry.run, state: "stopped" } } : entry;
}

/** The conversation as the next request has it. An answer without content is left out. */
function messagesOf(entries: readonly Entry[]): readonly Message[] {
  return entries.flatMap(({ message, run }) => {
    if (message !== undefined) return message;
    return run !== undefined && hasContent(run.answered) ? assistantMessage(run.answered) : [];
  });
}

async function perform(
  request: Run["request"],
  signal: AbortSignal,
  change: (run: Partial<Run>) => void,
): Promise<void> {
  const begun = performance.now();
  const sinceMs = (): number => performance.now() - begun;
  let raw = "";
  let answered = NOTHING;
  try {
    const response = await send("post", "/console/api/play/chat/completions", { body: request, signal });
    change({
      requestId: response.headers.get("x-request-id") ?? undefined,
      warnings: warningsOf(response.headers.get("warning")),
      isSandbox: response.headers.get("x-switchyard-provider") === "sandbox",
    });
    let firstMs: number | undefined;
    const parser = createParser({
      onEvent({ data }) {
        if (data !== "[DONE]") answered = withChunk(answered, JSON.parse(data));
      },
    });
    for await (const text of textOf(response)) {
      raw += text;
      parser.feed(text);
      if (hasContent(answered)) firstMs ??= sinceMs();
      change({ answered, firstMs });
    }
    const { error } = answered;
    change({
      state: error === undefined ? "done" : "failed",
      fault: error && { ...error, field: undefined },
      totalMs: sinceMs(),
      raw,
    });
  } catch (error) {
    if (signal.aborted) return change({ state: "stopped", totalMs: sinceMs(), raw });
    change({
      state: "failed",
      fault: faultOf(error),
      totalMs: sinceMs(),
      raw,
      ...(error instanceof ApiError ? { requestId: error.requestId } : {}),
    });
  }
}

async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    yield value;
  }
}

function faultOf(error: unknown): Fault {
  if (error instanceof ApiError) return { type: error.type, message: error.message, field: error.field };
  if (error instanceof Offline) return { type: "offline", message: error.message, field: undefined };
  return {
    type: "broken_off",
    message: "The connection ended before the answer did.",
    field: undefined,
  };
}
