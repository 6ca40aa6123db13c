import { expect, test } from "bun:test";
import { startGateway } from "../gateway/gateway.ts";
import { sharedCluster } from "../postgres/cluster.ts";
import { describeOnPostgres } from "../postgres/on-postgres.ts";
import { body, useLimitStation } from "./limited-keys.ts";

const station = useLimitStation();

describeOnPostgres("processes that share a store", () => {
  test("count apart, and see a limit that another changed within 4 s", async () => {
    const { url, drop } = await (await sharedCluster()).database();
    const options = {
      openai: `${station.double.url}/v1`,
      clock: station.clock,
      environment: { DATABASE_URL: url },
    };
    await station.restart(options);
    const other = await startGateway(options);
    const key = await station.issue({ requests_per_minute: 1 });
    const askOther = async () => (await other.chat(body, { headers: key.headers })).status;
    expect([(await station.ask(key)).status, (await station.ask(key)).status]).toEqual([200, 429]);
    expect([await askOther(), await askOther()]).toEqual([200, 429]);
    await station.gateway.admin("PATCH", `/keys/${key.id}`, { limits: { requests_per_minute: 2 } });
    expect((await station.ask(key)).status).toBe(200);
    await station.clock.advance(4_000);
    expect([await askOther(), await askOther()]).toEqual([200, 429]);
    await other.close();
    await station.restart({});
    await drop();
  });
});
