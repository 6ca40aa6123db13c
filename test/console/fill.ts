import { expect } from "bun:test";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import type { Desk } from "./desk.ts";

/** What a filled gateway has, by their ids. */
export interface Filled {
  readonly request: string;
  readonly task: string;
  readonly account: string;
  readonly key: string;
  readonly model: string;
}

const MODEL = "openai/gpt-5.6-luna";
const CHATS = 6;

/** Gives a gateway with the sandbox something of everything that screens show. `url` is its address. */
export async function fillGateway(url: string, firstKey: string, adminToken: string): Promise<Filled> {
  const admin = caller(`${url}/admin/v1`, adminToken);
  const account = await admin("POST", "/accounts", { name: "Filled" });
  await admin("POST", `/accounts/${account.id}/credits`, { amount: 5_000, reason: "a test" });
  const key = await admin("POST", "/keys", {
    account_id: account.id,
    name: "filled",
    budget: 1_000,
    limits: { requests_per_minute: 600 },
  });
  const api = caller(`${url}/api/v1`, key.key);
  for (let i = 0; i < CHATS; i += 1)
    await api("POST", "/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: `Say ${i}.` }],
    });
  await caller(`${url}/api/v1`, firstKey)("POST", "/chat/completions", { model: "none/such", messages: [] });
  const task = await api("POST", "/images/generations", {
    model: "alibaba/qwen-image-2.0",
    prompt: "A quiet harbour",
    size: "512*512",
    async: true,
  });
  const { data } = await admin("GET", `/requests?key_id=${key.id}`);
  return { request: data[0].id, task: task.id, account: account.id, key: key.id, model: MODEL };
}

/** The same for a desk; its task has made its image. */
export async function fillDesk({ gateway, clock, read }: Desk): Promise<Filled> {
  const filled = await fillGateway(gateway.url, gateway.key, ADMIN_TOKEN);
  // A thread draws the image in its own time.
  while (!hasEnded((await read(`/tasks/${filled.task}`)).status)) await clock.advance(100);
  expect((await read(`/tasks/${filled.task}`)).status).toBe("completed");
  return filled;
}

function hasEnded(status: string): boolean {
  return status !== "pending" && status !== "running";
}

/** Calls an API with JSON both ways. */
function caller(base: string, credential: string) {
  return async (method: string, path: string, body?: Json): Promise<Json> => {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Json;
  };
}
