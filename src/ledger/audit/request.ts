/** What an audit checks. */
export interface AuditRequest {
  readonly full: boolean;
  readonly nowMs: number;
  /** Since when a process has run without a break that ends overdue tasks; absent: for ever. */
  readonly thereSinceMs?: number;
}
