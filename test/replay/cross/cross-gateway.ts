import OpenAI from "openai";
import { startGateway, type TestGateway, UPSTREAM_KEY } from "../../gateway/gateway.ts";
import type { Answer } from "../../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../upstream/double.ts";
import type { SeenRequest } from "../../upstream/seen-request.ts";
import { strictGenerateContent } from "../../upstream/strict-gemini.ts";
import { strictMessages } from "../../upstream/strict-messages-format.ts";
import { type Bucket, type PiecePrices, piecePricesOf, type PriceList, pricesOf } from "../charge.ts";
import type { Json } from "../wire-json.ts";

/** Prices of every model of these tests. */
export const PRICES: PriceList = pricesOf(3);
export const PIECES: PiecePrices = piecePricesOf(3);

/** What models say of themselves; thinking is as the catalogue has it for models of these names. */
const MODELS: Readonly<Record<string, Json>> = {
  "claude/opus": {
    upstream_id: "claude-opus-5-5",
    thinking: { style: "adaptive" },
    ignored_parameters: ["temperature", "top_p", "top_k"],
  },
  "claude/haiku": {
    upstream_id: "claude-haiku-4-5",
    thinking: { style: "budget" },
    sampling: { max_temperature: 1, temperature_or_top_p: true, fixed_while_thinking: true },
  },
  "gemini/flash": { upstream_id: "gemini-3.8-flash" },
  "gemini/old": { upstream_id: "gemini-2.5-flash", thinking: { style: "budget" } },
  "gemini/image": { upstream_id: "gemini-3-pro-image", output_modalities: ["text", "image"] },
};

const COMMON = {
  input_modalities: ["text", "image", "audio", "video", "pdf"],
  max_output: 128_000,
  // A unit is priced in USD, which is 10,000 credits of a million each.
  prices: { ...usdPerMillion(PRICES), web_search: PIECES.web_search / 1e10 },
};

/** A gateway whose models speak other formats than its client, in front of a double that is as strict as they are. */
export interface Cross {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  readonly client: OpenAI;
  /** Lets the double give `answer` to what a strict provider would take. */
  answers(answer: Answer): void;
  /** What the one request since the last answer was set was; throws where the double refused it or there was none. */
  received(): SeenRequest;
  /** Micro-credits that the account was charged since this was last asked. */
  charged(): Promise<number>;
  close(): Promise<void>;
}

/** Starts both. */
export async function startCross(): Promise<Cross> {
  const double = await startUpstreamDouble({ sleep: async () => undefined });
  const provider = (vendor: string, protocol: string): Json => ({
    protocol,
    base_url: double.url,
    api_key: UPSTREAM_KEY,
    dialect: "native",
    models: Object.entries(MODELS).flatMap(([id, facts]) =>
      id.startsWith(`${vendor}/`) ? [Object.assign({ id, ...COMMON }, facts)] : [],
    ),
  });
  const settings = {
    providers: {
      "cross-claude": provider("claude", "messages"),
      "cross-gemini": provider("gemini", "generate_content"),
    },
  };
  const gateway = await startGateway({ settings: JSON.stringify(settings), credits: 1_000_000_000 });
  const strict = { claude: strictMessages(), gemini: strictGenerateContent() };
  let refusal: Answer | undefined;
  let { balance } = await gateway.account();
  return {
    gateway,
    double,
    client: new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 }),
    answers(answer) {
      double.reset();
      refusal = undefined;
      double.handle((request) => {
        refusal = request.target.startsWith("/v1/messages") ? strict.claude(request) : strict.gemini(request);
        return refusal ?? answer;
      });
    },
    received() {
      if (double.brokenRequests.length > 0) throw new Error(double.brokenRequests.join());
      if (refusal !== undefined) throw new Error(`a strict provider refuses this: ${String(refusal.body)}`);
      const [request] = double.requests;
      if (request === undefined) throw new Error("nothing was sent to the provider");
      return request;
    },
    async charged() {
      await gateway.settled();
      const before = balance;
      ({ balance } = await gateway.account());
      return Math.round((before - balance) * 1e6);
    },
    async close() {
      await gateway.close();
      await double.close();
    },
  };
}

function usdPerMillion(prices: PriceList): Record<string, number> {
  const entries = Object.entries(prices) as [Bucket, number][];
  return Object.fromEntries(entries.map(([bucket, micro]) => [bucket, micro / 10_000]));
}
