import { afterAll, beforeAll, expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import {
  AT_ONCE,
  type HeaderRecord,
  type Kind,
  PATHS,
  startTaskStation,
  type TaskStation,
  WAITING,
} from "../e2e/task-station.ts";

/** The interface of tasks as a client sees it, served by the sandbox. */
export interface TaskInterface {
  readonly station: TaskStation;
  /** Posts a request and reads the whole answer. */
  ask(kind: Kind, body: object, headers?: HeaderRecord): Promise<TaskReply>;
  /** Each of these is taken; gives the last task as it was told of. */
  takes(kind: Kind, ...bodies: readonly object[]): Promise<Json>;
  /** Each of these is a 400 that names `param`, and makes no task. */
  refuses(kind: Kind, param: string, ...bodies: readonly object[]): Promise<void>;
  /** The task of a request, completed. */
  completed(kind: Kind, body: object): Promise<Json>;
}

/** An answer of the gateway. */
export interface TaskReply {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

/** Starts one interface for the tests of a file. */
export function openTaskInterface(): TaskInterface {
  let station: TaskStation;
  beforeAll(async () => {
    station = await startTaskStation();
  });
  afterAll(() => station.gateway.close());

  const ask: TaskInterface["ask"] = async (kind, body, headers = AT_ONCE) => {
    const response = await station.gateway.post(PATHS[kind], body, { headers });
    return { status: response.status, headers: response.headers, json: await response.json() };
  };
  const newest = async (): Promise<string> =>
    (await station.gateway.admin("GET", "/tasks?limit=1")).json.data[0]?.id ?? "none";
  const async = (kind: Kind): object => (kind === "image" ? { async: true } : {});
  return {
    get station() {
      return station;
    },
    ask,
    async takes(kind, ...bodies) {
      let task: Json;
      for (const body of bodies) {
        const { status, json } = await ask(kind, { ...async(kind), ...body }, WAITING);
        expect([status, json.error?.message]).toEqual([202, undefined]);
        task = json;
        expect((await station.cancel(task.polling_url)).status).toBe(200);
      }
      return task;
    },
    async refuses(kind, param, ...bodies) {
      const before = await newest();
      for (const body of bodies) {
        const { status, json } = await ask(kind, body);
        expect([status, json.error?.type]).toEqual([400, "invalid_request_error"]);
        expect(json.error.message).toContain(param);
      }
      expect(await newest()).toBe(before);
    },
    async completed(kind, body) {
      const { status, json } = await ask(kind, { ...async(kind), ...body });
      expect([status, json.error?.message]).toEqual([202, undefined]);
      return station.until(json, "completed");
    },
  };
}

/** The bytes behind a URL of a result. */
export async function fileOf(url: string): Promise<Uint8Array> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return response.bytes();
}
