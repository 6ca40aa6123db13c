import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { goodAnswer } from "./upstream-answers.ts";

/** The interface as a client sees it, with every provider of language models live and answered for by the double. */
export interface Interface {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  /** Posts a body and reads the whole answer. */
  ask(path: string, body: object, init?: RequestInit): Promise<Reply>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Expects a 400 that names `param`, and that nothing went upstream. */
  refuses(path: string, body: object, param: string): Promise<void>;
}

/** An answer of the gateway, and what went upstream for it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined for a stream. */
  readonly json: Json;
  /** The body that reached the provider; undefined when none did. */
  readonly sent: Json;
}

const PROVIDERS = [
  ["OPENAI", "/v1"],
  ["ANTHROPIC", ""],
  ["GEMINI", ""],
  ["XAI", "/v1"],
  ["DEEPSEEK", ""],
  ["DASHSCOPE", "/v1"],
  ["MOONSHOT", "/v1"],
  ["ZAI", "/v4"],
  ["OPENROUTER", "/v1"],
] as const;

/** A model of a compatible server that takes every field and every kind of input, beside the catalogue. */
export const ANY_MODEL = "local/any";

/** Starts one interface for the tests of a file. */
export function openInterface(): Interface {
  let double: UpstreamDouble;
  let gateway: TestGateway;
  beforeAll(async () => {
    double = await startUpstreamDouble();
    // The sandbox has what none of these makes: images and videos.
    const environment: Record<string, string> = { SWITCHYARD_SANDBOX: "on" };
    for (const [name, version] of PROVIDERS) {
      environment[`${name}_API_KEY`] = `key-of-${name.toLowerCase()}-0123456789`;
      environment[`${name}_BASE_URL`] = `${double.url}${version}`;
    }
    gateway = await startGateway({
      clock: createDatedClock(),
      environment,
      settings: settingsFor(`${double.url}/v1`),
    });
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
  });
  beforeEach(() => {
    double.reset();
    double.handle(goodAnswer);
  });

  const reply = async (response: Response): Promise<Reply> => {
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
      sent: double.requests.at(-1)?.json(),
    };
  };
  const ask: Interface["ask"] = async (path, body, init) => {
    return reply(await gateway.post(path, body, init));
  };
  return {
    get gateway() {
      return gateway;
    },
    get double() {
      return double;
    },
    ask,
    async get(path, headers = {}) {
      const authorization = `Bearer ${gateway.key}`;
      return reply(await fetch(`${gateway.url}${path}`, { headers: { authorization, ...headers } }));
    },
    async refuses(path, body, param) {
      const before = double.requests.length;
      const { status, json } = await ask(path, body);
      expect(`${status} ${json?.error?.type}`).toBe("400 invalid_request_error");
      expect(json.error.message).toContain(param);
      expect(double.requests.length).toBe(before);
    },
  };
}

function settingsFor(baseUrl: string): string {
  const model = {
    id: ANY_MODEL,
    upstream_id: "up",
    input_modalities: ["text", "image", "audio", "video", "pdf"],
    output_modalities: ["text", "image"],
    total_context: 100_000,
    max_output: 4_000,
    prices: { input: 1, output: 2, image_output: 30, audio_input: 3 },
  };
  const local = { base_url: baseUrl, dialect: "native", unknown_fields: "pass", models: [model] };
  return JSON.stringify({ providers: { local } });
}

/** Every event of a stream, with its name where it has one. */
export function eventsOf(text: string): { readonly event: string | undefined; readonly data: Json }[] {
  return text
    .split("\n\n")
    .filter((event) => event.includes("data: "))
    .map((event) => {
      const data = /^data: (.*)$/m.exec(event)?.[1] ?? "";
      return {
        event: /^event: (.*)$/m.exec(event)?.[1],
        data: data === "[DONE]" ? data : JSON.parse(data),
      };
    });
}
