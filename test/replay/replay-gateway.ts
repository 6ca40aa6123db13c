import { startGateway, type LogLine, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import type { Answer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { boundField, PADDING, type ReplayCase } from "./cases.ts";
import { type Bucket, type PriceList, pricesOf } from "./expected-charge.ts";
import type { Json } from "./wire-json.ts";

/** A movement of credit as the admin interface shows it. */
export interface LedgerEntry {
  readonly kind: string;
  readonly amount: number;
  readonly request_id: string | null;
}

/** One request through the gateway, and all that could be seen of it. */
export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What reached the upstream double; undefined when nothing did. */
  readonly upstream: SeenRequest | undefined;
  /** Ledger entries of this request. */
  readonly entries: readonly LedgerEntry[];
  readonly log: LogLine;
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  readonly held: number;
}

/** A gateway in front of the double, with a provider for each vendor and a model for each recorded one. */
export interface Replay {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  pricesFor(modelId: string): PriceList;
  /** Sends `body` and lets the double give `answer`. */
  ask(body: string, answer: Answer): Promise<Exchange>;
  close(): Promise<void>;
}

/** More than any recorded model puts out, so that a bound of ours is never sent. */
const MAX_OUTPUT = 100_000;

/** Headers of a client that are no business of a provider. */
const CLIENT_HEADERS = {
  cookie: "session=client-canary",
  "openai-organization": "org-client-canary",
  "x-stainless-lang": "js",
  "x-forwarded-for": "203.0.113.9",
  "user-agent": "client-canary/1.0",
};

/** Starts a gateway for all `cases`. */
export async function startReplay(cases: readonly ReplayCase[]): Promise<Replay> {
  const double = await startUpstreamDouble({ sleep: async () => undefined });
  const prices = new Map<string, PriceList>();
  for (const { modelId } of cases) if (!prices.has(modelId)) prices.set(modelId, pricesOf(prices.size));
  const gateway = await startGateway({
    settings: JSON.stringify(settingsFor(cases, prices, `${double.url}/v1`)),
    credits: 1_000_000_000,
  });
  const ledger = ledgerReader(gateway);

  return {
    gateway,
    double,
    pricesFor: (modelId) => prices.get(modelId) as PriceList,
    async ask(body, answer) {
      double.reset();
      double.handle(() => answer);
      const { balance } = await gateway.account();
      const response = await gateway.chat(body, { headers: CLIENT_HEADERS });
      const text = await response.text();
      const requestId = response.headers.get("x-request-id");
      await gateway.settled();
      const account = await gateway.account();
      return {
        status: response.status,
        headers: response.headers,
        text,
        upstream: double.requests[0],
        entries: (await ledger()).filter((entry) => entry.request_id === requestId),
        log: await lineOf(gateway, requestId),
        balanceBefore: balance,
        balanceAfter: account.balance,
        held: account.held,
      };
    },
    async close() {
      await gateway.close();
      await double.close();
    },
  };
}

function settingsFor(
  cases: readonly ReplayCase[],
  prices: ReadonlyMap<string, PriceList>,
  baseUrl: string,
): Json {
  const providers: Record<string, Json> = {};
  for (const { provider, native, modelId, body } of cases) {
    const padding = PADDING[provider.replace(/-replay$/, "")] ?? [];
    providers[provider] ??= {
      base_url: baseUrl,
      api_key: UPSTREAM_KEY,
      dialect: native ? "native" : "compatible",
      unknown_fields: native ? "remove" : "pass",
      padding,
      models: [],
    };
    const { models } = providers[provider];
    if (models.some((model: Json) => model.id === modelId)) continue;
    models.push({
      id: modelId,
      upstream_id: body.model,
      input_modalities: ["text", "image", "audio", "video", "pdf"],
      output_modalities: ["text", "audio"],
      max_output: MAX_OUTPUT,
      max_tokens_field: boundField(body),
      prices: usdPerMillion(prices.get(modelId) as PriceList),
    });
  }
  return { providers };
}

/** 1 USD is 10,000 credits: a micro-credit per token is $0.0001 per million. */
function usdPerMillion(prices: PriceList): Record<string, number> {
  const entries = Object.entries(prices) as [Bucket, number][];
  return Object.fromEntries(entries.map(([bucket, micro]) => [bucket, micro / 10_000]));
}

/** Reads what came to the ledger; whole pages are not read again. */
export function ledgerReader(gateway: TestGateway): () => Promise<readonly LedgerEntry[]> {
  let after = "";
  return async () => {
    const entries: LedgerEntry[] = [];
    for (;;) {
      const { json } = await gateway.admin("GET", `/accounts/${gateway.accountId}/ledger?limit=200${after}`);
      entries.push(...(json.data as LedgerEntry[]));
      if (json.next === null) return entries;
      after = `&after=${json.next}`;
    }
  };
}

/** The access line of a request; it is written when the answer has ended. */
async function lineOf(gateway: TestGateway, requestId: string | null): Promise<LogLine> {
  for (;;) {
    const line = gateway.logs.findLast(
      (found) => found.message === "request" && found.request_id === requestId,
    );
    if (line !== undefined) return line;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
