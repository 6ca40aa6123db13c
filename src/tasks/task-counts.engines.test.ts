import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { describeOnEngineOfSuite } from "../../test/gateway/engines.ts";
import { openStation, type Station } from "../../test/tasks/station.ts";
import { createTaskCounts } from "./task-counts.ts";

describeOnEngineOfSuite("tasks that have not ended", (on) => {
  let station: Station;
  beforeAll(async () => {
    station = await openStation(on);
  });
  afterAll(() => station.close());
  beforeEach(() => station.execute("delete from tasks"));

  let inserted = 0;
  const insert = (count: number, kind: "image" | "video", state: "pending" | "running" | "failed") => {
    const from = inserted;
    inserted += count;
    const [owner, lease] = state === "running" ? ["'boot'", "1"] : ["null", "null"];
    const [error, ended] = state === "failed" ? ["'generation_error'", "1"] : ["null", "null"];
    return station.execute(
      `with recursive numbers (i) as (select ${from} union all select i + 1 from numbers where i < ${from + count - 1})
       insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, state, owner, lease_until_ms,
           error_type, ended_at_ms, terms, warnings, timeout_sec, deadline_ms, created_at_ms, ready_at_ms)
         select '' || i, '${kind}', 'a', 'k', 'h' || i, 'r' || i, 'm', '${state}', ${owner}, ${lease},
           ${error}, ${ended}, '{}', '[]', 1, 1, 1, 1
         from numbers`,
    );
  };
  const open = () => {
    const clock = createFakeClock();
    const count = createTaskCounts(station.store.database, clock);
    const counted = async (): Promise<string> =>
      (await count()).map(({ kind, state, count: of }) => `${state} ${kind}s ${of}`).join(", ");
    return { clock, counted };
  };

  test("are counted by kind and state", async () => {
    const { counted } = open();
    await insert(3, "image", "pending");
    await insert(2, "video", "running");
    await insert(5, "video", "failed");
    expect(await counted()).toBe("pending images 3, pending videos 0, running images 0, running videos 2");
  });

  test("are counted anew every five seconds, and no more often", async () => {
    const { clock, counted } = open();
    const none = "pending images 0, pending videos 0, running images 0, running videos 0";
    expect(await counted()).toBe(none);
    await insert(1, "video", "pending");
    await clock.advance(4_999);
    expect(await counted()).toBe(none);
    await clock.advance(1);
    expect(await counted()).toBe("pending images 0, pending videos 1, running images 0, running videos 0");
  });

  test("are counted to 20,000 in a state", async () => {
    const { counted } = open();
    await insert(20_010, "image", "pending");
    await insert(1, "image", "running");
    expect(await counted()).toBe(
      "pending images 20000, pending videos 0, running images 1, running videos 0",
    );
  });
});
