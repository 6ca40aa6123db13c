import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startLogged } from "./processes.ts";
import type { Child } from "./processes.ts";

/** How the gateway is started. */
export interface GatewayForm {
  /** The root of its checkout; absent: this one. */
  readonly checkout?: string;
  /** A folder of its own, for its home and its log. */
  readonly folder: string;
  readonly upstreamUrl: string;
  readonly on: readonly string[];
  /** Further flags of Bun. */
  readonly flags?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its home; absent: one in its folder. */
  readonly home?: string;
}

/** A gateway that runs, with an account that can pay and a key to it. */
export interface Gateway extends Child {
  readonly url: string;
  readonly key: string;
  /** The admin token. */
  readonly token: string;
  /** Calls the admin interface; throws what it refuses. */
  readonly admin: Admin;
  /** Another key to the same account. */
  newKey(): Promise<string>;
  /** The account's balance in credits, once nothing is held any more. */
  balance(): Promise<number>;
}

type Admin = <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;

/** The credits of the account. */
export const GRANT = 1e9;

const READY_MS = 30_000;
const POLL_MS = 50;
const SETTLE_MS = 5_000;
const SHOWN_BYTES = 4_000;

/**
 * Starts the gateway on the home in its folder, empty where there is none, and waits until it takes work. Then makes
 * the account and the key.
 */
export async function startGateway(form: GatewayForm): Promise<Gateway> {
  const home = form.home ?? join(form.folder, "home");
  const log = join(form.folder, "gateway.log");
  mkdirSync(home, { recursive: true });
  const token = `bench-${crypto.randomUUID()}${crypto.randomUUID()}`;
  const port = freePort();
  const env = {
    HOST: "127.0.0.1",
    PORT: String(port),
    SWITCHYARD_HOME: home,
    // A settings file of the developer must not reach this gateway.
    SWITCHYARD_CONFIG: join(home, "switchyard.yaml"),
    SWITCHYARD_ADMIN_TOKEN: token,
    OPENAI_API_KEY: "sk-bench",
    OPENAI_BASE_URL: `${form.upstreamUrl}/v1`,
    ANTHROPIC_API_KEY: "sk-bench",
    ANTHROPIC_BASE_URL: form.upstreamUrl,
    GEMINI_API_KEY: "sk-bench",
    GEMINI_BASE_URL: form.upstreamUrl,
    NODE_ENV: "production",
    ...form.env,
  };
  const entry = join(form.checkout ?? join(import.meta.dir, ".."), "src/main.ts");
  const child = startLogged({ on: form.on, args: [...(form.flags ?? []), entry], env }, log);
  const url = `http://127.0.0.1:${port}`;
  await ready(child, url, log);
  const admin = createAdmin(url, token);
  const { id } = await admin<{ id: string }>("POST", "/accounts", { name: "benchmark" });
  await admin("POST", `/accounts/${id}/credits`, { amount: GRANT, reason: "benchmark" });
  const newKey = async (): Promise<string> =>
    (await admin<{ key: string }>("POST", "/keys", { account_id: id, name: "benchmark" })).key;
  const key = await newKey();
  const account = () => admin<{ balance: number; held: number }>("GET", `/accounts/${id}`);
  const balance = async () => {
    const deadline = performance.now() + SETTLE_MS;
    for (let state = await account(); ; state = await account()) {
      if (state.held === 0) return state.balance;
      if (performance.now() > deadline) throw new Error(`${state.held} credits stay held after the load`);
      await Bun.sleep(POLL_MS);
    }
  };
  return { ...child, url, key, token, admin, newKey, balance };
}

async function ready(child: Child, url: string, log: string): Promise<void> {
  let ended = false;
  void child.exited.then(() => (ended = true));
  const deadline = performance.now() + READY_MS;
  while (!(await isReady(url))) {
    if (ended || performance.now() > deadline) {
      const said = readFileSync(log, "utf8").slice(-SHOWN_BYTES);
      throw new Error(`the gateway ${ended ? "ended" : "was not ready in time"}; it said:\n${said}`);
    }
    await Bun.sleep(POLL_MS);
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

function createAdmin(url: string, token: string): Admin {
  return async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} /admin/v1${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Answer;
  };
}

/** A port of 127.0.0.1 that nothing listens on now, and that the system gives to no connection. */
export function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch {
      // It is taken: try another.
    }
  }
}
