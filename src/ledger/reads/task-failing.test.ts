import { expect, test } from "bun:test";
import { FAILING_COLUMNS, failTask } from "./task-failing.ts";

test("a task is failed as it was read; it may be unfinished upstream where an attempt was not refused", () => {
  const row = { id: "t", account_id: "a", key_id: "k", hold_id: "h", epoch: 3n, attempts: 2n, refusals: 1n };
  const why = { type: "timeout_error", message: "It took too long.", nowMs: 7 } as const;
  const command = { kind: "fail", task: "t", hold: "h", account: "a", key: "k", epoch: 3, ...why } as const;
  expect<string[]>([...FAILING_COLUMNS].toSorted()).toEqual(Object.keys(row).toSorted());
  expect(failTask(row, why)).toEqual({ ...command, unfinished: true });
  expect(failTask({ ...row, refusals: 2n }, why)).toEqual({ ...command, unfinished: false });
});
