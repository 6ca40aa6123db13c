import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ADMIN_TOKEN, startGateway } from "../gateway/gateway.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { describeWithPromtool, promtool } from "./promtool.ts";
import { readSamples, scrape, those } from "./samples.ts";

// Who may read /metrics, and where.

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("at the gateway's own listener", () => {
  test("the admin token reads it, and nobody else does", async () => {
    const gateway = await startGateway();
    const read = (init?: RequestInit): Promise<Response> => fetch(`${gateway.url}/metrics`, init);
    const good = await read(bearer(ADMIN_TOKEN));
    expect([good.status, good.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    expect(good.headers.get("cache-control")).toBe("no-store");
    for (const init of [undefined, bearer(gateway.key), bearer("adm-of-another-gateway")]) {
      const refused = await read(init);
      expect(refused.status).toBe(401);
      expect(await refused.text()).not.toContain("switchyard_");
    }
    await gateway.close();
  });

  test("no series stands twice, though Gemini makes images and texts by one name", async () => {
    const gateway = await startGateway({ environment: { GEMINI_API_KEY: "sk-gemini-1" } });
    const route = 'switchyard_route_state{model="google/gemini-3-pro-image",provider="google",';
    // Throws where one does.
    expect(Object.values(those(readSamples(await scrape(gateway)), route))).toEqual([0]);
    await gateway.close();
  });

  test("no other spelling of its path leads there", async () => {
    const gateway = await startGateway();
    const paths = ["/v1/metrics", "/api/v1/metrics", "/api/metrics", "/v1beta/metrics", "/metrics/"];
    for (const path of [
      ...paths,
      "/METRICS",
      "/%6detrics",
      "/metrics/x",
      "/admin/v1/metrics",
      "/admin/metrics",
    ])
      for (const token of [ADMIN_TOKEN, gateway.key])
        expect([path, (await fetch(gateway.url + path, bearer(token))).status]).toEqual([path, 404]);
    await gateway.close();
  });
});

describe("at a listener of its own", () => {
  const folder = temporaryFolder();
  let gateway: GatewayProcess;
  let url = "";

  beforeAll(async () => {
    gateway = startProcess({
      SWITCHYARD_HOME: folder.path,
      SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
      METRICS_LISTEN: "127.0.0.1:0",
      SHUTDOWN_DELAY_SECONDS: "600",
    });
    await gateway.prints("/metrics\n");
    url = /metrics: (http:\S+)\/metrics/.exec(gateway.output())?.[1] ?? "";
  });
  afterAll(async () => {
    gateway.child.kill("SIGKILL");
    await gateway.exited();
    folder.remove();
  });

  test("whoever asks reads it, and there is nothing else", async () => {
    const shown = await fetch(`${url}/metrics`);
    expect([shown.status, shown.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    const looks = async (): Promise<number> =>
      readSamples(await (await fetch(`${url}/metrics`)).text()).get(
        "switchyard_event_loop_delay_seconds_count",
      ) ?? 0;
    while ((await looks()) === 0) await Bun.sleep(20);
    const head = await fetch(`${url}/metrics`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const path of [
      "/",
      "/metrics/",
      "/healthz",
      "/admin/v1/accounts",
      "/api/v1/models",
      "/openapi.json",
    ])
      expect([path, (await fetch(url + path, bearer(ADMIN_TOKEN))).status]).toEqual([path, 404]);
    const posted = await fetch(`${url}/metrics`, { method: "POST", body: "x" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  describeWithPromtool("by Prometheus's own parser", () => {
    test("the text of a process that has just started is read", async () => {
      expect(promtool(["check", "metrics"], await (await fetch(`${url}/metrics`)).text())).toBe("");
    });
  });

  test("a second process that is told the same address ends with a sentence that names the variable", async () => {
    const other = temporaryFolder();
    const second = startProcess({ SWITCHYARD_HOME: other.path, METRICS_LISTEN: new URL(url).host });
    expect(await second.exited()).toBe(1);
    expect(second.output()).toContain("is taken. Stop what uses it, or set METRICS_LISTEN to another.");
    other.remove();
  });

  test("it is shown while the gateway shuts down, too", async () => {
    const own = await gateway.ready();
    gateway.child.kill("SIGTERM");
    while ((await fetch(`${own}/readyz`)).status === 200) await Bun.sleep(5);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});
