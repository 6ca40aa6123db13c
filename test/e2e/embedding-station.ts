import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";

// What the tests of embeddings share: a gateway whose providers the double plays, as strictly as they are.

export const PATH = "/api/v1/embeddings";
export const SMALL = "openai/text-embedding-3-small";
export const QWEN = "alibaba/text-embedding-v4";
export const MISTRAL = "mistral/mistral-embed";
export const GEMINI = "google/gemini-embedding-001";

/** An answer to a request for embeddings. */
interface Asked {
  readonly status: number;
  readonly json: Json;
  readonly headers: Headers;
}

/** A gateway with a live provider for each embedding model, and a server of the operator's. */
export interface EmbeddingStation {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  ask(body: unknown, init?: RequestInit): Promise<Asked>;
  /** The account's credits once nothing is held. */
  balance(): Promise<number>;
  /** The body of the first request that went up. */
  sent(): Json;
}

/** Opens the station for the tests of a file, and closes it behind them. */
export function useEmbeddingStation(): EmbeddingStation {
  let double: UpstreamDouble;
  let gateway: TestGateway;

  beforeAll(async () => {
    double = await startUpstreamDouble();
    const { url } = double;
    const vendor = (name: string, address: string) => ({
      [`${name}_API_KEY`]: UPSTREAM_KEY,
      [`${name}_BASE_URL`]: address,
    });
    gateway = await startGateway({
      openai: `${url}/v1`,
      environment: {
        ...vendor("GEMINI", url),
        ...vendor("MISTRAL", `${url}/v1`),
        ...vendor("DASHSCOPE", `${url}/compatible-mode/v1`),
      },
      settings: JSON.stringify({
        providers: {
          local: {
            base_url: `${url}/local/v1`,
            models: [
              {
                id: "local/nomic",
                upstream_id: "nomic-embed-text",
                category: "embedding",
                total_context: 512,
                embedding: { dimensions: 2, other_dimensions: { from: 1, to: 2 }, most_texts: 3 },
                prices: { input: 100 },
              },
            ],
          },
        },
      }),
    });
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
  });
  beforeEach(() => {
    double.reset();
    double.handle(embeddingAnswer);
  });

  return {
    get gateway() {
      return gateway;
    },
    get double() {
      return double;
    },
    async ask(body, init) {
      const response = await gateway.post(PATH, body, init);
      return { status: response.status, json: await response.json(), headers: response.headers };
    },
    async balance() {
      await gateway.settled();
      return (await gateway.account()).balance;
    },
    sent: () => double.requests[0]?.json(),
  };
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "/v1/embeddings": ["model", "input", "dimensions", "encoding_format", "user", "output_dimension"],
  "/compatible-mode/v1/embeddings": ["model", "input", "dimensions"],
  "/local/v1/embeddings": ["model", "input", "dimensions"],
};

/** Numbers that 32 bits hold exactly. */
export const vector = (length: number, seed: number): number[] =>
  Array.from({ length }, (_, i) => (i + seed) / 1_024);
export const coded = (numbers: readonly number[]): string =>
  Buffer.from(new Float32Array(numbers).buffer).toString("base64");

/** Answers as the vendors do, or refuses what they refuse. */
export function embeddingAnswer(request: SeenRequest): Answer {
  const body: Json = request.json();
  if (request.target.endsWith(":batchEmbedContents")) {
    expect(request.header("x-goog-api-key")).toBe(UPSTREAM_KEY);
    const embeddings = body.requests.map((one: Json, i: number) => {
      expect(Object.keys(one).sort()).toEqual(
        one.outputDimensionality === undefined
          ? ["content", "model"]
          : ["content", "model", "outputDimensionality"],
      );
      return { values: vector(one.outputDimensionality ?? 3_072, i) };
    });
    return jsonAnswer(200, { embeddings, usageMetadata: { promptTokenCount: 8 } });
  }
  const strange = Object.keys(body).find((name) => FIELDS[request.target]?.includes(name) !== true);
  if (strange !== undefined) return jsonAnswer(400, { error: { message: `Unknown field ${strange}` } });
  const isOne = typeof body.input === "string" || typeof body.input[0] === "number";
  const length = body.dimensions ?? body.output_dimension ?? 4;
  const data = (isOne ? [body.input] : body.input).map((_: unknown, index: number) => ({
    object: "embedding",
    index,
    embedding: body.encoding_format === "base64" ? coded(vector(length, index)) : vector(length, index),
  }));
  const usage = { prompt_tokens: 8, total_tokens: 8 };
  return jsonAnswer(200, { object: "list", data, model: body.model, usage });
}
