import type { Catalog } from "../catalog/catalog.ts";
import { EMBEDDINGS_PATH } from "../catalog/examples/embeddings.ts";
import { FORMATS } from "../catalog/formats.ts";
import { MEDIA_WORDS } from "../catalog/media-words.ts";
import type { Caller } from "../core/caller.ts";
import { editDistance } from "../core/edit-distance.ts";
import { type ErrorDetails, type ErrorKind, GatewayError, quoted, withParam } from "../core/errors.ts";
import { type Model, type ProtocolId, PROTOCOLS } from "../core/model.ts";
import type { TaskKind } from "../core/task.ts";
import type { AskedModel } from "../protocols/protocol.ts";
import type { ProviderDefinition } from "../providers/provider.ts";
import { wayTo } from "../providers/spoken.ts";
import { PROVIDERS } from "../providers/registry.ts";
import { isMediaModel } from "./served.ts";

/** The use of a model: an answer in a format, images or a video, or embeddings. */
export type Endpoint = ProtocolId | TaskKind | "embedding";

const ENDPOINTS: readonly Endpoint[] = [...PROTOCOLS, "image", "video", "embedding"];

/** The id that a name stands for. */
export interface ResolvedName {
  readonly id: string;
  /**
   * Says which model serves in place of the named one, for the answer's `warning` header. Another spelling of the same
   * model gets no warning: a client sends one with each request, and nothing was changed.
   */
  readonly warnings: readonly string[];
}

/** The model that a request named. */
export interface FoundModel<M extends Model = Model> extends Pick<ResolvedName, "warnings"> {
  readonly model: M;
}

const NO_WARNINGS: readonly string[] = [];

/**
 * The model that a request names at its endpoint. Throws a 400 with a `code` of its own for an unknown name and for an
 * ambiguous one. Throws one also for a model that the key may not use, that only other endpoints serve, or that has no
 * live provider.
 */
export function findModel(catalog: Catalog, caller: Caller, name: string, endpoint: Endpoint): FoundModel {
  const { id, warnings } = resolveId(catalog, caller, name, endpoint);
  const rows = catalog.byId(id);
  const model = rows.find((row) => isServedAt(row, endpoint));
  if (model !== undefined) return { model, warnings };
  const addresses = endpointsOf(rows).map((other) => addressOf(other, id));
  if (addresses.length === 0) throw noLiveProvider(catalog, id, endpoint);
  throw refusal(
    "model_not_served_here",
    `The model ${id} is not served at ${addressOf(endpoint, id)}. It is served at ${listed(addresses, "and")}.`,
  );
}

/** What `find` gives for a name of the request. Where the name is at fault, the error names the field that has it. */
export function findAsked<Found>({ name, field }: AskedModel, find: (name: string) => Found): Found {
  try {
    return find(name);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.param !== "model" || field === "model") throw error;
    throw withParam(error, field);
  }
}

/**
 * The id that a name stands for, which the key may use. `endpoint` selects the names to propose for an unknown one;
 * `kind` is the error's type. Whether a provider serves the model is not checked.
 */
export function resolveId(
  catalog: Catalog,
  caller: Caller,
  name: string,
  endpoint?: Endpoint,
  kind?: ErrorKind,
): ResolvedName {
  const named = catalog.names.find(name);
  if (named === undefined) throw unknown(catalog, caller, name, endpoint, kind);
  const [id, ...others] = named.ids;
  if (others.length > 0) {
    throw refusal(
      "model_ambiguous",
      `The name ${quoted(name)} could be ${listed(named.ids, "or")}. Say which of them is meant.`,
    );
  }
  if (!mayUse(caller, id)) throw notAllowed(catalog, caller, id, endpoint, kind);
  return {
    id,
    warnings: named.isAlias ? [`model: the name is an alias, and ${id} serves.`] : NO_WARNINGS,
  };
}

/** Whether the caller's key may use the model with this id. */
export function mayUse({ models }: Caller, id: string): boolean {
  return models === null || models.has(id);
}

/** The models that a request at `endpoint` can mean: those of its name; without a name all that its key may use. */
export function modelsAt(
  catalog: Catalog,
  caller: Caller,
  endpoint: Endpoint,
  name?: string,
): readonly Model[] {
  const models =
    name === undefined ? catalog.models : (catalog.names.find(name)?.ids ?? []).flatMap(catalog.byId);
  return models.filter((model) => mayUse(caller, model.id) && isServedAt(model, endpoint));
}

/** The refusal of a model without a live provider; the variable that would make one live is for the log. */
export function noLiveProvider(
  catalog: Catalog,
  id: string,
  endpoint?: Endpoint,
  kind?: ErrorKind,
): GatewayError {
  const variables = variablesFor(catalog.knownById(id), endpoint);
  return refusal(
    "no_live_provider",
    `No provider that serves the model ${id} is set up here. GET /api/v1/models lists the models that are served.`,
    variables.length === 0
      ? {}
      : { operatorHint: `Set ${listed(variables, "or")} to have ${id} served, then start anew.` },
    kind,
  );
}

