import type { Answer, HeaderPairs } from "./answer.ts";
import { joinBytes, toText } from "./bytes.ts";
import { valuesOf } from "./http-grammar.ts";
import type { RequestHead } from "./http-grammar.ts";

/**
 * Where a request stands. `delivered`: every byte of the answer went out. `cut`: the answer ended early by its own
 * script. `stalled`: it stopped for ever and the socket is open. `client-gone`: the client left before the end.
 */
export type Outcome = "reading" | "answering" | "delivered" | "cut" | "stalled" | "client-gone";

/** How and when the client left before the answer was finished. */
export interface ClientGone {
  readonly how: "closed" | "reset";
  readonly atMs: number;
}

/** What went out for a request so far. */
export interface Answered {
  readonly answer: Answer | undefined;
  /** All bytes the kernel took, head and framing included. */
  readonly bytes: number;
  /** Bytes of the answer's body among them. */
  readonly bodyBytes: number;
}

/** A request as the double saw it. It changes while it is answered; what was read stays as it came. */
export interface SeenRequest {
  /** 1 for the first request since the start or the last reset. */
  readonly id: number;
  /** 1 for the first connection of the double. */
  readonly connection: number;
  /** 1 for the first request on its connection. */
  readonly nthOnConnection: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderPairs;
  readonly receivedAtMs: number;
  /** The exact bytes of the body, chunk framing removed. */
  readonly body: Uint8Array;
  readonly bodyText: string;
  /** False when the double stopped reading, or the client sending, before the end of the body. */
  readonly bodyComplete: boolean;
  readonly clientGone: ClientGone | undefined;
  readonly answered: Answered;
  readonly outcome: Outcome;
  /** The value of a header, several joined with `, `; undefined when absent. */
  header(name: string): string | undefined;
  /** The body parsed as JSON; throws when it is none. */
  json(): unknown;
}

/** The double's own, writable view of a seen request. */
export type RequestRecord = { -readonly [Key in keyof SeenRequest]: SeenRequest[Key] } & {
  /** Appends what was read of the body. */
  take(bytes: Uint8Array): void;
};

/** Begins the record of a request whose head was read. */
export function createRecord(
  head: RequestHead,
  place: {
    readonly id: number;
    readonly connection: number;
    readonly nthOnConnection: number;
    readonly nowMs: number;
  },
): RequestRecord {
  let parts: Uint8Array[] = [];
  return {
    id: place.id,
    connection: place.connection,
    nthOnConnection: place.nthOnConnection,
    receivedAtMs: place.nowMs,
    method: head.method,
    target: head.target,
    headers: head.headers,
    bodyComplete: false,
    clientGone: undefined,
    answered: { answer: undefined, bytes: 0, bodyBytes: 0 },
    outcome: "reading",
    get body() {
      parts = [joinBytes(parts)];
      return parts[0] ?? new Uint8Array();
    },
    get bodyText() {
      return toText(this.body);
    },
    header(name) {
      const values = valuesOf(head.headers, name);
      return values.length === 0 ? undefined : values.join(", ");
    },
    json() {
      return JSON.parse(this.bodyText);
    },
    take(bytes) {
      parts.push(bytes);
    },
  };
}
