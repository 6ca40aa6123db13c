import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { answerFrom, loadRecordings, type Recording, recordingsFor } from "../upstream/recordings.ts";

// Every recorded answer of embeddings in a form that the gateway speaks goes through it: the vectors, the usage and the
// bill are the recording's.

/** USD per million tokens of models that only the recordings have: a credit for each token. */
const UNIT_PRICE = 100;
const unit = (id: string, upstream_id: string, more: object = {}): object => ({
  id,
  upstream_id,
  category: "embedding",
  embedding: { dimensions: 1_536, reads_tokens: true },
  prices: { input: UNIT_PRICE },
  ...more,
});

/** Credits of a token by the model's id. */
const TOKEN_CREDITS: Readonly<Record<string, number>> = {
  "openai/text-embedding-3-small": 0.0002,
  "openai/text-embedding-3-large": 0.0013,
  "google/gemini-embedding-001": 0.0015,
  "mistral/mistral-embed": 0.001,
};

const settings = (url: string): string =>
  JSON.stringify({
    providers: {
      openai: { models: [unit("openai/text-embedding-ada-002", "text-embedding-ada-002")] },
      google: {
        models: ["gemini-embedding-2", "gemini-embedding-2-preview", "text-embedding-004"].map((name) =>
          unit(`google/${name}`, name, { embedding: { dimensions: 3_072, other_dimensions: [768] } }),
        ),
      },
      voyage: {
        base_url: `${url}/v1`,
        unknown_fields: "pass",
        models: ["voyage-3-lite", "voyage-3.5"].map((name) => unit(`voyage/${name}`, name)),
      },
      azure: {
        base_url: `${url}/v1`,
        models: [unit("azure/cohere-embed-v3-english", "Cohere-embed-v3-english")],
      },
    },
  });

let double: UpstreamDouble;
let gateway: TestGateway;
/** The OpenAI models by their second route. */
let byOpenrouter: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const { url } = double;
  gateway = await startGateway({
    openai: `${url}/v1`,
    settings: settings(url),
    environment: {
      GEMINI_API_KEY: UPSTREAM_KEY,
      GEMINI_BASE_URL: url,
      MISTRAL_API_KEY: UPSTREAM_KEY,
      MISTRAL_BASE_URL: `${url}/v1`,
    },
  });
  byOpenrouter = await startGateway({
    environment: { OPENROUTER_API_KEY: UPSTREAM_KEY, OPENROUTER_BASE_URL: `${url}/v1` },
  });
});
afterAll(async () => {
  await gateway.close();
  await byOpenrouter.close();
  await double.close();
});
beforeEach(() => double.reset());

/** Recordings that no client of this interface could have made, each with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "text-embedding-ada-002--x--7e63942e": "an empty text, which the interface refuses",
  "text-embedding-ada-002-v2--x--4c02388f": "its request is not known",
  "gemini-embedding-2--image-input--dda2a4f6": "an image, which the interface has no field for",
};

function embeddingsOf(folder: string): readonly Recording[] {
  return loadRecordings(`embeddings/${folder}`).filter(
    ({ name, request }) => /\/embeddings$|:batchEmbedContents$/.test(request.url) && !(name in LEFT_OUT),
  );
}

const isAvailable = recordingsFor("recorded embeddings");

interface Played {
  readonly json: Json;
  readonly sent: Json;
  readonly target: string;
  readonly charged: number;
}

/** Asks for what was recorded, and gives what came of it. */
async function play(asked: TestGateway, recording: Recording, body: object): Promise<Played> {
  double.handle(() => answerFrom(recording));
  const before = (await asked.account()).balance;
  const response = await asked.post("/api/v1/embeddings", body);
  const json: Json = await response.json();
  expect([response.status, json.error?.message]).toEqual([200, undefined]);
  await asked.settled();
  const [request] = double.requests;
  if (request === undefined) throw new Error("Nothing went up.");
  const charged = before - (await asked.account()).balance;
  return { json, sent: request.json(), target: request.target, charged };
}

