import { existsSync, readFileSync } from "node:fs";
import { Type, type Static } from "typebox";
import { parse as parseYaml } from "yaml";
import { buildModel } from "./catalog/catalog.ts";
import { ModelFactsSchema } from "./catalog/schema.ts";
import { type Model, type ProtocolId, PROTOCOLS } from "./core/model.ts";
import { compileSchema, faultSentence } from "./core/schema.ts";
import { checkAddress, checkCredential, refusePassword } from "./dangers.ts";
import type { Environment } from "./environment.ts";
import type { Exceptions } from "./gateway/fetch/target.ts";
import { OutboundSettings, readOutbound } from "./gateway/fetch/settings.ts";
import { DEFAULT_TIMEOUTS, type Timeouts } from "./gateway/timeouts.ts";
import { LimitSection, type LimitSettings, readLimitSection } from "./limits/settings.ts";
import { servedBy } from "./protocols/index.ts";
import { credentialHeaders } from "./providers/credentials.ts";
import { dialectLike, likenesses } from "./providers/likeness.ts";
import type { Dialect, MediaProvider, Provider, ProviderDefinition } from "./providers/provider.ts";
import { QuirkSettings, withQuirks } from "./providers/quirk-settings.ts";
import { SANDBOX } from "./providers/registry.ts";
import { MemorySection, type MemorySettings, readMemorySection } from "./memory-settings.ts";
import { machineMemory } from "./runtime/machine-memory.ts";
import { readTaskSection, TaskSection, type TaskSettings } from "./tasks/settings.ts";

const closed = { additionalProperties: false };

/** The formats that a configured provider can speak; the words are those of the interface without its prefix. */
const SPOKEN = ["chat_completions", "messages", "generate_content"] as const;

const ProviderSettings = Type.Object(
  {
    protocol: Type.Optional(Type.Enum([...SPOKEN])),
    base_url: Type.Optional(
      Type.String({
        description:
          "As the format's own clients take it: http://127.0.0.1:11434/v1 for chat completions, without a version for the others",
      }),
    ),
    api_key: Type.Optional(Type.String({ minLength: 1, description: "The credential itself" })),
    api_key_env: Type.Optional(
      Type.String({ minLength: 1, description: "The environment variable that holds it" }),
    ),
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

const ALIAS = /^(?:[^\s*]+\*?|\*)$/;

const Seconds = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 }));

const SettingsSchema = Type.Object(
  {
    // Without a pattern of names: a record leaves what is under another name unchecked.
    providers: Type.Optional(Type.Record(Type.String(), ProviderSettings)),
    timeouts: Type.Optional(
      Type.Object(
        {
          first_byte_seconds: Seconds,
          plain_seconds: Seconds,
          idle_seconds: Seconds,
          content_idle_seconds: Seconds,
          stream_seconds: Seconds,
          process_lease_seconds: Seconds,
        },
        closed,
      ),
    ),
    limits: Type.Optional(LimitSection),
    outbound: Type.Optional(OutboundSettings),
    tasks: Type.Optional(TaskSection),
    aliases: Type.Optional(
      Type.Record(Type.String(), Type.String({ minLength: 1, description: "The id of a model" })),
    ),
    default_aliases: Type.Optional(Type.Boolean()),
    memory: Type.Optional(MemorySection),
  },
  closed,
);

type SettingsData = Static<typeof SettingsSchema>;
type ProviderData = Static<typeof ProviderSettings>;
const settingsChecker = compileSchema(SettingsSchema);

/** What `switchyard.yaml` and the providers' variables come to; replaced whole when the file changes. */
export interface Settings {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
  /** Models of providers that the file adds. */
  readonly models: readonly Model[];
  readonly timeouts: Timeouts;
  readonly limits: LimitSettings;
  /** Where the files behind URLs that others name may be fetched from, beside public hosts by https. */
  readonly outbound: Exceptions;
  readonly tasks: TaskSettings;
  /** Other names of models: a name, or the beginning of names with `*` behind it, and the id that it leads to. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Whether the aliases of the catalogue's file of names are in force, too. */
  readonly defaultAliases: boolean;
  readonly memory: MemorySettings;
}

