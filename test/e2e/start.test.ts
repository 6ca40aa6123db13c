import { afterEach, beforeEach, expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../gateway/process.ts";
import { streamEvents } from "../gateway/gateway.ts";

// The gateway as a process: what it prints, what it refuses to start with, how it ends, and what a kill leaves.

let folder: ReturnType<typeof temporaryFolder>;
let running: GatewayProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const gateway of running) {
    gateway.child.kill("SIGKILL");
    await gateway.exited();
  }
  running = [];
  folder.remove();
});

function start(environment: Record<string, string> = {}): GatewayProcess {
  const gateway = startProcess({
    SWITCHYARD_HOME: join(folder.path, "home"),
    SWITCHYARD_CONFIG: join(folder.path, "switchyard.yaml"),
    ...environment,
  });
  running.push(gateway);
  return gateway;
}

async function stop(gateway: GatewayProcess): Promise<number> {
  gateway.child.kill("SIGTERM");
  return gateway.exited();
}

const keyOf = (gateway: GatewayProcess): string =>
  /API key \(shown once\): (sk-\w+)/.exec(gateway.output())?.[1] ?? "";

/** Resolves once the gateway has printed all of its greeting. */
async function greeted(gateway: GatewayProcess): Promise<string> {
  const url = await gateway.ready();
  while (!gateway.output().includes("It belongs to the account"))
    await new Promise((resolve) => setImmediate(resolve));
  return url;
}

test("the first start makes an account, a key and a token and shows them once; the second shows nothing", async () => {
  const first = start();
  const url = await greeted(first);
  const key = keyOf(first);
  expect(first.output()).toMatch(/Admin token \(shown once\): adm-\w+/);
  expect((await fetch(`${url}/api/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(
    200,
  );
  expect(await stop(first)).toBe(0);
  for (const file of ["pepper", "switchyard.db"]) {
    expect(statSync(join(folder.path, "home", file)).mode & 0o777).toBe(0o600);
  }
  const second = start();
  const again = await second.ready();
  expect(
    (await fetch(`${again}/api/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status,
  ).toBe(200);
  expect(await stop(second)).toBe(0);
  expect(second.output()).not.toMatch(/shown once/);
});

test("a live provider that has no model yet is named, with what to do", async () => {
  const gateway = start({ GROQ_API_KEY: "k", OPENAI_API_KEY: "k" });
  await greeted(gateway);
  expect(gateway.output()).toContain("Without a model until switchyard.yaml names one");
  expect(gateway.output()).toMatch(/\(docs\/configuration\.md\): groq\.\n/);
});

test("without a key it says that the sandbox serves the catalogue, which then answers; with one it says nothing of it", async () => {
  const first = start();
  const url = await greeted(first);
  expect(first.output()).toContain("No provider is live: set OPENAI_API_KEY");
  expect(first.output()).toMatch(
    /The sandbox serves 21 models with invented answers: .*openai\/gpt-5\.6-luna/,
  );
  const answer = await fetch(`${url}/api/v1/chat/completions`, { ...request(keyOf(first)) });
  expect([answer.status, answer.headers.get("x-switchyard-provider")]).toEqual([200, "sandbox"]);
  expect(streamEvents(await answer.text()).at(-1)).toBe("[DONE]");
  expect(await stop(first)).toBe(0);
  for (const environment of [{ OPENAI_API_KEY: "sk-up" }, {}]) {
    const next = start(environment);
    await next.ready();
    expect(await stop(next)).toBe(0);
    expect(next.output()).not.toContain("sandbox");
  }
});

test("an admin token from the environment holds, and nothing is printed of it", async () => {
  const gateway = start({ SWITCHYARD_ADMIN_TOKEN: "adm-chosen-by-operator" });
  const url = await greeted(gateway);
  expect(gateway.output()).not.toContain("adm-chosen");
  const headers = { authorization: "Bearer adm-chosen-by-operator" };
  expect((await fetch(`${url}/admin/v1/accounts`, { headers })).status).toBe(200);
});

test("a taken port is one sentence and a failure", async () => {
  const first = start();
  const port = new URL(await first.ready()).port;
  const second = start({ SWITCHYARD_HOME: join(folder.path, "other"), PORT: port });
  expect(await second.exited()).toBe(1);
  expect(second.output().trim()).toMatch(new RegExp(`^Port ${port} on 127.0.0.1 is taken\\..*PORT.*$`));
});

test("a data folder in use by another process is one sentence and a failure", async () => {
  const first = start();
  await first.ready();
  const second = start();
  expect(await second.exited()).toBe(1);
  expect(second.output().trim()).toMatch(
    /^The data folder \S+ is in use by another Switchyard process\..*SWITCHYARD_HOME\.$/,
  );
});

const refusals = [
  {
    name: "a data folder that cannot be written",
    environment: { SWITCHYARD_HOME: "/dev/null/home" },
    says: /data folder .* cannot be written/,
  },
  { name: "a port that is none", environment: { PORT: "http" }, says: /PORT is "http"/ },
  {
    name: "a store that is no PostgreSQL",
    environment: { DATABASE_URL: "mysql://127.0.0.1/x" },
    says: /DATABASE_URL is no URL that begins with postgres:/,
  },
  {
    name: "a PostgreSQL that is not there",
    environment: { DATABASE_URL: "postgres://someone:secret@127.0.0.1:1/x" },
    says: /^The database of DATABASE_URL cannot be used: (?!.*secret).*$/,
  },
  {
    name: "a short admin token",
    environment: { SWITCHYARD_ADMIN_TOKEN: "short" },
    says: /SWITCHYARD_ADMIN_TOKEN is shorter/,
  },
  {
    name: "a runtime without its setting",
    environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: "" },
    says: /BUN_CONFIG_MAX_HTTP_REQUESTS is not set/,
  },
];
for (const { name, environment, says } of refusals) {
  test(`${name} is one sentence and a failure`, async () => {
    const gateway = start(environment);
    expect(await gateway.exited()).toBe(1);
    expect(gateway.output().trim()).toMatch(says);
    expect(gateway.output().trim().split("\n").length).toBe(1);
  });
}

test("an unknown key in switchyard.yaml is refused by its path; changed in place, a good file counts and a bad one does not", async () => {
  const file = join(folder.path, "switchyard.yaml");
  writeFileSync(
    file,
    "providers:\n  local:\n    base_url: http://127.0.0.1:1/v1\n    models: [{ id: a/b, prices: { input: 1, output: 1 } }]\n    modells: []\n",
  );
  const refused = start();
  expect(await refused.exited()).toBe(1);
  expect(refused.output()).toContain("providers.local.modells is not a known key");
  const good = (id: string): string =>
    `providers:\n  local:\n    base_url: http://127.0.0.1:1/v1\n    models:\n      - id: ${id}\n        prices: { input: 1, output: 2 }\n`;
  writeFileSync(file, good("acme/one"));
  const gateway = start();
  const url = await greeted(gateway);
  const ids = async (): Promise<string[]> => {
    const response = await fetch(`${url}/api/v1/models`, {
      headers: { authorization: `Bearer ${keyOf(gateway)}` },
    });
    return ((await response.json()) as { data: { id: string }[] }).data.map((model) => model.id);
  };
  expect(await ids()).toEqual(["acme/one"]);
  writeFileSync(file, good("acme/second"));
  while ((await ids())[0] !== "acme/second") await Bun.sleep(20);
  writeFileSync(file, `${good("acme/third")}nonsense: 1\n`);
  while (!gateway.output().includes("nonsense is not a known key")) await Bun.sleep(20);
  expect(await ids()).toEqual(["acme/second"]);
});

const request = (key: string): RequestInit => ({
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: JSON.stringify({
    model: "openai/gpt-5.6-luna",
    stream: true,
    max_tokens: 64,
    messages: [{ role: "user", content: "hi" }],
  }),
});

test("SIGTERM lets a stream end whole, takes nothing new, and exits 0", async () => {
  const double = await startUpstreamDouble();
  const gateway = start({ OPENAI_API_KEY: "sk-up", OPENAI_BASE_URL: `${double.url}/v1` });
  const url = await greeted(gateway);
  const events = chatStream({ words: ["one ", "two"] });
  const gate = createGate();
  double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 2), gate));
  const response = await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)));
  gateway.child.kill("SIGTERM");
  const refused = async (): Promise<boolean> => {
    try {
      await fetch(`${url}/healthz`, { headers: { connection: "close" } });
      return false;
    } catch {
      return true;
    }
  };
  while (!(await refused())) await Bun.sleep(5);
  gate.release();
  expect(streamEvents(await response.text()).at(-1)).toBe("[DONE]");
  expect(await gateway.exited()).toBe(0);
  await double.close();
});

