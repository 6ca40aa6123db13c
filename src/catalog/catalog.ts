import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  CATEGORIES,
  type Category,
  type ChatLimits,
  type Formats,
  type ImageTokens,
  type Model,
  type ListedProtocolId,
  type Route,
  type SamplingFacts,
  type ThinkingFacts,
} from "../core/model.ts";
import { compileSchema, faultSentence } from "../core/schema.ts";
import { readEmbedding } from "./embedding-facts.ts";
import { readMedia } from "./media-facts.ts";
import type { MediaData } from "./media-schema.ts";
import { createModelNames, type ModelNames, type NameParts } from "./model-names.ts";
import { parameterSchema } from "./parameters.ts";
import { readPrices } from "./prices.ts";
import {
  type GoogleModel,
  type ModelFile,
  ModelFileSchema,
  type ModelFacts,
  type PublicModel,
} from "./schema.ts";

/** All enabled models at one moment; a new catalogue replaces it whole. */
export interface Catalog {
  readonly models: readonly Model[];
  /** The models with this id, in the order of `CATEGORIES`. */
  byId(id: string): readonly Model[];
  /** The same of all models that there are, whether anybody serves them now or not. */
  knownById(id: string): readonly Model[];
  readonly names: ModelNames;
}

const modelFile = compileSchema(ModelFileSchema);

/**
 * A catalogue of the `models` that are enabled. Those that are only known, and names beside those that the models have
 * by themselves, are in `more`. Throws a sentence for an alias that cannot be used.
 */
export function createCatalog(
  models: readonly Model[],
  more: Partial<Omit<NameParts, "enabled">> = {},
): Catalog {
  const byId = Map.groupBy(models, (model) => model.id);
  const known = more.known ?? models;
  const knownById = Map.groupBy(known, (model) => model.id);
  return {
    models,
    byId: (id) => byId.get(id) ?? [],
    knownById: (id) => knownById.get(id) ?? [],
    names: createModelNames({ ...more, enabled: models, known }),
  };
}

/** Reads every file under `folder`, in the order of `CATEGORIES`. Throws a sentence that names the file at fault. */
export function loadModelFiles(folder: string): Model[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".json"),
  );
  const models = files.sort().map((name) => {
    try {
      const data: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
      if (!modelFile.accepts(data)) throw new Error(faultSentence(modelFile.faultOf(data)));
      const [category, ...rest] = name.replace(/\.json$/, "").split("/");
      if (!CATEGORIES.includes(category as Category)) throw new Error(`"${category}" is no category`);
      const { supported_protocols, routes, ...facts } = data;
      if ((category === "image" || category === "video") && facts.media === undefined)
        throw new Error(`media is missing: every ${category} model has it`);
      return buildModel(rest.join("/"), category as Category, facts, {
        supportedProtocols: supported_protocols,
        routes: routes.map(readRoute),
      });
    } catch (error) {
      throw new Error(`The model file ${join(folder, name)} cannot be used: ${(error as Error).message}`, {
        cause: error,
      });
    }
  });
  return models.sort((a, b) => CATEGORIES.indexOf(a.category) - CATEGORIES.indexOf(b.category));
}

function readRoute({ provider, upstream_id: upstreamId, protocols }: ModelFile["routes"][number]): Route {
  return protocols === undefined ? { provider, upstreamId } : { provider, upstreamId, protocols };
}

/** Tokens that one medium can come to when a model's data does not say. */
const MEDIA_TOKEN_CEILING = { image: 3_000, audio: 20_000, video: 200_000, pdf: 200_000 } as const;

/** A model of the facts as written. Throws a sentence when they cannot be used. */
export function buildModel(
  id: string,
  category: Category,
  facts: ModelFacts & { readonly media?: MediaData },
  reach: { readonly supportedProtocols: readonly ListedProtocolId[]; readonly routes: readonly Route[] },
): Model {
  const { prices, version } = readPrices(facts.prices, category);
  const media = facts.media === undefined ? undefined : readMedia(id, category, facts.media);
  if ((facts.embedding === undefined) === (category === "embedding"))
    throw new Error("embedding is what embedding models have, all of them and no others");
  return {
    id,
    uniqueId: `${category}/${id}`,
    category,
    displayName: facts.display_name ?? id,
    vendor: id.split("/")[0] ?? id,
    summary: facts.summary ?? "",
    notes: facts.notes ?? [],
    supportedProtocols: reach.supportedProtocols,
    // As its file says it; which way each is served depends on the providers that are live.
    formats: Object.fromEntries(reach.supportedProtocols.map((protocol) => [protocol, "relay"])),
    inputModalities: facts.input_modalities ?? ["text"],
    // A vector is none of the interface's kinds.
    outputModalities: facts.output_modalities ?? (category === "embedding" ? [] : ["text"]),
    totalContext: facts.total_context ?? null,
    maxOutput: facts.max_output ?? null,
    ignoredParameters: facts.ignored_parameters ?? [],
    maxTokensField: facts.max_tokens_field ?? "max_tokens",
    mediaTokenCeiling: { ...MEDIA_TOKEN_CEILING, ...facts.media_token_ceiling },
    ...(facts.image_tokens === undefined
      ? {}
      : { imageTokens: readImageTokens(facts.image_tokens, facts.media_token_ceiling?.image) }),
    ...(facts.system_turns === undefined ? {} : { systemTurns: facts.system_turns }),
    ...(facts.thinking === undefined ? {} : { thinking: readThinking(facts.thinking) }),
    ...(facts.sampling === undefined ? {} : { sampling: readSampling(facts.sampling) }),
    prices,
    priceVersion: version,
    routes: reach.routes,
    ...(media === undefined ? {} : { media }),
    ...(facts.embedding === undefined ? {} : { embedding: readEmbedding(facts.embedding) }),
  };
}

