import { startGateway, type LogLine, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import type { Answer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { Exchange, LedgerEntry } from "./exchange.ts";
import type { ReplayCase } from "./format.ts";
import { type Bucket, type PiecePrices, piecePricesOf, type PriceList, pricesOf } from "./charge.ts";
import { paddingOf } from "./vendors.ts";
import type { Json } from "./wire-json.ts";

/** What a client posts. */
export interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A gateway in front of the double, with a provider for each vendor and a model for each recorded one. */
export interface Replay {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  pricesFor(modelId: string): { readonly tokens: PriceList; readonly pieces: PiecePrices };
  /** Posts a body to a path and lets the double give `answer`. */
  ask(asked: Asked, answer: Answer): Promise<Exchange>;
  close(): Promise<void>;
}

/** More than any recorded model puts out, so that a bound of ours is never sent. */
const MAX_OUTPUT = 128_000;

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
  const nths = new Map<string, number>();
  for (const { modelId } of cases) if (!nths.has(modelId)) nths.set(modelId, nths.size);
  const pricesFor: Replay["pricesFor"] = (modelId) => {
    const nth = nths.get(modelId) as number;
    return { tokens: pricesOf(nth), pieces: piecePricesOf(nth) };
  };
  const gateway = await startGateway({
    settings: JSON.stringify(settingsFor(cases, pricesFor, double.url)),
    credits: 1_000_000_000,
  });
  const ledger = ledgerReader(gateway);

  return {
    gateway,
    double,
    pricesFor,
    async ask({ path, headers, body }, answer) {
      double.reset();
      double.handle(() => answer);
      const { balance } = await gateway.account();
      const response = await gateway.post(path, body, { headers: { ...CLIENT_HEADERS, ...headers } });
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
        row: (await gateway.admin("GET", `/requests?id=${requestId}`)).json.data[0],
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

function settingsFor(cases: readonly ReplayCase[], pricesFor: Replay["pricesFor"], address: string): Json {
  const providers: Record<string, Json> = {};
  for (const { provider, native, modelId, body, upstreamId, format, recording } of cases) {
    providers[provider] ??= {
      protocol: format.setting,
      base_url: `${address}${format.basePath}`,
      api_key: UPSTREAM_KEY,
      dialect: native ? "native" : "compatible",
      unknown_fields: native ? "remove" : "pass",
      padding: paddingOf(recording),
      models: [],
    };
    const { models } = providers[provider];
    if (models.some((model: Json) => model.id === modelId)) continue;
    const { tokens, pieces } = pricesFor(modelId);
    models.push({
      id: modelId,
      upstream_id: upstreamId,
      input_modalities: ["text", "image", "audio", "video", "pdf"],
      output_modalities: ["text", "audio"],
      max_output: MAX_OUTPUT,
      ...format.modelKind(body).settings,
      prices: {
        ...usdPerMillion(tokens),
        // A unit is priced in USD, which is 10,000 credits of a million each.
        ...(format.sellsSearches ? { web_search: pieces.web_search / 1e10 } : {}),
      },
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
      const { json } = await gateway.admin("GET", `/accounts/${gateway.accountId}/ledger?limit=20${after}`);
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
