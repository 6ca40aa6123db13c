import { expect } from "bun:test";
import type { FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway, type TestGatewayOptions } from "../gateway/gateway.ts";

// Tasks on the sandbox, over a real socket.

/** An order to the sandbox: done at once; */
export const AT_ONCE = { "x-sandbox": "pending_ms=0; running_ms=0" };
/** waiting for an hour; */
export const WAITING = { "x-sandbox": "pending_ms=3600000" };
/** running for an hour. */
export const RUNNING = { "x-sandbox": "pending_ms=0; running_ms=3600000" };

/** Paths of both kinds. */
export const PATHS = { image: "/api/v1/images/generations", video: "/api/v1/videos" } as const;

/** A small request of each kind. */
export const SMALL = {
  image: {
    model: "alibaba/qwen-image-2.0",
    prompt: "A lighthouse in the fog.",
    size: "512*512",
    async: true,
  },
  video: { model: "bytedance/seedance-2.0-fast", prompt: "Waves.", resolution: "480p" },
} as const;

export type Kind = keyof typeof PATHS;
export type HeaderRecord = Readonly<Record<string, string>>;

/** A gateway whose models are served by the sandbox. */
export interface TaskStation {
  readonly gateway: TestGateway;
  /** Posts a request of a kind, with the small request's fields where `body` has no others. */
  post(kind: Kind, body?: object, headers?: HeaderRecord): Promise<Response>;
  /** The task of a request, which must be a 202. */
  submit(kind: Kind, body?: object, headers?: HeaderRecord): Promise<Json>;
  /** Reads the path of a task, or of anything else. */
  read(path: string, headers?: HeaderRecord): Promise<{ readonly status: number; readonly json: Json }>;
  /** The task in a state that it comes to. */
  until(task: Json, ...states: readonly string[]): Promise<Json>;
  cancel(path: string, headers?: HeaderRecord): Promise<Response>;
  /** A key with limits, of an account of its own with so many credits. */
  issue(
    credits: number,
    limits?: object,
  ): Promise<{ readonly accountId: string; readonly headers: HeaderRecord }>;
}

/**
 * Moves time on, a second at a time, for as long as sockets and threads need to keep up, until `isOver`. The last seconds
 * are the longest: a thread that draws its first image has to load first.
 */
export async function passTime(clock: FakeClock, seconds: number, isOver: () => boolean): Promise<number> {
  for (let passed = 0; passed < seconds; passed += 1) {
    if (isOver()) return passed;
    await Bun.sleep(Math.max(10, 150 - (seconds - passed)));
    await clock.advance(1_000);
  }
  throw new Error(`It is not over after ${seconds} seconds.`);
}

/** Starts a gateway without any provider. */
export async function startTaskStation(options: TestGatewayOptions = {}): Promise<TaskStation> {
  const gateway = await startGateway(options);
  const headersOf = (headers: HeaderRecord = {}): HeaderRecord => ({
    authorization: `Bearer ${gateway.key}`,
    ...headers,
  });
  const read: TaskStation["read"] = async (path, headers) => {
    const response = await fetch(gateway.url + path, { headers: headersOf(headers) });
    return { status: response.status, json: await response.json() };
  };
  const post: TaskStation["post"] = (kind, body = {}, headers = AT_ONCE) =>
    gateway.post(PATHS[kind], { ...SMALL[kind], ...body }, { headers });
  return {
    gateway,
    post,
    read,
    async submit(kind, body, headers) {
      const response = await post(kind, body, headers);
      const json = (await response.json()) as Json;
      expect([response.status, json.error?.message]).toEqual([202, undefined]);
      return json;
    },
    async until(task, ...states) {
      const deadline = Date.now() + 20_000;
      for (;;) {
        const { json } = await read(task.polling_url);
        if (states.includes(json.status)) return json;
        expect(json.completed_at).toBeNull();
        if (Date.now() > deadline) throw new Error(`The task is ${json.status}, not ${states.join(" or ")}.`);
        await Bun.sleep(20);
      }
    },
    cancel: (path, headers) =>
      fetch(`${gateway.url + path}/cancel`, { method: "POST", headers: headersOf(headers) }),
    async issue(credits, limits) {
      const { json: account } = await gateway.admin("POST", "/accounts", { name: "other" });
      if (credits > 0)
        await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: credits, reason: "test" });
      const request = { account_id: account.id, name: "other", ...(limits === undefined ? {} : { limits }) };
      const { json: key } = await gateway.admin("POST", "/keys", request);
      return { accountId: account.id, headers: { authorization: `Bearer ${key.key}` } };
    },
  };
}
