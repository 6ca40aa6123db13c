import { afterEach, beforeEach, expect, test } from "bun:test";
import { type ConsoleClient, signIn } from "../gateway/console-client.ts";
import { describeOnSharedBooks, type TestPlace } from "../gateway/engines.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { ADMIN_TOKEN, startGateway, type TestGateway } from "../gateway/gateway.ts";

// Sessions of the console where several processes share the books.

/** By then every process has seen that a session ended elsewhere. */
const SEEN_MS = 5_000;

describeOnSharedBooks("a session of the console", (engine) => {
  let place: TestPlace;
  let clock: FakeClock;
  let gateways: TestGateway[];

  const start = async (environment: Readonly<Record<string, string>> = {}): Promise<TestGateway> => {
    const gateway = await startGateway({ clock, environment: { ...place.environment, ...environment } });
    gateways.push(gateway);
    return gateway;
  };
  beforeEach(async () => {
    place = await engine.newPlace();
    clock = createFakeClock();
    gateways = [];
  });
  afterEach(async () => {
    for (const gateway of gateways) await gateway.close();
    await place.remove();
  });

  /** What each process answers to the session's cookie. */
  const statuses = (client: ConsoleClient): Promise<readonly number[]> =>
    Promise.all(
      gateways.map(async ({ url }) => {
        const headers = { cookie: client.cookie };
        return (await fetch(`${url}/console/api/session`, { headers })).status;
      }),
    );

  test("is good at each, with the same token", async () => {
    const [one, two] = [await start(), await start()];
    const client = await signIn(one, ADMIN_TOKEN);
    const headers = { cookie: client.cookie };
    const other = await fetch(`${two.url}/console/api/session`, { headers });
    expect(await other.json()).toEqual({ ...client.session, public_url: two.url });
  });

  test("that ends at one by a sign-out ends at the other within five seconds", async () => {
    const one = await start();
    await start();
    const client = await signIn(one, ADMIN_TOKEN);
    expect(await statuses(client)).toEqual([200, 200]);
    await client.ask("DELETE", "/session");
    await clock.advance(SEEN_MS);
    expect(await statuses(client)).toEqual([401, 401]);
  });

  test("of a key that is revoked at one ends at the other within five seconds", async () => {
    const [one, two] = [await start(), await start()];
    const client = await signIn(one, one.key);
    expect(await statuses(client)).toEqual([200, 200]);
    await two.admin("DELETE", `/keys/${one.keyId}`);
    await clock.advance(SEEN_MS);
    expect(await statuses(client)).toEqual([401, 401]);
  });

  test("of an operator ends at each within five seconds once a process has started with another admin token", async () => {
    const one = await start();
    const [operator, developer] = [await signIn(one, ADMIN_TOKEN), await signIn(one, one.key)];
    expect([await statuses(operator), await statuses(developer)]).toEqual([[200], [200]]);
    await start({ SWITCHYARD_ADMIN_TOKEN: "adm-another-0123456789abcdef" });
    await clock.advance(SEEN_MS);
    expect([await statuses(operator), await statuses(developer)]).toEqual([
      [401, 401],
      [200, 200],
    ]);
    // A process that has not been started anew still knows the earlier token, and no other takes its session.
    const late = await signIn(one, ADMIN_TOKEN);
    const headers = { cookie: late.cookie };
    expect((await fetch(`${gateways[1]?.url}/console/api/session`, { headers })).status).toBe(401);
  });
});
