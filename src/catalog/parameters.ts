import { type Model, type ProtocolId, PROTOCOLS } from "../core/model.ts";
import { FORMATS } from "./formats.ts";
import { EMBEDDINGS } from "./parameter-tables/embeddings.ts";
import { fieldParameters } from "./parameter-tables/field.ts";
import { IMAGE_TABLE } from "./parameter-tables/images.ts";
import { type MediaTable, mediaParameters, takesField } from "./parameter-tables/media-table.ts";
import {
  eitherWay,
  type JsonSchema,
  type Parameter,
  type ParameterFacts,
} from "./parameter-tables/parameter.ts";
import { VIDEO_TABLE } from "./parameter-tables/videos.ts";

/** The endpoints of image and video models, which have one format each. */
export const MEDIA_ENDPOINTS = { image: "images", video: "videos" } as const;

/** Where a model can be asked: in a format of language models, or at the one endpoint of its kind. */
export type Endpoint = ProtocolId | MediaEndpoint | "embeddings";

/** The endpoint of a kind of work. */
export type MediaEndpoint = (typeof MEDIA_ENDPOINTS)[keyof typeof MEDIA_ENDPOINTS];

const MEDIA_TABLES: Readonly<Record<MediaEndpoint, MediaTable>> = {
  images: IMAGE_TABLE,
  videos: VIDEO_TABLE,
};

/** The endpoints that a model has parameters at: none where it can be asked nothing. */
export function endpointsOf({
  category,
  supportedProtocols,
}: Pick<Model, "category" | "supportedProtocols">): readonly Endpoint[] {
  if (category === "embedding") return ["embeddings"];
  return category === "image" || category === "video" ? [MEDIA_ENDPOINTS[category]] : supportedProtocols;
}

/** The parameters of a model at an endpoint, in the order in which they are told, those it does not take among them. */
export function parametersOf(model: ParameterFacts, endpoint: Endpoint): readonly Parameter[] {
  if (endpoint === "embeddings") return fieldParameters(EMBEDDINGS, model);
  return isProtocol(endpoint)
    ? fieldParameters(FORMATS[endpoint].fields, model)
    : mediaParameters(MEDIA_TABLES[endpoint], model);
}

function isProtocol(endpoint: Endpoint): endpoint is ProtocolId {
  return PROTOCOLS.some((protocol) => protocol === endpoint);
}

/**
 * Whether the model, or the server that it is reached at, does not take a parameter. The formats of language models
 * leave it out with a warning. Those of videos do so too where its meaning cannot be kept. One of images must have the
 * interface's default.
 */
export function isIgnored(model: ParameterFacts, endpoint: Endpoint, name: string): boolean {
  if (endpoint === "embeddings") return model.ignoredParameters.includes(name);
  if (!isProtocol(endpoint)) return !takesField(MEDIA_TABLES[endpoint], model, name);
  const [own = ""] = name.replace("generationConfig.", "").split(".");
  const untaken = endpoint === "compat_chat_completions" ? model.chatLimits?.untaken : undefined;
  return model.ignoredParameters.includes(own) || untaken?.includes(own) === true;
}

/**
 * The parameters that a model takes, as a JSON Schema (2020-12). `properties` are those of the first format that it is
 * served in, which `x-protocol` names. `x-protocols` has a schema of the same shape for each further format. A model of
 * images or videos has one format, which has no name. What the model does not take is no property but stands in
 * `x-ignored`; see `isIgnored`.
 */
export function parameterSchema(model: Model): JsonSchema {
  const [first, ...others] = endpointsOf(model);
  if (first === undefined) return { ...DIALECT, type: "object", properties: {} };
  return {
    ...DIALECT,
    ...formatSchema(model, first),
    ...(others.length === 0
      ? {}
      : { "x-protocols": Object.fromEntries(others.map((id) => [id, formatSchema(model, id)])) }),
  };
}

const DIALECT = { $schema: "https://json-schema.org/draft/2020-12/schema" };

function formatSchema(model: ParameterFacts, endpoint: Endpoint): JsonSchema {
  const all = parametersOf(model, endpoint);
  const taken = all.filter(({ name }) => !isIgnored(model, endpoint, name));
  const propertyOf = ({ name, schema, also, does }: Parameter): JsonSchema => {
    const inner = taken.filter((parameter) => parameter.name.startsWith(`${name}.`));
    const members = inner.map((parameter) => [parameter.name.slice(name.length + 1), propertyOf(parameter)]);
    return {
      ...(also === undefined ? schema : eitherWay(schema, also)),
      ...(members.length === 0 ? {} : { properties: Object.fromEntries(members) }),
      description: does,
    };
  };
  const outer = taken.filter(({ name }) => !name.includes("."));
  return {
    ...(isProtocol(endpoint) ? { "x-protocol": endpoint } : {}),
    type: "object",
    required: taken.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(outer.map((parameter) => [parameter.name, propertyOf(parameter)])),
    "x-ignored": all.filter(({ name }) => isIgnored(model, endpoint, name)).map(({ name }) => name),
  };
}
