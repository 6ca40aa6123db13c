import type { Entry } from "../../api/client.ts";

/** A paid request in a list. */
export type RequestRow = Entry<"/admin/v1/requests">;

/** With what the names of lists of paid requests begin in the cache. */
export const LISTED = ["requests", "list"] as const;

/** A request that was refused before a hold. */
export interface RefusalRow {
  readonly id: string;
  readonly at: number;
  readonly status: number;
  readonly code: string;
  readonly field: string | null;
  readonly model: string | null;
  readonly key_id: string | null;
  readonly account_id: string | null;
  readonly path: string;
}

/** Refusals in an hour or a day. */
export interface RefusalCount {
  readonly time: number;
  readonly group: string | null;
  readonly count: number;
}

/** A part of a charge. */
export interface ChargeLine {
  readonly bucket: string;
  readonly quantity: number;
  readonly price: number | null;
  readonly unit: string | null;
  readonly credit: number;
}

/** One paid request. */
export interface RequestDetail extends RequestRow {
  readonly lines: readonly ChargeLine[];
  readonly ledger: readonly Entry<"/admin/v1/accounts/{id}/ledger">[];
  readonly task_id: string | null;
  readonly hold: {
    readonly amount: number;
    readonly state: "held" | "settled" | "voided";
    readonly created_at: number;
    readonly ended_at: number | null;
  };
}
