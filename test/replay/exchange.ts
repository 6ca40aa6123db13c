import type { LogLine } from "../gateway/gateway.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import type { Json } from "./wire-json.ts";

/** A movement of credit as the admin interface shows it. */
export interface LedgerEntry {
  readonly kind: string;
  readonly amount: number;
  readonly request_id: string | null;
}

/** One request through the gateway, and all that could be seen of it. */
export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What reached the upstream double; undefined when nothing did. */
  readonly upstream: SeenRequest | undefined;
  /** Ledger entries of this request. */
  readonly entries: readonly LedgerEntry[];
  readonly log: LogLine;
  /** The row of this request; undefined when it was never paid for. */
  readonly row: Json;
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  readonly held: number;
}
