import type { MediaKind } from "./media-job.ts";

/** States of a job as the page knows them: `sending` until the gateway has answered. */
export type MediaState = "sending" | "pending" | "running" | "completed" | "failed" | "cancelled";

/** What went wrong, as the gateway says it. */
export interface MediaFault {
  readonly message: string;
  /** One of the gateway's types of errors; `undefined` where the answer names none. */
  readonly type: string | undefined;
  readonly field: string | undefined;
}

/** What an answer of the gateway says of a job. */
export interface MediaAnswer {
  readonly state: Exclude<MediaState, "sending">;
  readonly taskId: string | undefined;
  readonly files: readonly string[];
  readonly credit: number | undefined;
  readonly warnings: readonly string[];
  readonly fault: MediaFault | undefined;
  readonly createdSec: number | undefined;
  readonly startedSec: number | undefined;
  readonly endedSec: number | undefined;
}

interface Wire {
  readonly id?: string;
  readonly status?: string;
  readonly created?: number;
  readonly started_at?: number | null;
  readonly completed_at?: number | null;
  readonly data?: readonly { readonly url: string }[];
  readonly output?: { readonly urls: readonly string[] };
  readonly credit?: number;
  readonly warnings?: readonly string[];
  readonly error?: string | { readonly message: string; readonly type: string } | null;
}

/** Reads a task, the result of a plain request for images, or the answer to a cancel. */
export function readAnswer(kind: MediaKind, text: string): MediaAnswer {
  const wire = JSON.parse(text) as Wire;
  const { error } = wire;
  return {
    // The result of a plain request has no state.
    state: stateOf(wire.status ?? "completed"),
    taskId: wire.id,
    files: (kind === "image" ? wire.data?.map(({ url }) => url) : wire.output?.urls) ?? [],
    credit: wire.credit,
    warnings: wire.warnings ?? [],
    fault:
      error === undefined || error === null
        ? undefined
        : typeof error === "string"
          ? { message: error, type: undefined, field: undefined }
          : { message: error.message, type: error.type, field: undefined },
    createdSec: wire.created,
    startedSec: wire.started_at ?? undefined,
    endedSec: wire.completed_at ?? undefined,
  };
}

function stateOf(status: string): MediaAnswer["state"] {
  switch (status) {
    case "pending":
    case "completed":
    case "failed":
    case "cancelled":
      return status;
    default:
      return "running";
  }
}

/** The texts of a `Warning` header of the gateway. */
export function warningsIn(header: string | null): readonly string[] {
  return [...(header ?? "").matchAll(/299 switchyard "([^"]*)"/g)].map(([, text = ""]) => text);
}

/** Whether a job in this state goes on. */
export function isOpen(state: MediaState): boolean {
  return state === "sending" || state === "pending" || state === "running";
}
