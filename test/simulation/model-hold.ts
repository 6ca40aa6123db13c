/** A hold of the model, and what became of it. */
export interface ModelHold {
  readonly account: string;
  readonly key: string;
  readonly boot: string;
  readonly amount: bigint;
  expectedCost: bigint;
  readonly task: string | null;
  state: "held" | "settled" | "voided";
  charged: bigint;
  /** What was used and nobody paid for, as far as the books know. */
  lost: bigint;
  /** Whether a settlement that came too late has said what was really used. */
  corrected: boolean;
}
