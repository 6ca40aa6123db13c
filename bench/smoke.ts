import { join } from "node:path";
import { createCatalog, loadModelFiles } from "../src/catalog/catalog.ts";
import { readSettings } from "../src/config.ts";
import type { Environment } from "../src/environment.ts";
import { creditsText } from "../src/core/money/credits.ts";
import { GatewayError } from "../src/core/errors.ts";
import type { MediaRequest } from "../src/core/media/media.ts";
import { mediaTypeOf } from "../src/core/media/media-type.ts";
import { upstreamIdFor } from "../src/core/media/upstream-id.ts";
import type { Offer } from "../src/gateway/offer.ts";
import { admitImage, admitVideo, type TaskAdmission } from "../src/gateway/media/admit/admit.ts";
import { bindAdapter, type BoundAdapter } from "../src/gateway/media/job/bind-adapter.ts";
import { readImageBody } from "../src/protocols/images/index.ts";
import { readVideoBody } from "../src/protocols/videos/index.ts";
import type {
  MediaCall,
  MediaDone,
  MediaHttpAnswer,
  MediaHttpRequest,
  MediaOutput,
  MediaStep,
} from "../src/providers/media.ts";
import type { MediaProvider, ProviderDefinition } from "../src/providers/provider.ts";
import { PROVIDERS } from "../src/providers/registry.ts";

const USAGE =
  "npm run smoke -- <provider>: makes one image or video at that provider, which charges you for it.";

/** So long the work may take, and one request of it. */
const LIMIT_MS = { work: 900_000, request: 300_000 } as const;

/** How long is waited between two questions; tests wait less. */
export interface SmokePace {
  readonly pollMs?: number;
}

/**
 * Makes the cheapest image that a provider makes, or video where it makes no images, and says what was seen. The call
 * goes through its adapter, with the key of the environment. Nothing is started, kept or billed here. Gives the exit
 * code: 0 when it was made, 1 when it was not, 2 when nothing was sent.
 */
export async function smoke(
  id: string | undefined,
  environment: Environment,
  print: (line: string) => void,
  { pollMs = 3_000 }: SmokePace = {},
): Promise<0 | 1 | 2> {
  const makers = PROVIDERS.filter(({ media }) => media !== undefined);
  const definition = makers.find((found) => found.id === id);
  if (definition === undefined) {
    print(`${USAGE} Providers: ${makers.map((maker) => maker.id).join(", ")}.`);
    return 2;
  }
  const order = orderFor(definition, environment);
  if (typeof order === "string") {
    print(order);
    return 2;
  }
  const { provider, admission, upstreamId, adapter } = order;
  print(`${admission.request.kind} of ${admission.model.id} as ${upstreamId} at ${provider.baseUrl}`);
  print(`about ${creditsText(admission.expectedCost)} credits at list price`);
  try {
    const end = await make(adapter, callOf(order, print), pollMs);
    if (end.state !== "done") {
      print(withoutSecrets(sentenceOf(end, order), provider));
      return 1;
    }
    const { outputs } = end;
    const looked = await Promise.all(outputs.map((output) => look(output, admission.request.kind)));
    for (const line of looked) print(line);
    const good = looked.filter((line) => line.startsWith("made: ")).length;
    print(
      good > 0
        ? `${provider.id} works: ${good} of ${outputs.length} results can be used`
        : `${provider.id} gave nothing that can be used`,
    );
    return good > 0 ? 0 : 1;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    print(`failed: ${withoutSecrets(what, provider)}; is ${definition.baseUrlVariable} right?`);
    return 1;
  }
}

interface Order {
  readonly definition: ProviderDefinition;
  readonly provider: MediaProvider;
  readonly admission: TaskAdmission;
  readonly upstreamId: string;
  readonly adapter: BoundAdapter;
}

