import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { openForReading } from "../../src/db/sqlite.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import type { Json } from "../gateway/gateway.ts";
import {
  AT_ONCE,
  type Kind,
  PATHS,
  RUNNING,
  startTaskStation,
  type TaskStation,
  WAITING,
} from "./task-station.ts";

// Polling and cancelling, both kinds alike.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

const KINDS: readonly Kind[] = ["image", "video"];

for (const kind of KINDS) {
  const cancelled = (id: string): object =>
    kind === "image"
      ? { id, object: "image_generation.task", status: "cancelled" }
      : { id, status: "cancelled" };

  describe(`cancelling (${kind})`, () => {
    test("a pending task is a 200, frees what was held, and is the end of it", async () => {
      const { accountId, headers } = await station.issue(100_000);
      const task = await station.submit(kind, {}, { ...WAITING, ...headers });
      const held = async (): Promise<number> =>
        (await station.gateway.admin("GET", `/accounts/${accountId}`)).json.held;
      expect(await held()).toBeGreaterThan(0);
      const response = await station.cancel(task.polling_url, headers);
      expect([response.status, await response.json()]).toEqual([200, cancelled(task.id)]);
      expect(await held()).toBe(0);
      const { json } = await station.read(task.polling_url, headers);
      expect([json.status, json.started_at, typeof json.completed_at]).toEqual(["cancelled", null, "number"]);
      for (const name of ["data", "result", "output", "credit"]) expect(json).not.toHaveProperty(name);
    });

    test("again and again, all at once, is a 200 each time", async () => {
      const task = await station.submit(kind, {}, WAITING);
      const all = await Promise.all(Array.from({ length: 100 }, () => station.cancel(task.polling_url)));
      expect([...new Set(all.map(({ status }) => status))]).toEqual([200]);
      for (const response of all) expect(await response.json()).toEqual(cancelled(task.id));
    });

    test("with a body is fine", async () => {
      const task = await station.submit(kind, {}, WAITING);
      const response = await station.gateway.post(`${task.polling_url}/cancel`, { reason: "none" });
      expect(response.status).toBe(200);
      const other = await station.submit(kind, {}, WAITING);
      const init = { headers: { "content-type": "text/plain" } };
      expect((await station.gateway.post(`${other.polling_url}/cancel`, "{", init)).status).toBe(200);
    });

    for (const [name, orders, states] of [
      ["a running task", RUNNING, ["running"]],
      ["a completed task", AT_ONCE, ["completed"]],
      ["a failed task", { "x-sandbox": "pending_ms=0; running_ms=0; fail=failed" }, ["failed"]],
    ] as const) {
      test(`${name} is a 409 that is not to be tried again, and changes nothing`, async () => {
        const task = await station.submit(kind, {}, orders);
        const before = withoutUrls(await station.until(task, ...states));
        const response = await station.cancel(task.polling_url);
        const json = (await response.json()) as Json;
        expect([response.status, json.error.type]).toEqual([409, "conflict_error"]);
        expect(response.headers.get("x-should-retry")).toBe("false");
        expect(withoutUrls((await station.read(task.polling_url)).json)).toEqual(before);
      });
    }
  });

  test(`an id that is no task of the caller's is one and the same 404 (${kind})`, async () => {
    const other = kind === "image" ? "video" : "image";
    const theirs = await station.submit(kind, {}, WAITING);
    const ofOtherKind = await station.submit(other, {}, WAITING);
    const { headers } = await station.issue(0);
    const own = `${theirs.id.slice(0, -1)}${theirs.id.endsWith("0") ? "1" : "0"}`;
    const ids = [own, ofOtherKind.id, "x", "img_", "a%2Fb", "'%20or%201=1", "%25", "_", "%F0%9F%A6%8A"];
    const seen = new Set<string>();
    const see = async (path: string, more: Readonly<Record<string, string>> = {}): Promise<void> => {
      const init = { headers: { authorization: `Bearer ${station.gateway.key}`, ...more } };
      for (const response of [
        await fetch(station.gateway.url + path, init),
        await fetch(`${station.gateway.url + path}/cancel`, { ...init, method: "POST" }),
      ])
        seen.add(`${response.status} ${response.headers.get("content-type")} ${await response.text()}`);
    };
    for (const id of [...ids, "x".repeat(4096), theirs.id.toUpperCase()]) await see(`${PATHS[kind]}/${id}`);
    await see(theirs.polling_url, headers);
    expect(seen.size).toBe(1);
    const [text = ""] = seen;
    expect(text).toStartWith("404 application/json ");
    expect(JSON.parse(text.slice("404 application/json ".length)).error.type).toBe("not_found_error");
    expect((await station.read(theirs.polling_url)).json.status).toBe("pending");
    for (const task of [theirs, ofOtherKind]) await station.cancel(task.polling_url);
  });
}

/** A task as it stands, whatever its URLs are signed with now. */
function withoutUrls(task: Json): Json {
  return JSON.parse(
    JSON.stringify(task, (_, value: unknown) => value),
    (_, value: unknown) => (typeof value === "string" ? value.replace(/\?.*$/, "") : value),
  );
}

test("a thousand polls write nothing", async () => {
  // Nothing happens by itself: time stands still.
  const still = await startTaskStation({ clock: createFakeClock() });
  try {
    const tasks = [await still.submit("image", {}, WAITING), await still.submit("video", {}, WAITING)];
    const reader = openForReading(`${still.gateway.home}/switchyard.db`);
    // Counts what other connections have committed.
    const version = async (): Promise<unknown> => {
      const { rows } = await sql<Json>`pragma data_version`.execute(reader);
      return rows[0].data_version;
    };
    const before = await version();
    for (let i = 0; i < 500; i += 1)
      for (const { polling_url } of tasks) expect((await still.read(polling_url)).status).toBe(200);
    expect(await version()).toBe(before);
    await still.cancel(tasks[0].polling_url);
    expect(await version()).not.toBe(before);
    await reader.destroy();
  } finally {
    await still.gateway.close();
  }
});
