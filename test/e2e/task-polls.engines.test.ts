import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { LONG, SEED } from "../runs.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { type Kind, startTaskStation, type TaskStation } from "./task-station.ts";

// Row C17 of the concurrency list: tasks that are asked after by many while they end.

/** Polls of each kind of task on each engine. */
const POLLS = LONG ? 10_000 : 300;
/** Of at least so many tasks: every fourth fails. */
const TASKS = 4;
/** How many ask after one task at the same time. */
const POLLERS = 8;
/** The longest pause between two polls of one of them. */
const PAUSE_MS = 20;
/** Longer than any round takes; a poller that sees no end by then has found a task that is stuck. */
const ROUND_MS = 30_000;

const ORDER = ["pending", "running", "completed", "failed"];

/** What the polls of a kind have seen. */
interface Seen {
  tasks: number;
  polls: number;
  /** Polls that were under way in the moment in which the task ended. */
  acrossTheEnd: number;
  readonly states: Record<string, number>;
}

describeOnEngineOfSuite("tasks that are asked after while they end,", (engine) => {
  const random = seededRandom(SEED);
  let place: TestPlace;
  let station: TaskStation;
  /** Reads from the same store, and takes its part of the work; of a file there is one process only. */
  let other: TestGateway | undefined;

  beforeAll(async () => {
    place = await engine.newPlace();
    const environment = { ...place.environment, SWITCHYARD_SANDBOX: "on" };
    station = await startTaskStation({ environment, credits: 900_000_000 });
    if (engine.name === "postgres") other = await startGateway({ environment });
  });
  afterAll(async () => {
    await other?.close();
    await station.gateway.close();
    await place.remove();
  });

  /** One poll of a task, at this process or at the other one. */
  async function poll(path: string): Promise<Json> {
    const { url } = other !== undefined && random() < 0.5 ? other : station.gateway;
    const response = await fetch(url + path, {
      headers: { authorization: `Bearer ${station.gateway.key}` },
    });
    expect(response.status).toBe(200);
    return response.json();
  }

  /** A task that ends within some milliseconds, well or not, is asked after by all at once until each has seen its end. */
  async function round(kind: Kind, seen: Seen): Promise<void> {
    seen.tasks += 1;
    const end = seen.tasks % 4 === 0 ? "failed" : "completed";
    const times = `pending_ms=${Math.floor(random() * 20)}; running_ms=${Math.floor(random() * 80)}`;
    const orders = end === "failed" ? `${times}; fail=failed` : times;
    const task = await station.submit(kind, {}, { "x-sandbox": orders });
    let endSeenAt = Infinity;
    const until = performance.now() + ROUND_MS;
    const ask = async (): Promise<void> => {
      for (let before = 0; ;) {
        const askedAt = performance.now();
        const json = await poll(task.polling_url);
        const at = ORDER.indexOf(json.status);
        seen.polls += 1;
        seen.states[json.status] = (seen.states[json.status] ?? 0) + 1;
        // Never a state that it has left.
        expect(at).toBeGreaterThanOrEqual(before);
        before = at;
        expectWhole(kind, json);
        if (json.completed_at !== null) {
          endSeenAt = Math.min(endSeenAt, performance.now());
          expect(json.status).toBe(end);
          if (askedAt < endSeenAt) seen.acrossTheEnd += 1;
          return;
        }
        if (performance.now() > until) throw new Error(`The task is still ${json.status}.`);
        await Bun.sleep(random() * PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: POLLERS }, ask));
  }

  for (const kind of ["image", "video"] as const)
    test(`are never completed without result and cost, nor have either before: ${POLLS} polls (${kind})`, async () => {
      const seen: Seen = { tasks: 0, polls: 0, acrossTheEnd: 0, states: {} };
      const startedAt = performance.now();
      while (seen.polls < POLLS || seen.tasks < TASKS) await round(kind, seen);
      const { states } = seen;
      expect(Math.min(states.running ?? 0, states.completed ?? 0, states.failed ?? 0)).toBeGreaterThan(0);
      expect(seen.acrossTheEnd).toBeGreaterThanOrEqual(seen.tasks);
      const { json: audit } = await station.gateway.admin("GET", "/audit?full=true");
      expect(audit.checks.filter(({ ok }: Json) => ok === false)).toEqual([]);
      if (LONG)
        console.log(
          `polls: ${engine.name} | ${kind} | ${seen.tasks} tasks | ${seen.polls} polls | ` +
            `${ORDER.map((state) => `${states[state] ?? 0} ${state}`).join(", ")} | ` +
            `${seen.acrossTheEnd} across the end | ${((performance.now() - startedAt) / 1000).toFixed(1)} s | audit clean`,
        );
    }, 1_800_000);
});

/** A task is told of as one state has it: result, cost, end and error are all there or all not. */
function expectWhole(kind: Kind, json: Json): void {
  const isDone = json.status === "completed";
  const result = kind === "image" ? json.data : json.output?.urls;
  expect([result?.length, typeof json.credit, json.credit > 0]).toEqual(
    isDone ? [1, "number", true] : [undefined, "undefined", false],
  );
  if (kind === "image") {
    expect(json.result === undefined).toBe(!isDone);
    if (isDone) expect([json.result.data, json.result.credit]).toEqual([json.data, json.credit]);
  }
  expect(typeof json.started_at).toBe(json.status === "pending" ? "object" : "number");
  const hasError = json.error !== null && json.error !== undefined;
  expect([json.completed_at !== null, hasError]).toEqual([
    isDone || json.status === "failed",
    json.status === "failed",
  ]);
}
