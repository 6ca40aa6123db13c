import { readRetryAfter } from "../../../src/core/time/retry-after.ts";
import type {
  BegunParts,
  MediaCall,
  MediaHttpAnswer,
  MediaHttpRequest,
} from "../../../src/providers/media.ts";

/** An answer as a test has it: a status and what its JSON is, or its text. */
export interface Said {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

/** A call that answers what the test has set, in order, and keeps what was sent. An error among the answers is thrown. */
export interface ScriptedCall {
  readonly call: MediaCall;
  readonly sent: readonly MediaHttpRequest[];
  /** What was said of parts that may have begun. */
  readonly begun: readonly BegunParts[];
}

/** A call for a model by its name upstream. The last answer is given again. */
export function scriptedCall(upstreamId: string, answers: readonly (Said | Error)[]): ScriptedCall {
  const sent: MediaHttpRequest[] = [];
  const begun: BegunParts[] = [];
  return {
    sent,
    begun,
    call: {
      upstreamId,
      model: "test/model",
      reference: "img_1.1",
      clientHeaders: {},
      signal: new AbortController().signal,
      async send(request) {
        sent.push(request);
        const said = answers[Math.min(sent.length, answers.length) - 1];
        if (said === undefined) throw new Error("Nothing was set to be answered.");
        if (said instanceof Error) throw said;
        return answerOf(said);
      },
      noteBegun: (parts) => void begun.push(parts),
      load: async (input) => ({
        mediaType: "image/png",
        bytes: new TextEncoder().encode(`bytes of ${input}`),
      }),
    },
  };
}

function answerOf({ status = 200, headers = {}, json, text }: Said): MediaHttpAnswer {
  const retryAfterSec = readRetryAfter(headers["retry-after"], 0);
  const body = text ?? (json === undefined ? "" : JSON.stringify(json));
  return {
    status,
    header: (name) => headers[name] ?? null,
    ...(retryAfterSec === undefined ? {} : { retryAfterMs: retryAfterSec * 1_000 }),
    bytes: new TextEncoder().encode(body),
    json: text === undefined ? json : undefined,
  };
}
