import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import type { Attempt } from "../ledger/commands.ts";
import type { CountedRequest, Meter } from "./metrics/meter.ts";
import { openRequestRecord } from "./request-record.ts";

const ATTEMPTS: readonly Attempt[] = [{ provider: "p", upstream_id: "m", sent_at_ms: 0, status: 200 }];

/** A record by a stopwatch that the test sets, and what was counted. */
function open() {
  const counted: CountedRequest[] = [];
  const watch = { nowMs: 1_000 };
  const meter: Meter = {
    nowMs: () => watch.nowMs,
    began: () => {},
    retried: () => {},
    ended: (request) => void counted.push(request),
    taskRun: () => {},
  };
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const request = { requestId: "req_1", method: "POST", path: "/x" };
  return { record: openRequestRecord(log, createFakeClock(), request, meter), watch, counted };
}

test("a request's own time is all of it but that in which its body and its providers were waited for", () => {
  const { record, watch, counted } = open();
  const pass = (ms: number): void => void (watch.nowMs += ms);
  pass(0.25);
  record.waits();
  pass(100);
  record.goesOn();
  pass(0.5);
  record.waits();
  pass(30);
  // A further attempt, or the pause before it: the wait goes on.
  record.waits();
  pass(50);
  record.sawContent();
  pass(20);
  record.called(ATTEMPTS);
  pass(0.125);
  record.finish(200);
  record.finish(200);
  expect(counted).toHaveLength(1);
  expect(counted[0]).toMatchObject({ durationMs: 200.875, ownMs: 0.875, firstContentMs: 180.75 });
});

test("a request that called no provider has no time that counts as its own", () => {
  const { record, watch, counted } = open();
  watch.nowMs += 5;
  record.finish(200);
  expect(counted[0]).toMatchObject({ durationMs: 5, ownMs: undefined, firstContentMs: undefined });
});

test("the outcome is that of the call, else what the client is told, else that the line has an error", () => {
  const outcomes = [
    (): void => {},
    ({ record }: ReturnType<typeof open>): void => record.refused("rate_limit_error"),
    ({ record }: ReturnType<typeof open>): void => record.note({ error: "the charge could not be written" }),
    ({ record }: ReturnType<typeof open>): void => {
      record.note({ outcome: "client_gone" });
      record.refused("internal_error");
    },
  ].map((before) => {
    const opened = open();
    before(opened);
    opened.record.finish(200);
    return opened.counted[0]?.outcome;
  });
  expect(outcomes).toEqual(["completed", "rate_limit_error", "internal_error", "client_gone"]);
});
