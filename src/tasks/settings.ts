/** What the operator sets of tasks. */
export interface TaskSettings {
  /** Tasks that an account may have waiting. */
  readonly pendingPerAccount: number;
  /** Tasks that one provider runs at a time, over all processes; */
  readonly runningPerProvider: number;
  /** or as many as stand here, by the provider's name. */
  readonly runningPerProviderOf: Readonly<Record<string, number>>;
  /** Tasks that this process runs at a time. */
  readonly runningPerProcess: number;
  /** A running task that its process has not been heard of for so long is taken over by another. */
  readonly leaseMs: number;
  /** How long files of a result are kept. */
  readonly filesMs: number;
  /** How long an ended task is kept. */
  readonly endedMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export const DEFAULT_TASK_SETTINGS: TaskSettings = {
  pendingPerAccount: 1_000,
  runningPerProvider: 20,
  runningPerProviderOf: {},
  runningPerProcess: 64,
  leaseMs: 30_000,
  filesMs: DAY_MS,
  endedMs: 30 * DAY_MS,
};