/** Reads the file, if it is there. Throws a sentence that names file and key; an unknown key is an error. */
export function readSettings(
  file: string,
  environment: Environment,
  definitions: readonly ProviderDefinition[],
): Settings {
  const data = readFile(file);
  const providers = new Map<string, Provider>();
  const mediaProviders = new Map<string, MediaProvider>();
  for (const definition of definitions) {
    const { provider, media } = builtIn(definition, environment) ?? {};
    if (provider !== undefined) providers.set(definition.id, provider);
    if (media !== undefined) mediaProviders.set(definition.id, media);
  }
  const models: Model[] = [];
  for (const [id, settings] of Object.entries(data.providers ?? {})) {
    const path = `${file}: providers.${id}`;
    if (!PROVIDER_NAME.test(id))
      throw new Error(`${path}: the name of a provider has lower-case letters, digits and dashes only.`);
    if (id === SANDBOX) throw new Error(`${path} has a name that is taken: SWITCHYARD_SANDBOX sets it.`);
    const definition = definitions.find((found) => found.id === id);
    const provider =
      definition === undefined
        ? configured(path, id, settings, { environment, definitions })
        : extended(path, definition, settings, providers.get(id));
    providers.set(id, provider);
    models.push(...modelsOf(path, provider, settings));
  }
  return {
    providers,
    mediaProviders,
    models,
    timeouts: readTimeouts(data.timeouts ?? {}),
    limits: readLimitSection(data.limits ?? {}),
    outbound: readOutbound(file, data.outbound ?? {}),
    tasks: readTaskSection(`${file}: tasks`, data.tasks ?? {}, makersOfMedia(definitions)),
    aliases: readAliases(file, data.aliases ?? {}),
    defaultAliases: data.default_aliases ?? true,
    memory: readMemorySection(data.memory ?? {}, machineMemory()),
  };
}

/** Whether each leads to a model is known only where all models are. */
function readAliases(
  file: string,
  aliases: NonNullable<SettingsData["aliases"]>,
): ReadonlyMap<string, string> {
  const bad = Object.keys(aliases).find((name) => !ALIAS.test(name));
  if (bad === undefined) return new Map(Object.entries(aliases));
  throw new Error(
    `${file}: aliases: ${JSON.stringify(bad)} is no name: it has no blanks, and a * only at its end.`,
  );
}

function makersOfMedia(definitions: readonly ProviderDefinition[]): readonly string[] {
  return [...definitions.filter(({ media }) => media !== undefined).map(({ id }) => id), SANDBOX];
}

function readFile(file: string): SettingsData {
  if (!existsSync(file)) return {};
  let data: unknown;
  try {
    data = parseYaml(readFileSync(file, "utf8"), { strict: true, uniqueKeys: true }) ?? {};
  } catch (error) {
    throw new Error(`${file} is not valid YAML: ${(error as Error).message.split("\n")[0]}`, {
      cause: error,
    });
  }
  if (settingsChecker.accepts(data)) return data;
  const fault = settingsChecker.faultOf(data);
  throw new Error(`${file}: ${fault.path === "" ? "The file must be a mapping." : faultSentence(fault)}`);
}

/** What a vendor of the source serves once its key is set. */
interface BuiltIn {
  readonly provider: Provider | undefined;
  readonly media: MediaProvider | undefined;
}

