import { type Static, Type } from "typebox";

/** Settings of tasks. */
export interface TaskSettings {
  /** Pending tasks of an account. */
  readonly pendingPerAccount: number;
  /** Tasks that a provider runs at a time, over all processes, */
  readonly runningPerProvider: number;
  /** or a number of its own by the provider's name. */
  readonly runningAt: Readonly<Record<string, number>>;
  /** Tasks that this process runs at a time. */
  readonly runningPerProcess: number;
  /** Bytes of tasks' inputs and results that this process holds whole at a time. */
  readonly memoryBytes: number;
  /**
   * A running task whose process has not renewed its lease for so long is taken over by another; the value at the start
   * counts.
   */
  readonly leaseMs: number;
  /** How long the files of a result are kept. */
  readonly filesMs: number;
  /** How long an ended task is kept. */
  readonly endedMs: number;
}

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1024 * 1024;

export const DEFAULT_TASK_SETTINGS: TaskSettings = {
  pendingPerAccount: 1_000,
  runningPerProvider: 20,
  runningAt: {},
  runningPerProcess: 64,
  memoryBytes: 256 * MIB,
  leaseMs: 30_000,
  filesMs: DAY_MS,
  endedMs: 30 * DAY_MS,
};

const Count = (maximum: number) => Type.Optional(Type.Integer({ minimum: 1, maximum }));

/** The section `tasks` of the settings file. */
export const TaskSection = Type.Object(
  {
    pending_per_account: Count(1_000_000),
    running_per_provider: Count(10_000),
    running_at: Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: 10_000 }))),
    running_per_process: Count(10_000),
    memory_mib: Count(1_048_576),
    lease_seconds: Type.Optional(Type.Number({ minimum: 3, maximum: 3_600 })),
    result_hours: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 24 * 365 })),
    kept_days: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3_650 })),
  },
  { additionalProperties: false },
);

/**
 * Reads the section. `names` are those of providers that may stand in it. Throws a sentence that begins with `path`
 * where it is wrong.
 */
export function readTaskSection(
  path: string,
  data: Static<typeof TaskSection>,
  names: readonly string[],
): TaskSettings {
  const otherwise = DEFAULT_TASK_SETTINGS;
  const ms = (value: number | undefined, unitMs: number): number | undefined =>
    value === undefined ? undefined : Math.round(value * unitMs);
  const unknown = Object.keys(data.running_at ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(
      `${path}.running_at names ${unknown}, which makes no images or videos: use ${names.join(", ")}.`,
    );
  return {
    pendingPerAccount: data.pending_per_account ?? otherwise.pendingPerAccount,
    runningPerProvider: data.running_per_provider ?? otherwise.runningPerProvider,
    runningAt: data.running_at ?? otherwise.runningAt,
    runningPerProcess: data.running_per_process ?? otherwise.runningPerProcess,
    memoryBytes: data.memory_mib === undefined ? otherwise.memoryBytes : data.memory_mib * MIB,
    leaseMs: ms(data.lease_seconds, 1_000) ?? otherwise.leaseMs,
    filesMs: ms(data.result_hours, HOUR_MS) ?? otherwise.filesMs,
    endedMs: ms(data.kept_days, DAY_MS) ?? otherwise.endedMs,
  };
}
