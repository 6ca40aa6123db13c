import { expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import type { Json } from "../gateway/gateway.ts";
import { useLimitStation } from "./limited-keys.ts";

// Limits are kept with the books; what was used is known to one process alone.

const station = useLimitStation();

describeOnEngineOfSuite("limits in a store", (engine) => {
  test("outlive the process, whose counts do not", async () => {
    const { environment, remove } = await engine.newPlace();
    await station.restart({ environment });
    const key = await station.issue({ requests_per_minute: 2, concurrency: 5, tokens_per_minute: 1_000_000 });
    for (const status of [200, 200, 429]) expect((await station.ask(key)).status).toBe(status);
    await station.restart({ environment });
    const { json } = await station.gateway.admin("GET", "/keys");
    const listed = json.data.find(({ id }: Json) => id === key.id);
    expect(listed.limits).toEqual({
      requests_per_minute: 2,
      concurrency: 5,
      tokens_per_minute: 1_000_000,
    });
    for (const status of [200, 200, 429]) expect((await station.ask(key)).status).toBe(status);
    await station.restart({});
    await remove();
  });
});
