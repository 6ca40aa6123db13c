import type { Gate } from "./gate.ts";

/** Header lines in the order they are written; names may repeat and values are written as they are. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** How the end of the body is told to the client. */
export type Framing = "content-length" | "chunked" | "close";

/** How the body is cut into writes; with chunked framing each piece is one chunk. */
export type Cut =
  | "whole"
  | "events"
  | { readonly every: number }
  | { readonly at: readonly number[] }
  | { readonly seed: number; readonly maxBytes?: number };

/**
 * A point in the answer. A number is a count of body bytes (of the body as sent, framing not counted). `{ wire }`
 * counts every byte from the first of the head, or back from the last one when negative. `body-end` is before the last
 * chunk, `last-byte` after it.
 */
export type Place =
  | "start"
  | "mid-head"
  | "head-end"
  | "body-end"
  | "last-byte"
  | number
  | { readonly wire: number };

/** Something that happens when a place is reached, before the next byte is written. */
export type Mark =
  | { readonly at: Place; readonly pauseMs: number }
  | { readonly at: Place; readonly gate: Gate };

/** What is done with the connection when the answer ends. */
export type EndKind = "keep-alive" | "fin" | "reset" | "half-close" | "stall";

/** Where an answer ends, finished or not, and how. */
export interface End {
  readonly at: Place;
  readonly how: EndKind;
}

/** An interim head (1xx) sent before the answer. */
export interface Interim {
  readonly status: number;
  readonly headers?: HeaderPairs;
}

/** An answer of the double: plain data, from which every byte and every TCP event follows. */
export interface Answer {
  /** 200 when not given. */
  readonly status?: number;
  readonly headers?: HeaderPairs;
  readonly body?: string | Uint8Array;
  /** `content-length` when not given. */
  readonly framing?: Framing;
  /** One write for all when not given. */
  readonly cut?: Cut;
  /** Which neighbours share a write with the body's first and last piece: `both` for `whole`, else `none`. */
  readonly glue?: "none" | "head" | "tail" | "both";
  /** Pause before every piece of the body but the first. */
  readonly pauseMs?: number;
  readonly marks?: readonly Mark[];
  /** Keep-alive after the last byte when not given; FIN for the framing `close`. */
  readonly end?: End;
  /** Cuts every write again, head and framing included, with a pause between the parts. */
  readonly drip?: { readonly everyBytes: number; readonly pauseMs?: number };
  /** Written again and again after the body, until the client goes. */
  readonly endless?: { readonly bytes: string | Uint8Array; readonly pauseMs?: number };
  readonly trailers?: HeaderPairs;
  readonly interim?: readonly Interim[];
  /** Replaces the status line. */
  readonly statusLine?: string;
  /** Replaces the true value of Content-Length; `absent` leaves the header out. */
  readonly declaredLength?: number | string;
  /** Replaces the size line of one chunk. */
  readonly brokenChunk?: { readonly index: number; readonly sizeLine: string };
}

/** A finished JSON answer. */
export function jsonAnswer(status: number, body: unknown, more: Partial<Answer> = {}): Answer {
  return {
    status,
    body: JSON.stringify(body),
    ...more,
    headers: [["content-type", "application/json"], ...(more.headers ?? [])],
  };
}

/** A 200 answer of server-sent events, chunked, each event its own write. */
export function sseAnswer(body: string | Uint8Array, more: Partial<Answer> = {}): Answer {
  return {
    status: 200,
    body,
    framing: "chunked",
    cut: "events",
    ...more,
    headers: [
      ["content-type", "text/event-stream; charset=utf-8"],
      ["cache-control", "no-cache"],
      ...(more.headers ?? []),
    ],
  };
}
