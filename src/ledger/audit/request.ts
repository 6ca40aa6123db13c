/** The scope of an audit. */
export interface AuditRequest {
  readonly full: boolean;
  readonly nowMs: number;
  /** Since when a process that ends overdue tasks has run without a break; absent: for ever. */
  readonly thereSinceMs?: number;
}
