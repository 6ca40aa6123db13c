import type { JsonObject } from "../../core/json/json-value.ts";
import type { EmbeddingFacts } from "../../core/model.ts";
import type { AnswerContext, RelayAnswer, RelayProtocol, UpstreamBody } from "../protocol.ts";
import type { EmbeddingDialect } from "./dialect.ts";
import type { EmbeddingRequest } from "./request.ts";

/** A form in which providers are asked for embeddings. Pure: a request in, bytes out; an answer in, OpenAI's form out. */
export interface EmbeddingFormat extends Pick<RelayProtocol, "upstreamPath" | "readRefusal"> {
  /** The body for upstream, of a request that the model takes. */
  upstreamBody(request: EmbeddingRequest, target: EmbeddingTarget): UpstreamBody;
  /** Reads a whole answer. Throws `upstream_error` when it has not one vector for each text. */
  readAnswer(body: Uint8Array, context: AnswerContext): Pick<RelayAnswer, "metered" | "repairs" | "encode">;
}

/** Where a request goes. */
export interface EmbeddingTarget {
  readonly upstreamId: string;
  readonly dialect: EmbeddingDialect;
  readonly facts: EmbeddingFacts;
  /** Who asks, as the provider may know them. */
  readonly user?: string;
}

/** What an answer must be, which goes with its request as the echo. */
export interface AskedVectors {
  readonly texts: number;
  readonly encoding: "float" | "base64";
  /** How long each vector must be, where that was asked for. */
  readonly dimensions: number | null;
  readonly normalize: boolean;
}

/** What the answer to a request must be. */
export function askedVectors(request: EmbeddingRequest, { facts }: EmbeddingTarget): JsonObject {
  const { texts, encodingFormat = "float", dimensions } = request;
  const asked: AskedVectors = {
    texts: texts.length,
    encoding: encodingFormat,
    dimensions: dimensions ?? null,
    normalize: facts.normalizeShorter && dimensions !== undefined && dimensions < facts.dimensions,
  };
  return { ...asked };
}

/** The same, as it came back with the answer. */
export function askedOf({ echo }: AnswerContext): AskedVectors {
  return echo as unknown as AskedVectors;
}
