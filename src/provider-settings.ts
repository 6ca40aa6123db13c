import { Type, type Static, type TOptional, type TString } from "typebox";
import { buildModel } from "./catalog/catalog.ts";
import { ModelFactsSchema } from "./catalog/schema.ts";
import { formatName, LISTED_PROTOCOLS, type Model, type ProtocolId, PROTOCOLS } from "./core/model.ts";
import { checkAddress, checkCredential, refusePassword } from "./dangers.ts";
import type { Environment } from "./environment.ts";
import { RELAYS } from "./protocols/index.ts";
import { COMPATIBLE_EMBEDDINGS, type EmbeddingDialect } from "./protocols/embeddings/dialect.ts";
import { dialectLike, likenesses } from "./providers/likeness.ts";
import type { Dialect, MediaProvider, Provider, ProviderDefinition } from "./providers/provider.ts";
import { CredentialsSection, withCredentials, withMediaCredentials } from "./provider-credentials.ts";
import { QuirkSettings, withQuirks } from "./providers/quirk-settings.ts";
import { SANDBOX } from "./providers/registry.ts";
import { wayTo } from "./providers/spoken.ts";

const closed = { additionalProperties: false };

/** The formats that a configured provider can speak, named as in the interface without its prefix. */
const SPOKEN = PROTOCOLS.map((id) => formatName(id) as Spoken);
type Spoken = ProtocolId extends `compat_${infer Name}` ? Name : never;

/** A section of `providers:`. */
export const ProviderSection = Type.Object(
  {
    protocol: Type.Optional(Type.Enum([...SPOKEN])),
    protocols: Type.Optional(
      Type.Array(Type.Enum([...SPOKEN]), {
        minItems: 1,
        uniqueItems: true,
        description: "The formats that it speaks, the preferred one first",
      }),
    ),
    base_url: Type.Optional(
      Type.Union([
        Type.String({
          description:
            "As the format's own clients take it: http://127.0.0.1:11434/v1 for chat completions, without a version for the others",
        }),
        Type.Object(
          Object.fromEntries(SPOKEN.map((name) => [name, Type.Optional(Type.String())])) as Record<
            Spoken,
            TOptional<TString>
          >,
          { ...closed, description: "One for each of protocols" },
        ),
      ]),
    ),
    api_key: Type.Optional(Type.String({ minLength: 1, description: "The credential itself" })),
    api_key_env: Type.Optional(
      Type.String({ minLength: 1, description: "The environment variable that holds it" }),
    ),
    credentials: Type.Optional(CredentialsSection),
    unknown_fields: Type.Optional(Type.Enum(["remove", "pass"])),
    stream_usage_option: Type.Optional(Type.Boolean()),
    padding: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true })),
    dialect: Type.Optional(Type.Enum(["native", "compatible"])),
    like: Type.Optional(
      Type.String({ minLength: 1, description: "A vendor or a kind of server whose quirks it has" }),
    ),
    quirks: Type.Optional(QuirkSettings),
    models: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: Type.String({ minLength: 1, description: "How clients call it: vendor/name" }),
            upstream_id: Type.Optional(Type.String({ minLength: 1 })),
            category: Type.Optional(
              Type.Enum(["language", "embedding"], { description: "What it is; absent: language" }),
            ),
            protocols: Type.Optional(
              Type.Array(Type.Enum([...SPOKEN]), {
                minItems: 1,
                uniqueItems: true,
                description: "Those of the provider's formats that it is served in; absent: all",
              }),
            ),
            ...ModelFactsSchema.properties,
          },
          closed,
        ),
        { minItems: 1 },
      ),
    ),
  },
  closed,
);

const PROVIDER_NAME = /^[a-z0-9][a-z0-9-]*$/;
const MODEL_ID = /^[a-z0-9][a-z0-9._-]*(\/[a-zA-Z0-9][a-zA-Z0-9._:-]*)+$/;

type ProviderData = Static<typeof ProviderSection>;

/** The providers that can be called, and the models that the settings add to them. */
export interface ConfiguredProviders {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
  readonly models: readonly Model[];
}

