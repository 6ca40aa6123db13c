import type { FailpointName } from "../../../src/core/failpoint.ts";

/** A moment in the life of a task to die at. */
export interface TaskPoint {
  /** The rows of the crash list that it stands for. */
  readonly rows: string;
  readonly name: string;
  /** What the gateway is started with to die at the n-th passing by itself; empty where it is killed from outside. */
  environment(nth: number): Readonly<Record<string, string>>;
  /** What it is killed at from outside: when a file is asked for, whose bytes are still to come, or at any moment. */
  readonly from?: "file" | "clock";
  /** Changes the tasks before that start, as if their time were over. */
  readonly overdue?: "deadlines" | "files";
}

const at = (rows: string, name: FailpointName, more: Partial<TaskPoint> = {}): TaskPoint => ({
  rows,
  name,
  environment: (nth) => ({ SWITCHYARD_FAILPOINT: `${name}:kill:${nth}` }),
  ...more,
});

const atWriter = (rows: string, name: FailpointName): TaskPoint => ({
  rows,
  name,
  environment: (nth) => ({ SWITCHYARD_WRITER_FAILPOINT: `${name}:kill:${nth}` }),
});

const ANY_MOMENT: TaskPoint = {
  rows: "K13 to K27",
  name: "any moment",
  environment: () => ({}),
  from: "clock",
};

/** Every step of a task, in its order. */
export const TASK_POINTS: readonly TaskPoint[] = [
  at("K13", "task.before_submit"),
  atWriter("K13 K24 K26 K27", "writer.before_commit"),
  atWriter("K14 K15 K25", "writer.after_commit"),
  at("K14", "task.after_submit"),
  at("K15", "task.claimed"),
  at("K16", "task.attempted"),
  at("K17", "task.sent"),
  at("K18", "task.job_noted"),
  at("K19", "task.polled"),
  at("K20", "task.downloading"),
  { rows: "K21", name: "a file half sent", environment: () => ({}), from: "file" },
  at("K22", "task.file_stored"),
  at("K24", "task.before_finish"),
  at("K25", "task.after_finish"),
  at("K26", "task.before_fail"),
  at("K27", "task.before_cancel"),
  at("K28", "task.sweeping", { overdue: "deadlines" }),
  at("K30", "files.forgotten", { overdue: "files" }),
  ANY_MOMENT,
];

/**
 * Every step of a task that its first route refuses: from there to the second, and what follows.
 */
export const SECOND_ROUTE_POINTS: readonly TaskPoint[] = [
  at("K16", "task.attempted"),
  // The refusal is lost with the process: whether the first has it is not known.
  at("K17", "task.sent"),
  at("K16 again", "task.refused"),
  at("K16 again", "task.moved"),
  at("K18", "task.job_noted"),
  at("K24", "task.before_finish"),
  ANY_MOMENT,
];
