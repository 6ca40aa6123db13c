import { existsSync, readFileSync } from "node:fs";
import { Type, type Static } from "typebox";
import { parse as parseYaml } from "yaml";
import { compileSchema, faultSentence } from "./core/schema.ts";
import type { ProtocolId } from "./core/model.ts";
import type { Environment } from "./environment.ts";
import type { Exceptions } from "./gateway/fetch/target.ts";
import { OutboundSettings, readOutbound } from "./gateway/fetch/settings.ts";
import { readRoutingSection, RoutingSection, type RoutingSettings } from "./gateway/routing/settings.ts";
import { type CallTimeouts, DEFAULT_TIMEOUTS, type Timeouts } from "./gateway/timeouts.ts";
import { readResponseSection, ResponseSection, type ResponseSettings } from "./kept/settings.ts";
import { LimitSection, type LimitSettings, readLimitSection } from "./limits/settings.ts";
import type { ProviderDefinition } from "./providers/provider.ts";
import { SANDBOX } from "./providers/registry.ts";
import { MemorySection, type MemorySettings, readMemorySection } from "./memory-settings.ts";
import { type ConfiguredProviders, ProviderSection, readProviders } from "./provider-settings.ts";
import { machineMemory } from "./runtime/machine-memory.ts";
import { readTaskSection, TaskSection, type TaskSettings } from "./tasks/settings.ts";

const closed = { additionalProperties: false };

const ALIAS = /^(?:[^\s*]+\*?|\*)$/;

const Seconds = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 }));

const CALL_TIMEOUTS = { connect_seconds: Seconds, write_seconds: Seconds, plain_seconds: Seconds };
const CallTimeoutSection = Type.Object(CALL_TIMEOUTS, closed);

const SettingsSchema = Type.Object(
  {
    // Without a pattern of names: a record does not check what is under another name.
    providers: Type.Optional(Type.Record(Type.String(), ProviderSection)),
    timeouts: Type.Optional(
      Type.Object(
        {
          ...CALL_TIMEOUTS,
          first_byte_seconds: Seconds,
          idle_seconds: Seconds,
          content_idle_seconds: Seconds,
          stream_seconds: Seconds,
          process_lease_seconds: Seconds,
          embedding: Type.Optional(CallTimeoutSection),
          image: Type.Optional(CallTimeoutSection),
          video: Type.Optional(CallTimeoutSection),
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
    responses: Type.Optional(ResponseSection),
    routing: Type.Optional(RoutingSection),
  },
  closed,
);

type SettingsData = Static<typeof SettingsSchema>;
const settingsChecker = compileSchema(SettingsSchema);

/** The content of `switchyard.yaml` and the providers' variables; replaced whole when the file changes. */
export interface Settings extends ConfiguredProviders {
  readonly timeouts: Timeouts;
  readonly limits: LimitSettings;
  /** Hosts that files may be fetched from, beside public hosts by https. */
  readonly outbound: Exceptions;
  readonly tasks: TaskSettings;
  /** Other names of models: a name, or the beginning of names with `*` behind it, and the id that it leads to. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Whether the aliases of the catalogue's file of names are in force, too. */
  readonly defaultAliases: boolean;
  readonly memory: MemorySettings;
  /** How long answers of Responses are kept. */
  readonly responses: ResponseSettings;
  readonly routing: RoutingSettings;
}

/** Reads the file, if it is there. Throws a sentence that names file and key; an unknown key is an error. */
export function readSettings(
  file: string,
  environment: Environment,
  definitions: readonly ProviderDefinition[],
): Settings {
  const data = readFile(file);
  const called = readProviders(`${file}: providers`, data.providers ?? {}, environment, definitions);
  return {
    ...called,
    timeouts: readTimeouts(data.timeouts ?? {}),
    limits: readLimitSection(data.limits ?? {}),
    outbound: readOutbound(file, data.outbound ?? {}),
    tasks: readTaskSection(`${file}: tasks`, data.tasks ?? {}, makersOfMedia(definitions)),
    aliases: readAliases(file, data.aliases ?? {}),
    defaultAliases: data.default_aliases ?? true,
    memory: readMemorySection(data.memory ?? {}, machineMemory()),
    responses: readResponseSection(data.responses ?? {}),
    routing: readRoutingSection(`${file}: routing`, data.routing ?? {}, formatsOf(definitions, called)),
  };
}

/** Whether each alias leads to a model is checked where all models are known. */
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

/** Of all providers that there can be: those in which one is called, or would be if its key were set. */
function formatsOf(
  definitions: readonly ProviderDefinition[],
  { providers }: ConfiguredProviders,
): ReadonlyMap<string, readonly ProtocolId[]> {
  return new Map(
    [...definitions, ...providers.values()].map(({ id, protocols }) => [
      id,
      protocols.map((each) => each.id),
    ]),
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

function readTimeouts(data: NonNullable<SettingsData["timeouts"]>): Timeouts {
  const { image, video } = DEFAULT_TIMEOUTS;
  const call = readCallTimeouts(data, DEFAULT_TIMEOUTS);
  const { connectMs, writeMs } = call;
  return {
    ...DEFAULT_TIMEOUTS,
    ...call,
    firstByteMs: msOf(data.first_byte_seconds) ?? DEFAULT_TIMEOUTS.firstByteMs,
    idleMs: msOf(data.idle_seconds) ?? DEFAULT_TIMEOUTS.idleMs,
    contentIdleMs: msOf(data.content_idle_seconds) ?? DEFAULT_TIMEOUTS.contentIdleMs,
    streamMs: msOf(data.stream_seconds) ?? DEFAULT_TIMEOUTS.streamMs,
    processLeaseMs: msOf(data.process_lease_seconds) ?? DEFAULT_TIMEOUTS.processLeaseMs,
    embedding: readCallTimeouts(data.embedding ?? {}, call),
    image: readCallTimeouts(data.image ?? {}, { ...image, connectMs, writeMs }),
    video: readCallTimeouts(data.video ?? {}, { ...video, connectMs, writeMs }),
  };
}

function readCallTimeouts(data: Static<typeof CallTimeoutSection>, otherwise: CallTimeouts): CallTimeouts {
  return {
    connectMs: msOf(data.connect_seconds) ?? otherwise.connectMs,
    writeMs: msOf(data.write_seconds) ?? otherwise.writeMs,
    plainMs: msOf(data.plain_seconds) ?? otherwise.plainMs,
  };
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1000);
}
