import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/core/time/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { readConfig } from "../../src/environment.ts";
import { buildServices } from "../../src/services.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { type GatewayProcess, temporaryFolder } from "../gateway/process.ts";
import { greeted, keyOf, openGatewayProcesses, request, useGatewayProcesses } from "../gateway/processes.ts";
import { type Json, streamEvents } from "../gateway/gateway.ts";

// The gateway as a process: what it prints, what it refuses to start with, and how it ends. A start takes most of a
// second of a core, so tests that only look share one.

async function stop(gateway: GatewayProcess): Promise<number> {
  gateway.child.kill("SIGTERM");
  return gateway.exited();
}

/** What a shell prints that is given these lines, as JSON. */
async function paste(lines: readonly string[], environment = {}): Promise<Json> {
  const shell = spawn("sh", ["-c", lines.join("\n").replaceAll("curl ", "curl -sS ")], {
    env: { PATH: process.env.PATH ?? "", ...environment },
  });
  let printed = "";
  shell.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  await once(shell, "close");
  return JSON.parse(printed);
}

const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

// In this order: each test goes on where the one before has ended.
describe("of three starts on one folder", () => {
  const processes = openGatewayProcesses();
  let first: GatewayProcess;
  let second: GatewayProcess;
  let url: string;
  let token: string;
  beforeAll(async () => {
    first = processes.start();
    url = await greeted(first);
    token = /Admin token \(shown once\): (adm-\w+)/.exec(first.output())?.[1] ?? "";
  });
  afterAll(() => processes.close());

  test("the first makes an account, a key and a token and shows them, and keeps its secrets to this user", async () => {
    expect(token).toMatch(/^adm-\w+$/);
    expect((await fetch(`${url}/api/v1/models`, bearer(keyOf(first)))).status).toBe(200);
    for (const file of ["pepper", "switchyard.db"]) {
      expect(statSync(join(processes.path, "home", file)).mode & 0o777).toBe(0o600);
    }
  });

  // A machine without curl cannot run what the greeting says.
  test.skipIf(Bun.which("curl") === null)(
    "the first's lines pasted into a shell print an answer",
    async () => {
      const lines = first.output().split("\n");
      expect(lines[0]).toBe(`export SWITCHYARD_KEY=${keyOf(first)}`);
      const answer = await paste(lines.slice(0, 2));
      expect(answer.choices[0].message.content).toStartWith("This is the Switchyard sandbox");
    },
  );

  test("the first, without a provider, says that the sandbox serves the catalogue, which then answers", async () => {
    expect(first.output()).toContain("The sandbox serves 26 models with invented answers");
    const answer = await fetch(`${url}/api/v1/chat/completions`, request(keyOf(first)));
    expect([answer.status, answer.headers.get("x-switchyard-provider")]).toEqual([200, "sandbox"]);
    expect(streamEvents(await answer.text()).at(-1)).toBe("[DONE]");
  });

  // Only Linux tells of the threads of a process.
  test.skipIf(!existsSync("/proc/self/task"))(
    "the first has every thread when it listens: what is asked later starts none but for those that took their work's place",
    async () => {
      const tasks = `/proc/${first.child.pid}/task`;
      const names = (): string[] =>
        readdirSync(tasks).flatMap((thread) => {
          try {
            return [readFileSync(join(tasks, thread, "comm"), "utf8").trim()];
          } catch {
            return []; // It has ended since.
          }
        });
      const workers = (): number => names().filter((name) => name === "Worker").length;
      // The writer, the audit, the admin interface, the sandbox's studio, the cutter of grids, two that read bodies.
      // What they start has their name for a moment. That of kept answers starts with the first one.
      while (workers() !== 7) await Bun.sleep(20);
      expect(names()).toContain("HTTP Client");
      await fetch(`${url}/admin/v1/audit`, bearer(token));
      const image = await fetch(`${url}/api/v1/images/generations`, {
        ...request(keyOf(first)),
        body: JSON.stringify({ model: "alibaba/qwen-image-2.0", prompt: "A fox", size: "512*512" }),
      });
      expect(image.status).toBe(200);
      while (workers() !== 7) await Bun.sleep(20);
    },
  );

  test("another on the first's port is refused in one sentence", async () => {
    const { port } = new URL(url);
    const other = processes.start({ SWITCHYARD_HOME: join(processes.path, "other"), PORT: port });
    expect(await other.exited()).toBe(1);
    expect(other.output().trim()).toMatch(new RegExp(`^Port ${port} on 127.0.0.1 is taken\\..*PORT.*$`));
  });

  test("another on the folder while the first has it is refused in one sentence", async () => {
    const other = processes.start();
    expect(await other.exited()).toBe(1);
    expect(other.output().trim()).toMatch(
      /^The data folder \S+ is in use by another Switchyard process\..*SWITCHYARD_HOME\.$/,
    );
  });

  test("the second shows nothing again, and with a provider says nothing of the sandbox; the key serves on", async () => {
    expect(await stop(first)).toBe(0);
    second = processes.start({ OPENAI_API_KEY: "sk-up" });
    const again = await second.ready();
    expect((await fetch(`${again}/api/v1/models`, bearer(keyOf(first)))).status).toBe(200);
    await second.prints("/admin/v1/keys");
    expect(second.output()).not.toMatch(/shown once|sandbox/);
  });

  test.skipIf(Bun.which("curl") === null)(
    "the second's lines pasted into a shell print a new key",
    async () => {
      const command = second
        .output()
        .split("\n")
        .filter((line) => line.includes("/admin/v1/keys"));
      expect((await paste(command, { SWITCHYARD_ADMIN_TOKEN: token })).key).toMatch(/^sk-\w+$/);
    },
  );

  test("the third, whose provider is gone, says nothing of the sandbox", async () => {
    expect(await stop(second)).toBe(0);
    const third = processes.start();
    await third.prints("/admin/v1/keys");
    expect(await stop(third)).toBe(0);
    expect(third.output()).not.toMatch(/shown once|sandbox/);
  });
});

