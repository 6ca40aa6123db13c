import { afterEach, beforeEach } from "bun:test";
import type { Task } from "../../src/core/task.ts";
import { describeOnEngineOfSuite, type TestEngine } from "../gateway/engines.ts";
import {
  openStation,
  type ProcessOptions,
  type Station,
  type TestProcess,
  type TestRun,
  until,
} from "./station.ts";

/** What a test of tasks has at hand. */
export interface AtStation {
  readonly on: TestEngine;
  /** The station of the test that runs. */
  station(): Station;
  /** A process that runs tasks. */
  started(options?: ProcessOptions): Promise<TestProcess>;
  /** The run of a task, once it has begun. */
  runOf(process: TestProcess, task: Task): Promise<TestRun>;
  /** Whether the task has ended. */
  isEnded(task: Task): Promise<boolean>;
}

/** The same tests on the engine of the suite, each on a station of its own, whose books are right when it ends. */
export function describeAtStations(name: string, tests: (at: AtStation) => void): void {
  describeOnEngineOfSuite(name, (on) => {
    let station: Station;
    beforeEach(async () => {
      station = await openStation(on);
    });
    afterEach(async () => {
      await station.audit();
      await station.close();
    });
    tests({
      on,
      station: () => station,
      async started(options = {}) {
        const process = station.process(options);
        await process.scheduler.start();
        return process;
      },
      async runOf(process, { id }) {
        await until(() => process.runs.has(id), `the run of ${id}`);
        return process.runs.get(id)!;
      },
      isEnded: async ({ id }) => (await station.row(id)).ended_at_ms !== null,
    });
  });
}
