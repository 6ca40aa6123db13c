import type { RelayProtocol } from "../../src/protocols/protocol.ts";
import type { Json } from "./wire-json.ts";

/** What tests of cut streams must know of one wire format. */
export interface CutFormat {
  readonly protocol: string;
  readonly stages: RelayProtocol;
  /** Streams of our own making, so that there is something to test where recordings are absent. */
  ownStreams(): readonly SourceStream[];
  /** How many answers a stream has: what its request asked for, also where the request is not known. */
  choicesOf(text: string): number;
  /** Whether what came has to be charged for; absent: content, as the stage says that it came. */
  saysSomething?(text: string): boolean;
  /** What an answer says, without usage and charge. */
  contentOf(text: string): Json;
  /** Every breach of what official clients need of a whole stream. */
  breachesOf(text: string): readonly string[];
  /** Whether the end says that the answer, of which there should be so many, broke. */
  looksBroken(text: string, choices: number): boolean;
  /** The credit that a stream tells; undefined where it tells none. */
  creditOf(text: string): number | undefined;
  /** How a provider is configured, but for its address: the model's id is `<name>/model`. */
  settings(name: string): Json;
  /** A streamed request for that many choices. */
  request(modelId: string, choices: number): { readonly path: string; readonly body: Json };
}

/** A whole stream of a provider, and how it is to be read. */
export interface SourceStream {
  readonly name: string;
  readonly format: CutFormat;
  readonly bytes: Uint8Array;
  readonly native: boolean;
  readonly padding: readonly string[];
  /** How many choices were asked for. */
  readonly choices: number;
}