/** The model as it is while only `formats` can be served, by such a server: what it shows of itself is of these alone. */
export function servedIn(model: Model, formats: Formats, chatLimits?: ChatLimits): Model {
  return {
    ...model,
    formats,
    supportedProtocols: model.supportedProtocols.filter((protocol) => formats[protocol] !== undefined),
    ...(chatLimits === undefined ? {} : { chatLimits }),
  };
}

function readSampling(facts: NonNullable<ModelFacts["sampling"]>): SamplingFacts {
  const { max_temperature, temperature_or_top_p = false, fixed_while_thinking = false } = facts;
  return {
    ...(max_temperature === undefined ? {} : { maxTemperature: max_temperature }),
    eitherTemperatureOrTopP: temperature_or_top_p,
    fixedWhileThinking: fixed_while_thinking,
  };
}

/** An image of unknown size counts as the ceiling, and none counts more: with a formula it must be the vendor's own. */
function readImageTokens(
  { patch, per_patch = 1, base = 0, low, high }: NonNullable<ModelFacts["image_tokens"]>,
  most: number | undefined,
): ImageTokens {
  if (most === undefined)
    throw new Error("image_tokens needs media_token_ceiling.image: the most that an image comes to");
  if (Math.max(low ?? 0, high ?? 0) > most)
    throw new Error("image_tokens has more for low or high detail than media_token_ceiling.image");
  return {
    patch,
    perPatch: per_patch,
    base,
    ...(low === undefined ? {} : { low }),
    ...(high === undefined ? {} : { high }),
  };
}

/** Where a model's page is. */
export function pageUrl({ uniqueId }: Pick<Model, "uniqueId">, publicUrl: string): string {
  return `${publicUrl}/docs/${uniqueId}/llms.txt`;
}

function readThinking({
  efforts,
  always = false,
  streamed_only = false,
  style,
  reasoning_back_always = false,
}: NonNullable<ModelFacts["thinking"]>): ThinkingFacts {
  return {
    ...(efforts === undefined ? {} : { efforts }),
    canBeOff: !always,
    streamedOnly: streamed_only,
    ...(style === undefined ? {} : { style }),
    reasoningBackAlways: reasoning_back_always,
  };
}

/** A model as the interface shows it. */
export function publicModel(model: Model, publicUrl: string): PublicModel {
  return {
    id: model.id,
    unique_id: model.uniqueId,
    object: "model",
    category: model.category,
    display_name: model.displayName,
    vendor: model.vendor,
    supported_protocols: [...model.supportedProtocols],
    formats: { ...model.formats },
    input_modalities: [...model.inputModalities],
    output_modalities: [...model.outputModalities],
    total_context: model.totalContext,
    max_output: model.maxOutput,
    parameter_schema: parameterSchema(model),
    documentation_url: pageUrl(model, publicUrl),
    // The vendors' interfaces have the epoch where the date of a release is not known.
    created: 0,
    owned_by: model.vendor,
    type: "model",
    created_at: "1970-01-01T00:00:00Z",
  };
}

/** A model as Google's SDK reads it; it can be called by that SDK where it has methods. */
export function googleModel(model: Model): GoogleModel {
  return {
    name: `models/${model.id}`,
    displayName: model.displayName,
    ...(model.totalContext === null ? {} : { inputTokenLimit: model.totalContext }),
    ...(model.maxOutput === null ? {} : { outputTokenLimit: model.maxOutput }),
    supportedGenerationMethods:
      model.formats.compat_generate_content !== undefined ? ["generateContent", "countTokens"] : [],
  };
}
