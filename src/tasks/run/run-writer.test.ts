import { beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../../../test/gateway/fake-clock.ts";
import type { TaskCommand } from "../../ledger/task-commands.ts";
import { CommandRefused, type Writer } from "../../ledger/writer.ts";
import { createRunWriter, type RunWriter } from "./run-writer.ts";

const COMMAND = { kind: "release" } as unknown as TaskCommand;

let clock: FakeClock;
let gone: AbortController;
/** What the store says, try by try; the last again and again. */
let answers: readonly (Error | object)[];
let tries: number;
let troubles: unknown[];
let writer: RunWriter;

beforeEach(() => {
  clock = createFakeClock();
  gone = new AbortController();
  [tries, troubles] = [0, []];
  const submit = async (): Promise<object> => {
    const answer = answers[Math.min(tries, answers.length - 1)]!;
    tries += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  writer = createRunWriter({
    writer: { submit } as unknown as Writer,
    clock,
    gone: gone.signal,
    onTrouble: (error) => void troubles.push(error),
  });
});

/** Lets time pass bit by bit: what is tried again is so a while after it failed. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) await clock.advance(50);
}

/** What a command came to within so many seconds. */
async function outcome(seconds: number, until?: () => boolean): Promise<unknown> {
  const submitted = writer.submit(COMMAND, until).catch((error: unknown) => error);
  const waiting = Promise.race([
    submitted,
    new Promise((resolve) => clock.setTimer(seconds * 1_000 + 500, () => resolve("waits"))),
  ]);
  await pass(seconds * 1_000 + 500);
  return waiting;
}

describe("a command of a run", () => {
  const away = new Error("away");

  test("is sent again every second while the store is away, and the first trouble is told of", async () => {
    answers = [away, away, away, { ok: true }];
    expect(await outcome(2)).toBe("waits");
    expect(tries).toBe(3);
    await pass(1_000);
    expect([tries, troubles, writer.isLost()]).toEqual([4, [away], false]);
  });

  test("that the store refuses by itself is given up at the fifth refusal, and not before", async () => {
    const refused = Object.assign(Object.create(CommandRefused.prototype) as Error, { message: "no" });
    answers = [away, refused];
    expect(await outcome(4)).toBe("waits");
    await pass(1_000);
    expect([tries, troubles]).toEqual([6, [away]]);
    [answers, tries] = [[refused], 0];
    expect(await outcome(6)).toBe(refused);
    expect(tries).toBe(5);
  });

  test("says that the run is lost where the task has another owner, after which nothing is sent", async () => {
    answers = [{ ok: false, reason: "deadline" }];
    expect([await outcome(1), writer.isLost()]).toEqual([answers[0], false]);
    answers = [{ ok: false, reason: "lost" }];
    expect([await outcome(1), writer.isLost()]).toEqual([answers[0], true]);
    expect([await outcome(1), tries]).toEqual([undefined, 2]);
  });

  test("is not sent once the run is lost, the process is gone, or it is of no use any more", async () => {
    answers = [{ ok: true }];
    expect(await outcome(1, () => true)).toBeUndefined();
    gone.abort();
    expect(await outcome(1)).toBeUndefined();
    writer.lose();
    expect([writer.isLost(), tries]).toEqual([true, 0]);
  });
});