/**
 * The built-in providers whose credentials are set, and those of the sections. Throws a sentence that names the variable,
 * or the section's key behind `path`.
 */
export function readProviders(
  path: string,
  sections: Readonly<Record<string, ProviderData>>,
  environment: Environment,
  definitions: readonly ProviderDefinition[],
): ConfiguredProviders {
  const providers = new Map<string, Provider>();
  const mediaProviders = new Map<string, MediaProvider>();
  for (const definition of definitions) {
    const { provider, media } = builtIn(definition, environment) ?? {};
    if (provider !== undefined) providers.set(definition.id, provider);
    if (media !== undefined) mediaProviders.set(definition.id, media);
  }
  const models: Model[] = [];
  for (const [id, settings] of Object.entries(sections)) {
    const at = `${path}.${id}`;
    if (!PROVIDER_NAME.test(id))
      throw new Error(`${at}: the name of a provider has lower-case letters, digits and dashes only.`);
    if (id === SANDBOX) throw new Error(`${at} has a name that is taken: SWITCHYARD_SANDBOX sets it.`);
    const definition = definitions.find((found) => found.id === id);
    const named = settings.credentials ?? [];
    const media = mediaProviders.get(id);
    if (media !== undefined && definition?.media !== undefined) {
      const source = { own: definition.keyVariable, environment, headers: definition.media.headers };
      mediaProviders.set(id, withMediaCredentials(at, media, named, source));
    }
    if (definition?.protocols.length === 0) {
      checkMediaSection(at, definition, settings, media);
      continue;
    }
    const provider =
      definition === undefined
        ? configured(at, id, settings, { environment, definitions })
        : extended(at, definition, settings, providers.get(id));
    const own = definition?.keyVariable ?? settings.api_key_env;
    providers.set(id, withCredentials(at, provider, named, { own, environment }));
    models.push(...modelsOf(at, provider, settings));
  }
  return { providers, mediaProviders, models };
}

/** A built-in vendor once its key is set. */
interface BuiltIn {
  readonly provider: Provider | undefined;
  readonly media: MediaProvider | undefined;
}

function builtIn(definition: ProviderDefinition, environment: Environment): BuiltIn | undefined {
  const { id, keyVariable, baseUrlVariable, defaultBaseUrl, protocols, media } = definition;
  const apiKey = environment[keyVariable]?.trim();
  const address = environment[baseUrlVariable]?.trim() || defaultBaseUrl;
  refusePassword(baseUrlVariable, address ?? "");
  if (apiKey === undefined || apiKey === "") return undefined;
  checkCredential(keyVariable, apiKey);
  if (address === undefined) {
    throw new Error(`${baseUrlVariable} must be set beside ${keyVariable}: ${id} has no public address.`);
  }
  checkAddress(baseUrlVariable, address);
  const baseUrl = address.replace(/\/+$/, "");
  const secrets = [apiKey];
  return {
    provider:
      protocols.length === 0
        ? undefined
        : {
            id,
            protocols: protocols.map((protocol) => ({
              id: protocol.id,
              baseUrl: protocol.baseUrl?.(baseUrl) ?? baseUrl,
              headers: RELAYS[protocol.id].credentialHeaders(apiKey),
              dialect: protocol.dialect,
            })),
            ...embeddingsOf(definition, baseUrl, apiKey),
            secrets,
          },
    media:
      media === undefined
        ? undefined
        : {
            id,
            baseUrl: media.baseUrl?.(baseUrl) ?? baseUrl,
            headers: media.headers(apiKey),
            secrets,
            adapters: media.adapters,
            ...(media.ownHosts === undefined ? {} : { ownHosts: media.ownHosts }),
          },
  };
}

/** How a built-in provider is asked for embeddings: where, and with what, its first format is spoken. */
function embeddingsOf(
  { protocols: [first], embeddings: dialect }: ProviderDefinition,
  address: string,
  apiKey: string,
): Pick<Provider, "embeddings"> {
  if (first === undefined || dialect === undefined) return {};
  const headers = RELAYS[first.id].credentialHeaders(apiKey);
  return { embeddings: { baseUrl: first.baseUrl?.(address) ?? address, headers, dialect } };
}