function isServedAt(model: Model, endpoint: Endpoint): boolean {
  if (isMediaModel(model)) return model.category === endpoint;
  if (endpoint === "embedding" || model.category === "embedding") return model.category === endpoint;
  if (endpoint === "image" || endpoint === "video") return false;
  return model.category === "language" && model.formats[endpoint] !== undefined;
}

function endpointsOf(models: readonly Model[]): readonly Endpoint[] {
  return ENDPOINTS.filter((endpoint) => models.some((model) => isServedAt(model, endpoint)));
}

function addressOf(endpoint: Endpoint, id: string): string {
  if (endpoint === "embedding") return EMBEDDINGS_PATH;
  if (endpoint === "image" || endpoint === "video") return MEDIA_WORDS[endpoint].path;
  return FORMATS[endpoint].paths(id)[0] ?? "";
}

/** The variables of which each makes a provider of one of `models` live: at this endpoint, where there is one. */
function variablesFor(models: readonly Model[], endpoint?: Endpoint): readonly string[] {
  const routes = new Set(models.flatMap((model) => model.routes.map(({ provider }) => provider)));
  const providers = PROVIDERS.filter(({ id }) => routes.has(id));
  const here = providers.filter((provider) => endpoint !== undefined && canServe(provider, endpoint));
  return (here.length > 0 ? here : providers).map(({ keyVariable }) => keyVariable);
}

function canServe({ protocols, media, embeddings }: ProviderDefinition, endpoint: Endpoint): boolean {
  if (endpoint === "embedding") return embeddings !== undefined;
  if (endpoint === "image" || endpoint === "video") return media?.adapters[endpoint] !== undefined;
  return wayTo(endpoint, protocols) !== undefined;
}

/** The refusal of a model that the key may not use: it names models of the key's list that this endpoint serves. */
function notAllowed(
  catalog: Catalog,
  caller: Caller,
  id: string,
  endpoint?: Endpoint,
  kind?: ErrorKind,
): GatewayError {
  const ids = usableIds(catalog, caller, endpoint);
  const named = listed(ids.slice(0, PROPOSED), "and");
  const instead = ids.length > PROPOSED ? `Among others it may use ${named}.` : `It may use ${named}.`;
  return refusal(
    "model_not_allowed",
    `This API key may not use the model ${id}. ${named === "" ? LIST_HINT : instead}`,
    {},
    kind,
  );
}

/** The ids of the models that a key may use and that this endpoint serves, or any endpoint. */
function usableIds(catalog: Catalog, caller: Caller, endpoint?: Endpoint): readonly string[] {
  const models = catalog.models.filter(
    (model) => mayUse(caller, model.id) && (endpoint === undefined || isServedAt(model, endpoint)),
  );
  return [...new Set(models.map(({ id }) => id))];
}

const LIST_HINT = "GET /api/v1/models lists those that this key may use.";

function unknown(
  catalog: Catalog,
  caller: Caller,
  name: string,
  endpoint?: Endpoint,
  kind?: ErrorKind,
): GatewayError {
  const near = nearest(name, usableIds(catalog, caller, endpoint));
  const proposed = near.length === 0 ? "" : ` Did you mean ${listed(near, "or")}?`;
  return refusal("model_not_found", `There is no model ${quoted(name)}.${proposed} ${LIST_HINT}`, {}, kind);
}

/** The most names that are proposed. */
const PROPOSED = 3;

/** A longer name is like no id. */
const LONGEST_MISSPELT = 64;

/**
 * The ids most like a name. First come those that contain it or are part of it, then those in which at most a third is
 * wrong.
 */
function nearest(name: string, ids: readonly string[]): readonly string[] {
  if (name.length > LONGEST_MISSPELT) return [];
  const asked = name.toLowerCase();
  const most = Math.max(2, Math.floor(asked.length / 3));
  const distanceTo = (id: string): number => {
    const whole = id.toLowerCase();
    const alone = whole.slice(whole.indexOf("/") + 1);
    if (asked.length > 2 && (whole.includes(asked) || asked.includes(alone))) return 0;
    const like = asked.includes("/") ? whole : alone;
    // Lengths alone rule most of them out, so that many models cost little.
    return Math.abs(like.length - asked.length) > most ? Infinity : editDistance(asked, like);
  };
  return ids
    .map((id) => ({ id, distance: distanceTo(id) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, PROPOSED)
    .map(({ id }) => id);
}

function refusal(
  code: string,
  message: string,
  details: ErrorDetails = {},
  kind: ErrorKind = "invalid_request_error",
): GatewayError {
  return new GatewayError(kind, message, { param: "model", code, ...details });
}

function listed(words: readonly string[], last: "and" | "or"): string {
  if (words.length < 2) return words.join();
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