test("kill -9 in mid-stream: the next start has the folder, nothing held, and the whole balance", async () => {
  const double = await startUpstreamDouble();
  const environment = {
    OPENAI_API_KEY: "sk-up",
    OPENAI_BASE_URL: `${double.url}/v1`,
    SWITCHYARD_ADMIN_TOKEN: "adm-0123456789abcdef",
  };
  const gateway = start(environment);
  const url = await greeted(gateway);
  const events = chatStream({ words: ["one ", "two"] });
  double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 2), createGate()));
  const accounts = async (at: string): Promise<{ balance: number; held: number }> => {
    const answer = await fetch(`${at}/admin/v1/accounts`, {
      headers: { authorization: "Bearer adm-0123456789abcdef" },
    });
    return ((await answer.json()) as { data: { balance: number; held: number }[] }).data[0]!;
  };
  const response = await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)));
  expect(response.status).toBe(200);
  expect((await accounts(url)).held).toBeGreaterThan(0);
  gateway.child.kill("SIGKILL");
  await gateway.exited();
  await response.text().catch(() => "cut");
  const next = start(environment);
  expect(await accounts(await next.ready())).toMatchObject({ balance: 100_000, held: 0 });
  await double.close();
});

for (const point of [
  "hold.after_commit",
  "upstream.after_headers",
  "settle.before_submit",
  "settle.after_commit",
]) {
  test(`killed at ${point}: the books are right after the next start`, async () => {
    const double = await startUpstreamDouble();
    const environment = {
      OPENAI_API_KEY: "sk-up",
      OPENAI_BASE_URL: `${double.url}/v1`,
      SWITCHYARD_ADMIN_TOKEN: "adm-0123456789abcdef",
    };
    const gateway = start({ ...environment, SWITCHYARD_FAILPOINT: `${point}:kill` });
    const url = await greeted(gateway);
    double.handle(() =>
      sseAnswer(
        chatStream({ words: ["one"], usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } }),
      ),
    );
    await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)))
      .then((response) => response.text())
      .catch(() => "cut");
    await gateway.exited();
    const next = start(environment);
    const answer = await fetch(`${await next.ready()}/admin/v1/accounts`, {
      headers: { authorization: "Bearer adm-0123456789abcdef" },
    });
    const [account] = ((await answer.json()) as { data: { balance: number; held: number }[] }).data;
    expect(account).toMatchObject({
      balance: point === "settle.after_commit" ? 99_999.93 : 100_000,
      held: 0,
    });
    await double.close();
  });
}
