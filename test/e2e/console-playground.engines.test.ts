import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type ConsoleClient, signIn } from "../gateway/console-client.ts";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json, startGateway, streamEvents, type TestGateway } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";

import { SMALL, WAITING } from "./task-station.ts";

// Calls of the playground: whose key they go through, and that they are calls like any other.

const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const CHAT = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 64,
};
const COMPLETIONS = "/play/chat/completions";

describeOnEngineOfSuite("the playground", (engine) => {
  let place: TestPlace;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  let operator: ConsoleClient;
  let developer: ConsoleClient;

  beforeAll(async () => {
    place = await engine.newPlace();
    double = await startUpstreamDouble();
    const environment = { ...place.environment, SWITCHYARD_SANDBOX: "on" };
    gateway = await startGateway({ openai: `${double.url}/v1`, environment });
    operator = await signIn(gateway, ADMIN_TOKEN);
    developer = await signIn(gateway, gateway.key);
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
    await place.remove();
  });
  beforeEach(() => {
    double.reset();
    double.handle(() => chatAnswer({ words: ["Hello."], usage: USAGE }));
  });

  const newAccount = async (): Promise<string> => {
    const { json } = await gateway.admin("POST", "/accounts", { name: "payer" });
    await gateway.admin("POST", `/accounts/${json.id}/credits`, { amount: 1_000, reason: "test" });
    return json.id;
  };
  const choose = (account_id: string, budget: number | null = 100) =>
    operator.ask("PUT", "/playground", { account_id, budget });
  const rowsOf = async (account: string): Promise<readonly Json[]> =>
    (await gateway.admin("GET", `/requests?account_id=${account}`)).json.data;

  test("of an operator is a 409 until an account is chosen, and null", async () => {
    expect(await operator.ask("GET", "/playground")).toEqual({ status: 200, json: null });
    const { status, json } = await operator.ask("POST", COMPLETIONS, CHAT);
    expect([status, json.error.code]).toEqual([409, "playground_not_chosen"]);
    expect((await operator.ask("GET", "/play/models")).status).toBe(409);
    expect(double.requests.length).toBe(0);
  });

  test("of an operator goes through a key `playground` of the chosen account, which is made once", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    const first = await choose(one);
    expect(first).toEqual({
      status: 200,
      json: { account_id: one, key_id: expect.stringMatching(/^key_/), budget: 100, spent: 0 },
    });
    const second = await choose(other, null);
    expect([second.json.account_id, second.json.budget]).toEqual([other, null]);
    expect(second.json.key_id).not.toBe(first.json.key_id);
    expect((await choose(one, 50)).json).toEqual({ ...first.json, budget: 50 });
    const { json: keys } = await gateway.admin("GET", "/keys?limit=1000");
    const named = keys.data.filter((key: Json) => key.name === "playground");
    expect(named.map((key: Json) => [key.account_id, key.budget])).toEqual([
      [one, 50],
      [other, null],
    ]);
    const { status, json } = await operator.ask("POST", COMPLETIONS, CHAT);
    expect([status, json.choices[0].message.content]).toEqual([200, "Hello."]);
    expect(json.credit).toBeGreaterThan(0);
    const { json: after } = await operator.ask("GET", "/playground");
    expect(after).toEqual({ ...first.json, budget: 50, spent: json.credit });
    expect((await rowsOf(one)).map((row) => [row.key_id, row.credit])).toEqual([
      [first.json.key_id, json.credit],
    ]);
    expect(await rowsOf(other)).toEqual([]);
  });

  test("of an operator spends no more than the budget", async () => {
    await choose(await newAccount(), 0.000_001);
    const { status, json } = await operator.ask("POST", COMPLETIONS, CHAT);
    expect([status, json.error.type]).toEqual([402, "insufficient_credits"]);
  });

  test("of an operator has a new key when the last one was revoked", async () => {
    const account = await newAccount();
    const { json: first } = await choose(account);
    await gateway.admin("DELETE", `/keys/${first.key_id}`);
    expect((await operator.ask("GET", "/playground")).json).toBeNull();
    expect((await operator.ask("POST", COMPLETIONS, CHAT)).status).toBe(409);
    const { json: second } = await choose(account);
    expect(second.key_id).not.toBe(first.key_id);
    expect((await operator.ask("POST", COMPLETIONS, CHAT)).status).toBe(200);
  });

  test("is chosen by two at once with one key", async () => {
    const account = await newAccount();
    const chosen = await Promise.all(Array.from({ length: 4 }, () => choose(account)));
    expect(new Set(chosen.map(({ json }) => json.key_id)).size).toBe(1);
    const { json: keys } = await gateway.admin("GET", "/keys?limit=1000");
    const live = keys.data.filter((key: Json) => key.account_id === account && key.revoked_at === null);
    expect(live.length).toBe(1);
  });

  test("names what is wrong with a choice, and keeps the one in force", async () => {
    const { json: before } = await choose(await newAccount());
    for (const [body, status] of [
      [{ account_id: "acct_nothing", budget: 1 }, 404],
      [{ account_id: before.account_id, budget: -1 }, 400],
      [{ account_id: before.account_id }, 400],
      [{ account_id: before.account_id, budget: 1, more: 1 }, 400],
    ] as const)
      expect([body, (await operator.ask("PUT", "/playground", body)).status]).toEqual([body, status]);
    expect((await operator.ask("GET", "/playground")).json).toEqual(before);
    expect((await developer.ask("GET", "/playground")).status).toBe(403);
    expect((await developer.ask("PUT", "/playground", before)).status).toBe(403);
  });

  test("of a developer goes through the key of the session, with its limits", async () => {
    const body = { account_id: gateway.accountId, name: "limited", limits: { requests_per_minute: 1 } };
    const { json: key } = await gateway.admin("POST", "/keys", body);
    const limited = await signIn(gateway, key.key);
    const { status, json } = await limited.ask("POST", COMPLETIONS, CHAT);
    expect(status).toBe(200);
    expect((await limited.ask("POST", COMPLETIONS, CHAT)).status).toBe(429);
    const { data } = (await limited.ask("GET", "/requests")).json;
    expect(data.map((row: Json) => [row.key_id, row.credit])).toEqual([[key.id, json.credit]]);
  });

  test("sends a provider nothing of the session", async () => {
    await developer.ask("POST", COMPLETIONS, CHAT);
    const [request] = double.requests;
    for (const name of ["cookie", "x-csrf-token", "origin"])
      expect([name, request?.header(name)]).toEqual([name, undefined]);
  });

  test("streams: each event arrives before the next is made", async () => {
    const events = chatStream({ words: ["one ", "two ", "three"], usage: USAGE });
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 3), gate));
    const response = await developer.send("POST", COMPLETIONS, { body: { ...CHAT, stream: true } });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("two ")) text += (await reader.read()).value ?? "";
    expect(text).not.toContain("three");
    gate.release();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    const all = streamEvents(text);
    expect(all.at(-1)).toBe("[DONE]");
    expect(all.at(-2).credit).toBeGreaterThan(0);
  });

  for (const stream of [false, true])
    test(`of a client that leaves (${stream ? "in mid-stream" : "before the answer"}) stops the provider`, async () => {
      const events = chatStream({ words: ["one ", "two ", "three"], usage: USAGE });
      const gate = createGate();
      double.handle(() =>
        stream
          ? gateAt(sseAnswer(events), afterEvent(events, 3), gate)
          : gateAt(chatAnswer({ usage: USAGE }), "start", gate),
      );
      const leaving = new AbortController();
      const { signal } = leaving;
      const sent = developer.send("POST", COMPLETIONS, { body: { ...CHAT, stream }, signal });
      const request = await double.waitForRequest(1);
      if (stream) await (await sent).body?.getReader().read();
      leaving.abort();
      if (!stream) await sent.catch(() => undefined);
      await double.waitForClientGone(request);
      await gateway.settled();
      gate.release();
    });

  test("has every format, and errors in its own shape", async () => {
    const bodies = {
      "/play/messages": { model: CHAT.model, max_tokens: 9, messages: CHAT.messages },
      "/play/responses": { model: CHAT.model, input: "Say hello.", max_output_tokens: 64 },
      [`/play/models/${CHAT.model}:generateContent`]: {
        contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
      },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const bad = await developer.ask("POST", path, { ...body, model: "no/model", contents: 1 });
      expect([path, bad.status]).toEqual([path, 400]);
      const count = path.endsWith("generateContent")
        ? path.replace("generateContent", "countTokens")
        : undefined;
      if (count !== undefined)
        expect((await developer.ask("POST", count, body)).json.totalTokens).toBeGreaterThan(0);
    }
    const { json } = await developer.ask("POST", "/play/messages", {
      model: "no/model",
      max_tokens: 9,
      messages: [],
    });
    expect(json.type).toBe("error");
    const gone = await developer.ask(
      "POST",
      `/play/models/no/model:generateContent`,
      bodies[`/play/models/${CHAT.model}:generateContent`],
    );
    expect(gone.json.error.code).toBe(400);
  });

  test("makes an image task, polls it and cancels it; only the key that made it may", async () => {
    const { send, ask } = developer;
    const made = await send("POST", "/play/images/generations", { body: SMALL.image, headers: WAITING });
    const task: Json = await made.json();
    expect([made.status, task.status]).toEqual([202, "pending"]);
    const path = `/play/images/generations/${task.id}`;
    expect((await ask("GET", path)).json.status).toBe("pending");
    await choose(await newAccount());
    expect((await operator.ask("GET", path)).status).toBe(404);
    // Another key of the same account may, by the interface for keys; its session sees what that key made alone.
    const { json: key } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "other",
    });
    const other = await signIn(gateway, key.key);
    for (const [method, at] of [
      ["GET", path],
      ["POST", `${path}/cancel`],
    ] as const)
      expect([at, (await other.ask(method, at)).status]).toEqual([at, 404]);
    expect((await ask("GET", path)).json.status).toBe("pending");
    expect(await ask("POST", `${path}/cancel`)).toMatchObject({
      status: 200,
      json: { status: "cancelled" },
    });
  });
});
