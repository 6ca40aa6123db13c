import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { readConfig, type Environment } from "../../src/environment.ts";
import { isJsonObject } from "../../src/core/json/json-value.ts";
import { systemClock, type Clock } from "../../src/core/time/clock.ts";
import type { Log, LogFields } from "../../src/core/log/log.ts";
import { systemRandom, type Random } from "../../src/core/random.ts";
import { serve } from "../../src/runtime/serve.ts";
import { buildServices, type Services } from "../../src/services.ts";

/** The admin token of every gateway that tests start. */
export const ADMIN_TOKEN = "adm-test-0123456789abcdef";

/** The key that the gateway shows to its upstream in tests. */
export const UPSTREAM_KEY = "sk-upstream-canary-7f3a9c";

/** A line that the gateway logged. */
export interface LogLine extends LogFields {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
}

/** A gateway that listens on a real socket, with a store of its own in a temporary folder. */
export interface TestGateway {
  readonly url: string;
  /** An API key of an account with `credits`. */
  readonly key: string;
  readonly keyId: string;
  readonly accountId: string;
  readonly home: string;
  readonly services: Services;
  readonly logs: readonly LogLine[];
  /** Calls the admin interface; returns the parsed answer. */
  admin(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly json: Json }>;
  /** Posts to the chat completions endpoint with the key. */
  chat(body: unknown, init?: RequestInit): Promise<Response>;
  /** Posts to a path that begins with `/api/v1`, with the key. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** The account as the store has it now. */
  account(): Promise<{ readonly balance: number; readonly held: number }>;
  /** Resolves when nothing is held any more: every request has settled. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read answers by path
export type Json = any;

/** How a test's gateway differs from the plain one. */
export interface TestGatewayOptions {
  /** Base address of the upstream that stands for OpenAI. */
  readonly openai?: string;
  /** Base address of the upstream that stands for Anthropic. */
  readonly anthropic?: string;
  /** Contents of switchyard.yaml. Without a section of routing nothing is sent twice. */
  readonly settings?: string;
  readonly environment?: Environment;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly credits?: number;
  /** Where the console's built files are. */
  readonly consoleFolder?: string;
}

/**
 * Settings by which each request is one call, whatever became of those before, unless they say otherwise. A test of one
 * fault after the other would meet the breaker.
 */
export function withRouting(settings: string): string {
  let given: unknown;
  try {
    given = parse(settings) ?? {};
  } catch {
    return settings;
  }
  if (!isJsonObject(given) || "routing" in given) return settings;
  return JSON.stringify({ ...given, routing: { attempts: 1, breaker_failures: 0 } });
}

/** Starts a gateway with one account and one key. */
export async function startGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-test-"));
  const settingsFile = join(folder, "switchyard.yaml");
  writeFileSync(settingsFile, withRouting(options.settings ?? ""));
  const environment: Environment = {
    PORT: "0",
    SWITCHYARD_HOME: join(folder, "home"),
    SWITCHYARD_CONFIG: settingsFile,
    SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN,
    ...(options.openai === undefined
      ? {}
      : { OPENAI_API_KEY: UPSTREAM_KEY, OPENAI_BASE_URL: options.openai }),
    ...(options.anthropic === undefined
      ? {}
      : { ANTHROPIC_API_KEY: UPSTREAM_KEY, ANTHROPIC_BASE_URL: options.anthropic }),
    ...options.environment,
  };
  const logs: LogLine[] = [];
  const config = readConfig(environment, folder);
  const services = await buildServices({
    config,
    environment,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    log: recordingLog(logs),
    ...(options.consoleFolder === undefined ? {} : { consoleFolder: options.consoleFolder }),
  });
  const listener = serve({
    hostname: "127.0.0.1",
    port: 0,
    stallSec: 60,
    handle: services.app,
  });
  services.listensAt(listener.url);

  const admin: TestGateway["admin"] = async (method, path, body) => {
    const response = await fetch(`${listener.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  };
  const { json: account } = await admin("POST", "/accounts", { name: "test" });
  const credits = options.credits ?? 1_000_000;
  if (credits > 0)
    await admin("POST", `/accounts/${account.id}/credits`, { amount: credits, reason: "test" });
  const { json: key } = await admin("POST", "/keys", { account_id: account.id, name: "test" });

  const post: TestGateway["post"] = (path, body, init = {}) =>
    fetch(`${listener.url}${path}`, {
      method: "POST",
      body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      ...init,
      headers: {
        authorization: `Bearer ${key.key}`,
        "content-type": "application/json",
        ...(init.headers as Record<string, string> | undefined),
      },
    });
  const readAccount = () => services.admin.account(account.id as string);
  return {
    url: listener.url,
    key: key.key,
    keyId: key.id,
    accountId: account.id,
    home: config.home,
    services,
    logs,
    admin,
    chat: (body, init) => post("/api/v1/chat/completions", body, init),
    post,
    account: readAccount,
    async settled() {
      while ((await readAccount()).held !== 0) await new Promise((resolve) => setImmediate(resolve));
    },
    async close() {
      await listener.stop();
      await services.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function recordingLog(lines: LogLine[]): Log {
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, ...fields });
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

/** The JSON values of a stream's `data` lines, `[DONE]` as the string it is. */
export function streamEvents(text: string): Json[] {
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => event.slice(6))
    .map((data) => (data === "[DONE]" ? data : JSON.parse(data)));
}