describe("a start with settings", () => {
  const processes = openGatewayProcesses();
  let gateway: GatewayProcess;
  let url: string;
  beforeAll(async () => {
    gateway = processes.start({
      GROQ_API_KEY: "k",
      OPENAI_API_KEY: "k",
      SWITCHYARD_ADMIN_TOKEN: "adm-chosen-by-operator",
      HOST: "0.0.0.0",
      BUN_INSPECT: "unix:///dev/null/nowhere",
    });
    url = await greeted(gateway);
  });
  afterAll(() => processes.close());

  test("names a live provider that has no model yet, with what to do", () => {
    expect(gateway.output()).toContain("Without a model until switchyard.yaml names one");
    expect(gateway.output()).toMatch(/\(docs\/configuration\.md\): groq\.\n/);
  });

  test("takes the admin token that the environment has, and prints nothing of it", async () => {
    expect(gateway.output()).not.toContain("adm-chosen");
    const address = `http://127.0.0.1:${new URL(url).port}/admin/v1/accounts`;
    expect((await fetch(address, bearer("adm-chosen-by-operator"))).status).toBe(200);
  });

  test("warns of an inspector, and of a host beyond this machine, in the log by name", async () => {
    await gateway.prints("HOST is");
    const warnings = gateway
      .output()
      .split("\n")
      .filter((line) => line.includes('"level":"warn"'))
      .map((line) => (JSON.parse(line) as { message: string }).message.split(/ is | opens /)[0]);
    expect(warnings).toEqual(["BUN_INSPECT", "HOST"]);
  });
});

describe("what cannot be started is one sentence:", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  /** What a start with `environment` is refused with. */
  async function refusalOf(environment: Readonly<Record<string, string>>): Promise<string> {
    const all = { SWITCHYARD_HOME: join(folder.path, "home"), ...environment };
    try {
      const config = readConfig(all, folder.path);
      const log = { info() {}, warn() {}, error() {} };
      const parts = { config, environment: all, clock: systemClock, random: systemRandom, log };
      await (await buildServices(parts)).close();
      return "started";
    } catch (error) {
      return (error as Error).message;
    }
  }

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
      name: "an admin token of one character",
      environment: { SWITCHYARD_ADMIN_TOKEN: "0".repeat(32) },
      says: /^SWITCHYARD_ADMIN_TOKEN is one character repeated: .*$/,
    },
    {
      name: "certificates that are not checked",
      environment: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      says: /^NODE_TLS_REJECT_UNAUTHORIZED is 0, .*$/,
    },
    {
      name: "a credential with a line break in it",
      environment: { ANTHROPIC_API_KEY: "sk-ant\nx-other: y" },
      says: /^ANTHROPIC_API_KEY has a line break .*$/,
    },
    {
      name: "a provider's address with a password in it",
      environment: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://me:secret@proxy.example/v1" },
      says: /^OPENAI_BASE_URL has a name or a password in it, (?!.*secret).*$/,
    },
  ];
  for (const { name, environment, says } of refusals)
    test(name, async () => {
      const refusal = await refusalOf(environment);
      expect(refusal).toMatch(says);
      expect(refusal).not.toContain("\n");
    });

  test("an unknown key in switchyard.yaml, by its path", async () => {
    const file = join(folder.path, "switchyard.yaml");
    writeFileSync(
      file,
      "providers:\n  local:\n    base_url: http://127.0.0.1:1/v1\n    models: [{ id: a/b, prices: { input: 1, output: 1 } }]\n    modells: []\n",
    );
    expect(await refusalOf({ SWITCHYARD_CONFIG: file })).toContain(
      "providers.local.modells is not a known key",
    );
  });
});

const processes = useGatewayProcesses();
const { start } = processes;

for (const { name, environment, says } of [
  {
    name: "environment",
    environment: { SWITCHYARD_ADMIN_TOKEN: "short" },
    says: /SWITCHYARD_ADMIN_TOKEN is shorter/,
  },
  {
    name: "data folder",
    environment: { SWITCHYARD_HOME: "/dev/null/home" },
    says: /data folder .* cannot be written/,
  },
  {
    name: "runtime",
    environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: "" },
    says: /BUN_CONFIG_MAX_HTTP_REQUESTS is not set/,
  },
])
  test(`a process that cannot start because of its ${name} prints that sentence alone and ends with 1`, async () => {
    const gateway = start(environment);
    expect(await gateway.exited()).toBe(1);
    expect(gateway.output().trim()).toMatch(says);
    expect(gateway.output().trim().split("\n").length).toBe(1);
  });

test("a switchyard.yaml that is changed in place counts when it is good, and does not when it is bad", async () => {
  const file = join(processes.path, "switchyard.yaml");
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

test("for the time that is set after SIGTERM readyz is 503 while new connections are served; a second signal ends it", async () => {
  const gateway = start({ SHUTDOWN_DELAY_SECONDS: "600" });
  const url = await greeted(gateway);
  const status = async (path: string): Promise<number> =>
    (await fetch(url + path, { headers: { connection: "close" } })).status;
  expect(await status("/readyz")).toBe(200);
  gateway.child.kill("SIGTERM");
  while ((await status("/readyz")) !== 503) await Bun.sleep(5);
  expect(await status("/healthz")).toBe(200);
  const answer = await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)));
  expect(streamEvents(await answer.text()).at(-1)).toBe("[DONE]");
  gateway.child.kill("SIGTERM");
  expect(await gateway.exited()).toBe(130);
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