function floatsOf(embedding: Json): readonly number[] {
  if (typeof embedding !== "string") return embedding.map(Math.fround);
  const bytes = Buffer.from(embedding, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}

/** The charge is the count at the model's price, wherever it is told. */
function expectBill({ json, charged }: Played, model: string, tokens: number): void {
  expect(json.usage.prompt_tokens).toBe(tokens);
  expect(json.credit).toBeCloseTo(tokens * (TOKEN_CREDITS[model] ?? 1), 6);
  expect(charged).toBeCloseTo(json.credit, 6);
}

const VENDORS = ["openai", "mistral", "openrouter", "voyage", "azure"] as const;
for (const vendor of VENDORS) {
  describe.if(isAvailable)(`${vendor}: what was recorded in OpenAI's form`, () => {
    const recordings = !isAvailable
      ? []
      : embeddingsOf(vendor).filter(({ model }) => vendor !== "azure" || model.startsWith("Cohere"));
    test("there is some", () => expect(recordings.length).toBeGreaterThan(1));
    for (const recording of recordings) {
      test(`${recording.name}: vectors, usage and bill`, async () => {
        const recorded = recording.request.body as Json;
        const answer = recording.response.body as Json;
        const name: string = recorded.model.includes("/") ? recorded.model : `${vendor}/${recorded.model}`;
        const model = vendor === "azure" ? name.toLowerCase() : name;
        const asked = vendor === "openrouter" ? byOpenrouter : gateway;
        const played = await play(asked, recording, { ...recorded, model });
        const { encoding_format: encoding, ...rest } = recorded;
        // Only OpenAI is asked for an encoding.
        expect(played.sent).toEqual(vendor === "openai" ? recorded : Object.fromEntries(known(rest)));
        expect(played.target).toBe("/v1/embeddings");
        expect(played.json.model).toBe(model);
        for (const [i, row] of answer.data.entries()) {
          const { embedding, index } = played.json.data[i];
          expect(index).toBe(i);
          expect(typeof embedding).toBe(encoding === "base64" ? "string" : "object");
          expect(floatsOf(embedding)).toEqual(floatsOf(row.embedding));
        }
        expectBill(played, model, answer.usage.prompt_tokens ?? answer.usage.total_tokens);
        const { usage: _usage, data: _data, model: _model, ...others } = answer;
        expect(played.json).toMatchObject(others);
      });
    }
  });
}

/** Fields that are null say nothing, and are not sent on. */
const known = (fields: object): readonly (readonly [string, unknown])[] =>
  Object.entries(fields).filter(([, value]) => value !== null);

describe.if(isAvailable)("google: what was recorded of batchEmbedContents", () => {
  const recordings = isAvailable ? embeddingsOf("google") : [];
  test("there is some", () => expect(recordings.length).toBeGreaterThan(8));
  for (const recording of recordings) {
    test(`${recording.name}: vectors, usage and bill`, async () => {
      const { requests } = recording.request.body as Json;
      const answer = recording.response.body as Json;
      const model = `google/${recording.model}`;
      const dimensions: number | undefined = requests[0].outputDimensionality;
      const input = requests.map(({ content }: Json) => content.parts[0].text);
      const played = await play(gateway, recording, { model, input, dimensions });
      expect(played.target).toBe(`/v1beta/models/${recording.model}:batchEmbedContents`);
      // The interface has no field for the task, and a role says nothing here.
      expect(played.sent).toEqual({
        requests: requests.map(({ taskType: _task, content: { parts }, ...rest }: Json) => ({
          ...rest,
          content: { parts },
        })),
      });
      for (const [i, { values }] of answer.embeddings.entries()) {
        const norm = recording.model === "gemini-embedding-001" && dimensions ? Math.hypot(...values) : 1;
        const { embedding } = played.json.data[i];
        expect(embedding).toHaveLength(values.length);
        for (const [at, number] of embedding.entries()) expect(number).toBeCloseTo(values[at] / norm, 8);
      }
      const counted: number | undefined = answer.usageMetadata?.promptTokenCount;
      expectBill(played, model, counted ?? played.json.usage.prompt_tokens);
      expect(played.json.usage.prompt_tokens).toBeGreaterThan(0);
      const line = gateway.logs.findLast(({ path }) => path === "/api/v1/embeddings");
      expect(line?.usage_flags).toEqual(counted === undefined ? ["estimated"] : undefined);
    });
  }
});
