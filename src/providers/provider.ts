import type { ProtocolId } from "../core/model.ts";
import type { TaskKind } from "../core/task.ts";
import type { ChatDialect } from "../protocols/chat-dialect.ts";
import type { EmbeddingDialect } from "../protocols/embeddings/dialect.ts";
import type { OutboundRequest } from "../runtime/fetch.ts";
import type { MediaAdapters } from "./media.ts";

/** A vendor's server that can be called now, as data. No code forks by provider. */
export interface Provider {
  readonly id: string;
  /** The wire formats that it speaks, in the order in which they are preferred. */
  readonly protocols: readonly SpokenProtocol[];
  /** How it is asked for embeddings; absent where it has none. */
  readonly embeddings?: SpokenEmbeddings;
  /** All credentials, where there are several; the first is the one that `protocols` and `embeddings` have. */
  readonly credentials?: readonly Credential[];
  /** Texts that must never be shown to anybody: the credentials themselves. */
  readonly secrets: readonly string[];
  /** Headers of the client that go along to it; to all others none do. In lower case. */
  readonly clientHeaders?: readonly string[];
  /** Headers by which every answer of it says where it comes from. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** Its failures are what its clients ask for: each is told as it comes, and says nothing of the next call. */
  readonly failsAsAsked?: boolean;
}

/** A credential's name, and what the vendor allows it. */
export interface NamedCredential {
  /** Names it to the operator: its variable. */
  readonly name: string;
  /** The most calls that this process makes with it in a minute; absent: not limited. */
  readonly requestsPerMinute?: number;
  /** The most calls that this process makes with it at a time; absent: not limited. */
  readonly concurrency?: number;
}

/** One of a provider's credentials: what the provider speaks, signed with it. */
export interface Credential extends NamedCredential, Pick<Provider, "protocols" | "embeddings"> {}

/** One of the credentials of a provider of images or videos: that provider, signed with it. */
export interface MediaCredential extends NamedCredential {
  readonly provider: MediaProvider;
}

/** One wire format of a provider: where it is spoken, how a call is signed there, and how it differs from the reference. */
export interface SpokenProtocol {
  readonly id: ProtocolId;
  /** Address as the format's own SDK takes it, no slash at the end: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Headers of every call: the credential, and the version that some vendors ask for. */
  readonly headers: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** Its own way to be called, in place of the network; it answers `baseUrl` as a server there would. */
  readonly transport?: Transport;
}

/** How a provider is asked for embeddings. */
export interface SpokenEmbeddings extends Pick<SpokenProtocol, "baseUrl" | "headers" | "transport"> {
  readonly dialect: EmbeddingDialect;
}

/** A server that can be asked for images or videos now. */
export interface MediaProvider {
  readonly id: string;
  /** Address of its interface for media, no slash at the end. */
  readonly baseUrl: string;
  /** Headers of every call: the credential. */
  readonly headers: Readonly<Record<string, string>>;
  /** All credentials, where there are several; the first is the one that `headers` have. */
  readonly credentials?: readonly MediaCredential[];
  readonly secrets: readonly string[];
  readonly adapters: MediaAdapters;
  /** The hosts of its vendor, where that has several: a job is asked after at the one where it was begun. */
  readonly ownHosts?: RegExp;
  readonly transport?: Transport;
  readonly clientHeaders?: readonly string[];
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** So long a task stays pending at least, in milliseconds, so that this state can be seen; absent: not at all. */
  readonly minPendingMs?: number;
  /**
   * Looks at the headers of the client that go along, before credit is held. Throws a `GatewayError` for what it does
   * not take of such work. A `pendingMs` of its answer stands in for `minPendingMs`.
   */
  readonly admit?: (
    kind: TaskKind,
    clientHeaders: Readonly<Record<string, string>>,
  ) => { readonly pendingMs?: number };
}

/**
 * A call that leaves no trace on the network. It rejects with the signal's reason when that ends it. It rejects with a
 * `GatewayError` for a failure that a client is to be shown as it is.
 */
export type Transport = (url: string, request: OutboundRequest) => Promise<Response>;

/** How a provider's format differs from the reference. */
export interface Dialect {
  /** `native`: bytes pass as they are. `compatible`: each event passes the named repairs. */
  readonly kind: "native" | "compatible";
  /** What happens to request fields that the protocol's table does not know. */
  readonly unknownFields: "remove" | "pass";
  /** Whether `stream_options.include_usage` is understood. */
  readonly streamUsageOption: boolean;
  /** Members of the answer that are padding by the provider's own documentation. */
  readonly padding: readonly string[];
  /** What its chat completions take and refuse; absent where nothing is known. */
  readonly chat?: ChatDialect;
  /** Of Responses: it makes conversations shorter by a call of its own. */
  readonly compacts?: true;
  /** Of Responses: of tools that run at the caller's it takes functions alone. */
  readonly functionsOnly?: true;
}

/** A provider as the source names it: alive once its credential is in the environment. */
export interface ProviderDefinition {
  readonly id: string;
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  /** Absent where there is no public one: its address has to be set. */
  readonly defaultBaseUrl?: string;
  /** The wire formats of its language models, the preferred one first; empty where it has none. */
  readonly protocols: readonly ProtocolDefinition[];
  /** How it is asked for embeddings, at the address and with the credential of its first format; absent: it has none. */
  readonly embeddings?: EmbeddingDialect;
  /** Absent where it has no image or video models. */
  readonly media?: MediaDefinition;
}

/** A wire format in which a vendor's language models are called. */
export interface ProtocolDefinition {
  readonly id: ProtocolId;
  /** Its address, of the address that the environment or the source gives; absent: the same. */
  baseUrl?(baseUrl: string): string;
  readonly dialect: Dialect;
}

/** How a vendor's image and video models are reached. */
export interface MediaDefinition {
  /** Its address for media, of the address that the environment or the source gives; absent: the same. */
  baseUrl?(baseUrl: string): string;
  headers(apiKey: string): Readonly<Record<string, string>>;
  readonly adapters: MediaAdapters;
  /** The hosts of a vendor that has several, each of which knows its own jobs alone. */
  readonly ownHosts?: RegExp;
}
