/** What is to be looked at. */
export interface AuditRequest {
  readonly full: boolean;
  readonly nowMs: number;
  /** Since when somebody was there, without a break, to end what is over; absent: for ever. */
  readonly thereSinceMs?: number;
}