function builtIn(definition: ProviderDefinition, environment: Environment): BuiltIn | undefined {
  const { id, keyVariable, baseUrlVariable, defaultBaseUrl, language, media } = definition;
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
      language === undefined
        ? undefined
        : { id, ...language, baseUrl, headers: credentialHeaders(language.protocol, apiKey), secrets },
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

/** A built-in provider with what the file adds to it: models, and quirks that have changed at the vendor. */
function extended(
  path: string,
  { keyVariable, baseUrlVariable, language }: ProviderDefinition,
  settings: ProviderData,
  provider: Provider | undefined,
): Provider {
  const { quirks } = settings;
  if (language === undefined) throw new Error(`${path} has no language models: nothing can be added to it.`);
  const other = Object.keys(settings).find((name) => name !== "models" && name !== "quirks");
  if (other !== undefined) {
    throw new Error(
      `${path} is built in and takes models and quirks only, not ${other}: set ${keyVariable} and ${baseUrlVariable} in the environment.`,
    );
  }
  if (provider === undefined)
    throw new Error(`${path} needs its key: ${keyVariable} is not set in the environment.`);
  if (quirks !== undefined && language.protocol !== "compat_chat_completions")
    throw new Error(`${path}: like and quirks are of chat_completions only.`);
  return quirks === undefined ? provider : { ...provider, dialect: withQuirks(language.dialect, quirks) };
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
  const { base_url: baseUrl, api_key_env: keyVariable } = settings;
  if (baseUrl === undefined) throw new Error(`${path}.base_url is required.`);
  if (settings.models === undefined) throw new Error(`${path}.models is required.`);
  const fromVariable = keyVariable === undefined ? undefined : environment[keyVariable];
  const apiKey = (settings.api_key ?? fromVariable)?.trim();
  if (keyVariable !== undefined && settings.api_key === undefined && (apiKey ?? "") === "") {
    throw new Error(`${path}.api_key_env names ${keyVariable}, which is not set.`);
  }
  const credential = settings.api_key === undefined ? keyVariable : undefined;
  checkCredential(credential ?? `${path}.api_key`, apiKey ?? "");
  checkAddress(`${path}.base_url`, baseUrl);
  const protocol = protocolOf(settings);
  const chat = settings.like !== undefined || settings.quirks !== undefined;
  if (chat && protocol !== "compat_chat_completions")
    throw new Error(`${path}: like and quirks are of chat_completions only.`);
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
  return {
    id,
    protocol,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: credentialHeaders(protocol, apiKey),
    secrets: apiKey === undefined ? [] : [apiKey],
    dialect: withQuirks(dialect, settings.quirks ?? {}),
  };
}

function modelsOf(path: string, provider: Provider, { models = [] }: ProviderData): Model[] {
  return models.map(({ id, upstream_id, ...facts }, i) => {
    if (!MODEL_ID.test(id)) {
      throw new Error(
        `${path}.models[${i}].id is ${JSON.stringify(id)}: clients call a model by vendor/name, such as local/llama; the vendor is in lower case. The provider's own name goes into upstream_id.`,
      );
    }
    try {
      return buildModel(id, "language", facts, {
        // In every format that its provider can be asked in, its own or by translation.
        supportedProtocols: PROTOCOLS.filter((asked) => servedBy(asked, provider.protocol) !== undefined),
        routes: [{ provider: provider.id, upstreamId: upstream_id ?? id }],
      });
    } catch (error) {
      throw new Error(`${path}.models[${i}]: ${(error as Error).message}.`, { cause: error });
    }
  });
}

function protocolOf({ protocol = "chat_completions" }: ProviderData): ProtocolId {
  return `compat_${protocol}`;
}

function readTimeouts(data: NonNullable<SettingsData["timeouts"]>): Timeouts {
  const ms = (seconds: number | undefined, otherwise: number): number =>
    seconds === undefined ? otherwise : Math.round(seconds * 1000);
  return {
    ...DEFAULT_TIMEOUTS,
    firstByteMs: ms(data.first_byte_seconds, DEFAULT_TIMEOUTS.firstByteMs),
    plainMs: ms(data.plain_seconds, DEFAULT_TIMEOUTS.plainMs),
    idleMs: ms(data.idle_seconds, DEFAULT_TIMEOUTS.idleMs),
    contentIdleMs: ms(data.content_idle_seconds, DEFAULT_TIMEOUTS.contentIdleMs),
    streamMs: ms(data.stream_seconds, DEFAULT_TIMEOUTS.streamMs),
    processLeaseMs: ms(data.process_lease_seconds, DEFAULT_TIMEOUTS.processLeaseMs),
  };
}
