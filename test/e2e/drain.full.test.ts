import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT_CLIENTS, type FormatClient, jsonEvents, streamedBody } from "../gateway/format-clients.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type GatewayProcess } from "../gateway/process.ts";
import { greeted, keyOf, useGatewayProcesses } from "../gateway/processes.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate, type Gate } from "../upstream/gate.ts";
import { openRawClient } from "../upstream/raw-client.ts";

// How a process ends while a stream of each format and a plain request are under way.

const processes = useGatewayProcesses();
let double: UpstreamDouble;
beforeAll(async () => void (double = await startUpstreamDouble()));
afterAll(() => double.close());

const MODEL = "local/m";
const FORMATS = Object.keys(FORMAT_CLIENTS).length;
const STREAM = chatStream({ words: ["Hello", " there."] });

/** What a client was told of its stream. */
interface Told {
  readonly client: FormatClient;
  readonly events: readonly Json[];
}

/** A gateway with a stream of each format, whose content has begun, and with a plain request that waits. */
async function openBusy(environment: Readonly<Record<string, string>>, gate: Gate) {
  const providers = {
    local: {
      base_url: `${double.url}/v1`,
      models: [{ id: MODEL, upstream_id: "m", prices: { input: 1, output: 5 } }],
    },
  };
  writeFileSync(join(processes.path, "switchyard.yaml"), JSON.stringify({ providers }));
  const gateway = processes.start({ SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN, ...environment });
  const url = await greeted(gateway);
  double.reset();
  double.handle((request) =>
    (request.json() as Json).stream === true
      ? gateAt(sseAnswer(STREAM), afterEvent(STREAM, 2), gate)
      : gateAt(chatAnswer({ words: ["Hello there."] }), "start", gate),
  );
  const ask = (path: string, body: Json): Promise<Response> =>
    fetch(url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${keyOf(gateway)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const clients: readonly FormatClient[] = Object.values(FORMAT_CLIENTS);
  // The head comes with the first content.
  const begun = await Promise.all(
    clients.map((client) => ask(client.path(MODEL), streamedBody(client, MODEL))),
  );
  const told = Promise.all(
    begun.map(async (response, i): Promise<Told> => {
      const client = clients[i] ?? FORMAT_CLIENTS.chat_completions;
      return { client, events: jsonEvents(await response.text()) };
    }),
  );
  const plain = ask("/api/v1/chat/completions", { ...FORMAT_CLIENTS.chat_completions.body, model: MODEL });
  await double.waitForRequest(clients.length + 1);
  return { gateway, url, told, plain };
}

/** The audit and the credit that is held, of a new process on the same books. */
async function booksAfter(): Promise<Json> {
  const next = processes.start({ SWITCHYARD_ADMIN_TOKEN: ADMIN_TOKEN });
  const url = await next.ready();
  const read = async (path: string): Promise<Json> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    return (await fetch(`${url}/admin/v1${path}`, { headers })).json();
  };
  const { data } = await read("/accounts");
  const requests = await read("/requests");
  return {
    ok: (await read("/audit?full=true")).ok,
    held: data.map(({ held }: Json) => held),
    outcomes: requests.data.map(({ outcome }: Json) => outcome).sort(),
  };
}

/** Resolves once so many requests are under way, beside the one that asks. */
async function inFlight(url: string, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const wanted = `switchyard_requests_in_flight ${count + 1}\n`;
  while (!(await (await fetch(`${url}/metrics`, { headers })).text()).includes(wanted)) await Bun.sleep(5);
}

/** Resolves once the gateway takes no connection any more. */
async function listenerClosed(url: string): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    fetch(`${url}/readyz`, { headers: { connection: "close" } }).then(
      () => true,
      () => false,
    );
  while (await isOpen()) await Bun.sleep(5);
}

async function stopped(gateway: GatewayProcess): Promise<number> {
  gateway.child.kill("SIGTERM");
  return gateway.exited();
}