/** The cheapest request that one of the provider's models takes; in words why there is none. */
function orderFor(definition: ProviderDefinition, environment: Environment): Order | string {
  const { id, keyVariable } = definition;
  let provider: MediaProvider | undefined;
  try {
    provider = readSettings("", environment, PROVIDERS).mediaProviders.get(id);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  if (provider === undefined) return `${keyVariable} is not set in the environment: nothing was sent.`;
  const models = loadModelFiles(join(import.meta.dirname, "..", "models"));
  const offer: Offer = {
    catalog: createCatalog(models),
    providers: new Map(),
    mediaProviders: new Map([[id, provider]]),
  };
  const routedAt = models.filter(({ routes }) => routes.some((route) => route.provider === id));
  // It may make images of models that the catalogue does not have.
  const kind = routedAt.some(({ category }) => category === "image") ? "image" : "video";
  const routed = routedAt.filter(({ category }) => category === kind);
  const admissions = routed
    .flatMap((model) =>
      ASKED[kind].map((more) => admitted(offer, kind, { model: model.id, prompt: "A red kite.", ...more })),
    )
    .filter((admission) => admission !== undefined)
    .toSorted((a, b) => Number(a.expectedCost - b.expectedCost));
  const [admission] = admissions;
  const route = admission?.model.routes.find((found) => found.provider === id);
  const adapter = admission === undefined ? undefined : adapterFor(provider, admission.request);
  if (admission === undefined || route === undefined || adapter === undefined)
    return `No model of ${id} can be tried.`;
  const upstreamId = upstreamIdFor(route.upstreamId, admission.request);
  return { definition, provider, admission, upstreamId, adapter };
}

/** What makes a request cheaper; each model takes one of them at least. */
const ASKED = {
  image: [{ size: "512*512" }, { quality: "low" }, {}],
  video: [{ resolution: "480p" }, {}],
} as const;

function admitted(offer: Offer, kind: "image" | "video", body: object): TaskAdmission | undefined {
  const caller = { keyId: "smoke", accountId: "smoke", models: null };
  const request = { offer, caller, nowMs: 0, allowedHosts: [] };
  const wire = { body: new TextEncoder().encode(JSON.stringify(body)) };
  try {
    return kind === "image"
      ? admitImage(request, readImageBody(wire))
      : admitVideo(request, readVideoBody(wire));
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function adapterFor({ adapters }: MediaProvider, request: MediaRequest): BoundAdapter | undefined {
  if (request.kind === "image")
    return adapters.image === undefined ? undefined : bindAdapter(adapters.image, request);
  return adapters.video === undefined ? undefined : bindAdapter(adapters.video, request);
}

/** Begins the work once and asks after it to its end. */
async function make(adapter: BoundAdapter, call: MediaCall, pollMs: number): Promise<MediaStep> {
  let step = await adapter.create(call);
  const until = performance.now() + LIMIT_MS.work;
  while (step.state === "working" && adapter.poll !== undefined) {
    if (performance.now() > until) throw new Error("it was not done in time, and may still be made");
    await Bun.sleep(pollMs);
    step = await adapter.poll(step.job, call);
  }
  return step;
}

/** What an operator can do about it. */
function sentenceOf(end: Exclude<MediaStep, MediaDone>, { definition, provider }: Order): string {
  const { id, keyVariable, baseUrlVariable } = definition;
  if (end.state !== "refused") return `it came to nothing: ${end.state}`;
  const { reason, code = "none", message } = end.refusal;
  const said = `code ${code}${message === "" ? "" : `, ${message}`}`;
  switch (reason) {
    case "operator_fault":
      return `${id} refuses this account: ${said}. Check ${keyVariable}, its balance, and whether the model is open to it; of a 404 or a redirect ${baseUrlVariable} too.`;
    case "busy":
      return `${id} takes no work now: ${said}. Try again later.`;
    case "unclear":
      return `${provider.baseUrl} did not answer as ${id} does: ${said}. Is ${baseUrlVariable} right?`;
    default:
      return `refused: ${reason}, ${said}`;
  }
}

function callOf({ provider, admission, upstreamId }: Order, print: (line: string) => void): MediaCall {
  const { signal } = new AbortController();
  return {
    upstreamId,
    model: admission.model.id,
    reference: `smoke_${Date.now()}`,
    clientHeaders: {},
    signal,
    noteBegun: () => {},
    load: () => Promise.reject(new Error("Nothing is given to start from.")),
    async send(request) {
      const answer = await send(provider, request);
      const path = withoutSecrets(request.path, provider).slice(0, 100);
      print(`${request.method} ${path}: ${answer.status}, ${answer.bytes.length} bytes`);
      return answer;
    },
  };
}

async function send(
  provider: MediaProvider,
  { method, path, headers, json }: MediaHttpRequest,
): Promise<MediaHttpAnswer> {
  const url = path.startsWith("/") ? `${provider.baseUrl}${path}` : path;
  if (new URL(url).origin !== new URL(provider.baseUrl).origin)
    throw new Error("it named an address that is not its own");
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...headers,
      ...provider.headers,
      accept: "application/json",
      "user-agent": "switchyard",
      ...(json === undefined ? {} : { "content-type": "application/json" }),
    },
    signal: AbortSignal.timeout(LIMIT_MS.request),
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  let read: unknown;
  try {
    read = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    read = undefined;
  }
  return { status: response.status, header: (name) => response.headers.get(name), bytes, json: read };
}

/** What a result is by its content, in a line. */
async function look(output: MediaOutput, kind: "image" | "video"): Promise<string> {
  const grid = output.grid === undefined ? "" : `, a grid of ${output.grid.columns} by ${output.grid.rows}`;
  try {
    const bytes = await bytesOf(output);
    const found = mediaTypeOf(bytes);
    return found?.kind === kind
      ? `made: ${found.mediaType}, ${bytes.length} bytes${grid}`
      : `not what was asked for: ${found?.mediaType ?? "of no known kind"}, ${bytes.length} bytes`;
  } catch {
    return "cannot be fetched";
  }
}

async function bytesOf(output: MediaOutput): Promise<Uint8Array> {
  if ("bytes" in output) return output.bytes;
  if ("base64" in output) return Uint8Array.fromBase64(output.base64.slice(output.base64.indexOf(",") + 1));
  return new Uint8Array(await (await fetch(output.url, { headers: output.headers ?? {} })).arrayBuffer());
}

function withoutSecrets(text: string, { secrets }: MediaProvider): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
}
