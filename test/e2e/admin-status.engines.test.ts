import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { createGate } from "../upstream/gate.ts";
import { gateAt } from "../upstream/faults.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { type UpstreamDouble, startUpstreamDouble } from "../upstream/double.ts";
import { SMALL, WAITING } from "./task-station.ts";

const SECOND_KEY = "sk-second-canary-91d20e";
const SETTINGS = `
providers:
  openai:
    credentials:
      - { env: OPENAI_SECOND }
  mirror:
    base_url: http://127.0.0.1:9/v1
    models: [{ id: mirror/own, prices: { input: 1, output: 1 } }]
timeouts: { idle_seconds: 7.5 }
tasks: { running_at: { fal: 2 } }
`;

describeOnEngineOfSuite("GET /admin/v1/status", (engine) => {
  let place: TestPlace;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  beforeEach(async () => {
    place = await engine.newPlace();
    double = await startUpstreamDouble();
    gateway = await startGateway({
      openai: `${double.url}/v1`,
      environment: {
        ...place.environment,
        SWITCHYARD_SANDBOX: "on",
        OPENAI_SECOND: SECOND_KEY,
        FAL_KEY: "fal-canary",
      },
      settings: SETTINGS,
    });
  });
  afterEach(async () => {
    await gateway.close();
    await double.close();
    await place.remove();
  });

  const status = async (): Promise<Json> => (await gateway.admin("GET", "/status")).json;

  test("tells version, store, queue, open holds and the last audit as they are", async () => {
    const before = await status();
    expect(before).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      store: { engine: engine.name, place: expect.stringMatching(/\S/), files: expect.stringMatching(/\S/) },
      processes: 1,
      queue: { pending: 0, running: 0 },
      open_holds: 0,
      audit: { last_run_at: null, ok: null },
    });
    expect(before.started_at).toBeCloseTo(Date.now() / 1000, -3);

    const gate = createGate();
    double.handle(() => gateAt(chatAnswer({ words: ["a"] }), "start", gate));
    const body = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "hi" }] };
    const answer = gateway.chat(body);
    await double.waitForRequest(1);
    await gateway.post("/api/v1/videos", SMALL.video, { headers: WAITING });
    await gateway.admin("GET", "/audit");
    const now = await status();
    expect(now.open_holds).toBe(2);
    expect(now.audit).toEqual({ last_run_at: expect.any(Number), ok: true });
    gate.release();
    await (await answer).text();
  });

  test("tells each provider that there can be, and which can be called", async () => {
    const { providers } = await status();
    const of = (id: string): Json => providers.find((provider: Json) => provider.id === id);
    expect(of("openai")).toEqual({ id: "openai", live: true, credentials: 2, sandbox: false });
    expect(of("mirror")).toEqual({ id: "mirror", live: true, credentials: 1, sandbox: false });
    expect(of("fal")).toEqual({ id: "fal", live: true, credentials: 1, sandbox: false });
    expect(of("xai")).toEqual({ id: "xai", live: false, credentials: 0, sandbox: false });
    expect(of("sandbox")).toEqual({ id: "sandbox", live: true, credentials: 0, sandbox: true });
  });

  test("shows the settings in force by their names, and no credential anywhere", async () => {
    const { settings } = await status();
    expect(settings.timeouts).toMatchObject({ idle_seconds: 7.5, connect_seconds: 5 });
    expect(settings.tasks).toMatchObject({ running_at: { fal: 2 }, pending_per_account: 1_000 });
    expect(settings.process).toMatchObject({ sandbox: "on", public_url: null });
    const text = JSON.stringify(await status());
    for (const secret of [UPSTREAM_KEY, SECOND_KEY, "fal-canary", "adm-test"])
      expect(text).not.toContain(secret);
  });
});