test("what is left after the drain time is told so in its format, charged for what came, and leaves clean books", async () => {
  const busy = await openBusy({ SHUTDOWN_DRAIN_SECONDS: "0.3" }, createGate());
  expect(await stopped(busy.gateway)).toBe(0);
  for (const { client, events } of await busy.told) {
    expect(client.textOf(events)).toBe("Hello");
    expect([client.isWhole(events), client.hasFailed(events)]).toEqual([false, true]);
    expect(client.reasonOf(events)).toBe("The gateway is shutting down.");
  }
  const plain = await busy.plain;
  expect([plain.status, plain.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(((await plain.json()) as Json).error.type).toBe("overloaded_error");
  expect(await booksAfter()).toEqual({ ok: true, held: [0], outcomes: Array(5).fill("overloaded_error") });
});

test("streams of every format end whole within the drain time, and a plain request is answered", async () => {
  const gate = createGate();
  const { gateway, told, plain, url } = await openBusy({}, gate);
  gateway.child.kill("SIGTERM");
  await listenerClosed(url);
  gate.release();
  for (const { client, events } of await told) {
    expect(client.textOf(events)).toBe("Hello there.");
    expect([client.isWhole(events), client.hasFailed(events)]).toEqual([true, false]);
  }
  expect((await plain).status).toBe(200);
  expect(await gateway.exited()).toBe(0);
  expect(await booksAfter()).toEqual({ ok: true, held: [0], outcomes: Array(5).fill("completed") });
});

test("a second signal during the drain ends the process at once, and the next one frees what was held", async () => {
  const { gateway, url, told, plain } = await openBusy({}, createGate());
  const ended = Promise.allSettled([told, plain]);
  gateway.child.kill("SIGTERM");
  await listenerClosed(url);
  expect(await stopped(gateway)).toBe(130);
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const { ok, held } = await booksAfter();
  expect([ok, held]).toEqual([true, [0]]);
});

describe("a request whose body is half sent at the signal", () => {
  const BODY = JSON.stringify({ ...FORMAT_CLIENTS.chat_completions.body, model: MODEL });
  const HALF = BODY.length / 2;

  /** A gateway that has read the head of such a request. */
  async function openHalf(environment: Readonly<Record<string, string>>, gate: Gate) {
    const busy = await openBusy(environment, gate);
    const client = await openRawClient(busy.url);
    client.send(
      [
        "POST /api/v1/chat/completions HTTP/1.1",
        "host: x",
        `authorization: Bearer ${keyOf(busy.gateway)}`,
        "content-type: application/json",
        `content-length: ${BODY.length}`,
        "",
        BODY.slice(0, HALF),
      ].join("\r\n"),
    );
    await inFlight(busy.url, FORMATS + 2);
    return { ...busy, client };
  }

  test("is served within the drain time, and charged once", async () => {
    const gate = createGate();
    const { gateway, url, told, plain, client } = await openHalf({}, gate);
    gateway.child.kill("SIGTERM");
    await listenerClosed(url);
    client.send(BODY.slice(HALF));
    await double.waitForRequest(FORMATS + 2);
    gate.release();
    const text = await client.waitFor("Hello there.");
    expect(text).toStartWith("HTTP/1.1 200 ");
    await Promise.all([told, plain]);
    expect(await gateway.exited()).toBe(0);
    expect(await booksAfter()).toEqual({
      ok: true,
      held: [0],
      outcomes: Array(FORMATS + 2).fill("completed"),
    });
  });

  test("and whose rest comes after the drain time is a 503, and calls no provider", async () => {
    const { gateway, told, client } = await openHalf({ SHUTDOWN_DRAIN_SECONDS: "0.3" }, createGate());
    gateway.child.kill("SIGTERM");
    await told;
    client.send(BODY.slice(HALF));
    const text = await client.waitFor("The gateway is shutting down.");
    expect(text).toStartWith("HTTP/1.1 503 ");
    expect(text).toContain("retry-after: 1");
    expect(await gateway.exited()).toBe(0);
    expect(double.requests).toHaveLength(FORMATS + 1);
    const { ok, held } = await booksAfter();
    expect([ok, held]).toEqual([true, [0]]);
  });

  test("and whose rest never comes does not keep the process, and leaves no hold", async () => {
    const { gateway, client } = await openHalf({ SHUTDOWN_DRAIN_SECONDS: "0.3" }, createGate());
    expect(await stopped(gateway)).toBe(0);
    // The runtime closes what is left, and sends no answer to a request that has not come.
    expect([await client.ended(), client.received().length]).toEqual(["fin", 0]);
    expect(await booksAfter()).toEqual({
      ok: true,
      held: [0],
      outcomes: Array(FORMATS + 1).fill("overloaded_error"),
    });
  });
});