/**
 * A built-in provider with the file's additions: models, quirks that have changed at the vendor, and which of its formats
 * it is called in.
 */
function extended(
  path: string,
  { keyVariable, baseUrlVariable }: ProviderDefinition,
  settings: ProviderData,
  provider: Provider | undefined,
): Provider {
  const { quirks, protocols: named } = settings;
  const other = Object.keys(settings).find((name) => !EXTENSIONS.has(name));
  if (other !== undefined) {
    throw new Error(
      `${path} is built in and takes models, quirks, protocols and credentials only, not ${other}: set ${keyVariable} and ${baseUrlVariable} in the environment.`,
    );
  }
  if (provider === undefined) throw needsKey(path, keyVariable);
  const chosen = named?.map((name) => spokenBy(provider, `compat_${name}`, `${path}.protocols`));
  const spokenNow = chosen ?? provider.protocols;
  if (quirks === undefined) return { ...provider, protocols: spokenNow };
  if (!spokenNow.some(isChat)) throw new Error(ofChatOnly(path));
  return {
    ...provider,
    protocols: spokenNow.map((spoken) => {
      const { id, baseUrl, headers, dialect } = spoken;
      return isChat(spoken) ? { id, baseUrl, headers, dialect: withQuirks(dialect, quirks) } : spoken;
    }),
  };
}

/** Throws where the section of a provider without language models adds something but credentials to it. */
function checkMediaSection(
  path: string,
  { keyVariable }: ProviderDefinition,
  settings: ProviderData,
  media: MediaProvider | undefined,
): void {
  const other = Object.keys(settings).find((name) => name !== "credentials");
  if (other !== undefined)
    throw new Error(`${path} has no language models: it takes credentials only, not ${other}.`);
  if (media === undefined) throw needsKey(path, keyVariable);
}

function needsKey(path: string, keyVariable: string): Error {
  return new Error(`${path} needs its key: ${keyVariable} is not set in the environment.`);
}

const EXTENSIONS: ReadonlySet<string> = new Set(["models", "quirks", "protocols", "credentials"]);

/** How a provider speaks a format. Throws, naming the setting at `at`, for one that it does not speak. */
function spokenBy({ protocols }: Provider, id: ProtocolId, at: string): Provider["protocols"][number] {
  const spoken = protocols.find((one) => one.id === id);
  if (spoken !== undefined) return spoken;
  throw new Error(`${at} has ${formatName(id)}, which the provider does not speak.`);
}

interface Known {
  readonly environment: Environment;
  readonly definitions: readonly ProviderDefinition[];
}

function configured(
  path: string,
  id: string,
  settings: ProviderData,
  { environment, definitions }: Known,
): Provider {
  const { api_key_env: keyVariable } = settings;
  if (settings.base_url === undefined) throw new Error(`${path}.base_url is required.`);
  if (settings.models === undefined) throw new Error(`${path}.models is required.`);
  const fromVariable = keyVariable === undefined ? undefined : environment[keyVariable];
  const apiKey = (settings.api_key ?? fromVariable)?.trim();
  if (keyVariable !== undefined && settings.api_key === undefined && (apiKey ?? "") === "") {
    throw new Error(`${path}.api_key_env names ${keyVariable}, which is not set.`);
  }
  if (settings.api_key !== undefined && apiKey === "")
    throw new Error(`${path}.api_key is blank: leave it out where the server needs none.`);
  const credential = settings.api_key === undefined ? keyVariable : undefined;
  checkCredential(credential ?? `${path}.api_key`, apiKey ?? "");
  const addresses = addressesOf(path, settings);
  const chat = settings.like !== undefined || settings.quirks !== undefined;
  if (chat && !addresses.some(isChat)) throw new Error(ofChatOnly(path));
  const base = dialectLike(settings.like, definitions);
  if (base === undefined) {
    const names = likenesses(definitions).join(", ");
    throw new Error(`${path}.like is "${settings.like}", which is none of ${names}.`);
  }
  const dialect: Dialect = {
    ...base,
    kind: settings.dialect ?? base.kind,
    unknownFields: settings.unknown_fields ?? base.unknownFields,
    streamUsageOption: settings.stream_usage_option ?? base.streamUsageOption,
    padding: settings.padding ?? base.padding,
  };
  const spoken = addresses.find(isChat);
  const headers = RELAYS.compat_chat_completions.credentialHeaders(apiKey);
  const embeddings: EmbeddingDialect = { ...COMPATIBLE_EMBEDDINGS, unknownFields: dialect.unknownFields };
  return {
    id,
    ...(spoken === undefined
      ? {}
      : { embeddings: { baseUrl: spoken.baseUrl, headers, dialect: embeddings } }),
    protocols: addresses.map((address) => ({
      id: address.id,
      baseUrl: address.baseUrl,
      headers: RELAYS[address.id].credentialHeaders(apiKey),
      dialect: withQuirks(dialect, settings.quirks ?? {}),
    })),
    secrets: apiKey === undefined ? [] : [apiKey],
  };
}

