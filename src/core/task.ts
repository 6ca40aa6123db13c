/** Kinds of work that outlives its request. */
export const TASK_KINDS = ["image", "video"] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

/** States of a task. */
export const TASK_STATES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** The next states of each state; an end state has none. */
export const TRANSITIONS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  pending: ["running", "failed", "cancelled"],
  running: ["completed", "failed"],
  completed: [],
  failed: [],
  cancelled: [],
};

/** Whether a task in this state has ended. */
export function isEnded(state: TaskState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** Why a task failed, as the interface names it. */
export const TASK_ERRORS = [
  "generation_error",
  "content_moderation",
  "invalid_request_error",
  "input_too_large",
  "timeout_error",
  "overloaded_error",
] as const;
export type TaskErrorType = (typeof TASK_ERRORS)[number];

/** The failure that the client of a task receives. */
export interface TaskFailure {
  readonly type: TaskErrorType;
  readonly message: string;
}

/** A file that a task made, as it was stored. */
export interface ResultFile {
  /** Its name within the task's folder; made of its content. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** The result of a completed task. */
export interface TaskResult {
  /** When it was made, in seconds since the epoch. */
  readonly createdSec: number;
  readonly files: readonly ResultFile[];
  /** Token counts that the client receives; only of models that are billed by tokens. */
  readonly usage?: TaskUsage;
  /** Whether the client asked for the bytes themselves, beside their URLs; absent is no. */
  readonly base64?: boolean;
}

export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** How often a run was about to send the task to a provider, and how often the provider surely did not take it. */
export interface TaskAttempts<Count extends number | bigint = number> {
  readonly attempts: Count;
  readonly refusals: Count;
}

/** Whether a provider may have begun a task: of its attempts, not all were surely refused. */
export function mayBeBegun({ attempts, refusals }: TaskAttempts | TaskAttempts<bigint>): boolean {
  return attempts > refusals;
}

/** A task as it stands. */
export interface Task {
  readonly id: string;
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly model: string;
  readonly state: TaskState;
  readonly timeoutSec: number;
  /** Changes that the gateway made to the request, a sentence each. */
  readonly warnings: readonly string[];
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  /** Set when it has failed. */
  readonly failure: TaskFailure | null;
  /** Set when it has completed; without files once they are deleted. */
  readonly result: TaskResult | null;
  /** Its charge in micro-credits; set when it has completed. */
  readonly charge: bigint | null;
  /** Who works or worked on it; null until it was claimed. */
  readonly provider: string | null;
}
