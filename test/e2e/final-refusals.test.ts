import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { RUNNING, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// Refusals that sending again cannot mend are sent once, by SDKs that would try again three times.

let station: TaskStation;
let running: string;
let poor: string;
beforeAll(async () => {
  station = await startTaskStation();
  const { id, polling_url } = await station.submit("image", {}, RUNNING);
  running = `/images/generations/${id}/cancel`;
  await station.until({ polling_url }, "running");
  poor = keyOf(await station.issue(0));
});
afterAll(() => station.gateway.close());

function keyOf({ headers }: { readonly headers: Readonly<Record<string, string>> }): string {
  return (headers.authorization ?? "").slice("Bearer ".length);
}

const HELLO = { max_tokens: 16, messages: [{ role: "user" as const, content: "Say hello." }] };
const MODELS = { chat: "openai/gpt-5.6-luna", messages: "anthropic/claude-haiku-4.5" };

/** A call of an SDK that is refused, and how. */
interface Refused {
  readonly status: number;
  readonly name: string;
  readonly key?: () => string;
  readonly model?: string;
  /** Posts here instead of asking the model. */
  readonly path?: () => string;
}

const REFUSED: readonly Refused[] = [
  { status: 400, name: "a model that is none", model: "nobody/nothing" },
  { status: 401, name: "a key that is none", key: () => "sk-nobody" },
  { status: 402, name: "an account without credit", key: () => poor },
  { status: 404, name: "a task that is none", path: () => "/images/generations/none/cancel" },
  { status: 405, name: "a method that is none", path: () => "/models" },
  { status: 409, name: "a cancel of a task that runs", path: () => running },
];

const openai: Sdk = (key, model) => {
  const client = new OpenAI({
    baseURL: `${station.gateway.url}/api/v1`,
    apiKey: key,
    maxRetries: 3,
  });
  return {
    ask: () => client.chat.completions.create({ ...HELLO, model: model ?? MODELS.chat }),
    post: (path) => client.post(path),
  };
};
const anthropic: Sdk = (key, model) => {
  const client = new Anthropic({ baseURL: `${station.gateway.url}/api`, apiKey: key, maxRetries: 3 });
  return {
    ask: () => client.messages.create({ ...HELLO, model: model ?? MODELS.messages }),
    post: (path) => client.post(`/v1${path}`),
  };
};
type Sdk = (
  key: string,
  model: string | undefined,
) => { readonly ask: () => Promise<unknown>; readonly post: (path: string) => Promise<unknown> };

for (const [sdk, open] of Object.entries({ openai, "@anthropic-ai/sdk": anthropic })) {
  describe(sdk, () => {
    for (const { status, name, key, model, path } of REFUSED) {
      test(`asks once where ${name} is a ${status}`, async () => {
        const { gateway } = station;
        const client = open(key?.() ?? gateway.key, model);
        const before = gateway.logs.length;
        const call = path === undefined ? client.ask() : client.post(path());
        const error: unknown = await call.then(
          () => undefined,
          (cause: unknown) => cause,
        );
        expect(error).toMatchObject({ status });
        expect((error as { headers: Headers }).headers.get("x-should-retry")).toBe("false");
        // The gateway logs a line for each request that reaches its socket.
        const seen = gateway.logs.slice(before).filter(({ message }) => message === "request");
        expect(seen.map((line) => line.status)).toEqual([status]);
      });
    }
  });
}

test("a signed URL that is none is a 403 to be asked for once", async () => {
  const response = await fetch(`${station.gateway.url}/assets/none?signature=none`);
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([403, "false"]);
});

test("what a client is to ask again for says when, and is not final", async () => {
  const { headers } = await station.issue(100_000, { requests_per_minute: 1 });
  const orders = { ...WAITING, ...headers };
  await station.submit("image", {}, orders);
  for (const kind of ["image", "video"] as const) {
    const refused = await station.post(kind, {}, orders);
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([
      kind === "image" ? 429 : 503,
      null,
    ]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
});