function isChat({ id }: { readonly id: ProtocolId }): boolean {
  return id === "compat_chat_completions";
}

function ofChatOnly(path: string): string {
  return `${path}: like and quirks are of chat_completions only.`;
}

/** The formats that a configured provider speaks, each with its address. */
function addressesOf(
  path: string,
  { protocol, protocols, base_url: said }: ProviderData,
): readonly { readonly id: ProtocolId; readonly baseUrl: string }[] {
  if (protocol !== undefined && protocols !== undefined)
    throw new Error(`${path} has protocol and protocols: write protocols alone.`);
  const spoken = protocols ?? [protocol ?? "chat_completions"];
  if (typeof said === "string" && spoken.length > 1)
    throw new Error(`${path}.base_url must have an address for each of ${spoken.join(", ")}.`);
  const unused = SPOKEN.find((name) => typeof said === "object" && name in said && !spoken.includes(name));
  if (unused !== undefined)
    throw new Error(`${path}.base_url.${unused} is of no use: protocols does not name it.`);
  return spoken.map((name) => {
    const at = typeof said === "object" ? `${path}.base_url.${name}` : `${path}.base_url`;
    const baseUrl = typeof said === "object" ? said[name] : said;
    if (baseUrl === undefined) throw new Error(`${at} is required.`);
    checkAddress(at, baseUrl);
    return { id: `compat_${name}`, baseUrl: baseUrl.replace(/\/+$/, "") };
  });
}

function modelsOf(path: string, provider: Provider, { models = [] }: ProviderData): Model[] {
  return models.map(({ id, upstream_id, category = "language", protocols: named, ...facts }, i) => {
    if (!MODEL_ID.test(id)) {
      throw new Error(
        `${path}.models[${i}].id is ${JSON.stringify(id)}: clients call a model by vendor/name, such as local/llama; the vendor is in lower case. The provider's own name goes into upstream_id.`,
      );
    }
    const only = named?.map(
      (name) => spokenBy(provider, `compat_${name}`, `${path}.models[${i}].protocols`).id,
    );
    try {
      if (category === "embedding" && (named !== undefined || provider.embeddings === undefined))
        throw new Error("an embedding model has no protocols, and its provider speaks chat_completions");
      return buildModel(id, category, facts, {
        // Those that its provider speaks; chat completions every language model has.
        supportedProtocols: (category === "language" ? LISTED_PROTOCOLS : []).filter(
          (asked) =>
            asked === "compat_chat_completions" ||
            wayTo(asked, provider.protocols, only)?.spoken.id === asked,
        ),
        routes: [
          {
            provider: provider.id,
            upstreamId: upstream_id ?? id,
            ...(only === undefined ? {} : { protocols: only }),
          },
        ],
      });
    } catch (error) {
      throw new Error(`${path}.models[${i}]: ${(error as Error).message}.`, { cause: error });
    }
  });
}
