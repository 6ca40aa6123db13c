import type { ImageRequest, MediaRequest, VideoRequest } from "../core/media/media.ts";
import type { Usage } from "../core/money/usage.ts";

/**
 * How a provider makes images or videos: a form of its own, turned into ours. An adapter knows nothing of money, of
 * tasks or of files. What its provider does is told by return values; it throws only what `send` and `load` reject with.
 */
export interface MediaAdapter<Request extends MediaRequest> {
  /**
   * What of the request this provider cannot be asked for, though the model takes it; absent, or `undefined`: nothing.
   * `create` is not called where it says something.
   */
  lacks?(request: Request, upstreamId: string): MediaRefusal | undefined;
  /** Starts the work, once. */
  create(request: Request, call: MediaCall): Promise<MediaStep>;
  /** Asks after a job that `create` has given; absent where `create` never gives one. */
  poll?(job: string, request: Request, call: MediaCall): Promise<MediaStep>;
  /** Asks the provider to stop. `false`: its server failed, so that it can be asked again; all else changes nothing. */
  cancel?(job: string, call: MediaCall): Promise<boolean>;
  /**
   * Finds the job of an attempt whose answer was lost, by `call.reference`; absent where the provider cannot be asked
   * that way. `undefined`: it surely has none.
   */
  find?(call: MediaCall): Promise<string | undefined>;
}

/** A provider's makers of images and videos. */
export interface MediaAdapters {
  readonly image?: MediaAdapter<ImageRequest>;
  readonly video?: MediaAdapter<VideoRequest>;
}

/** Where the work stands after a call. */
export type MediaStep =
  /** The provider has it, and calls it `job`: whatever it calls its own states, to us it is running. */
  | { readonly state: "working"; readonly job: string; readonly pollAfterMs?: number }
  | MediaDone
  /** It was not taken, or came to nothing. */
  | { readonly state: "refused"; readonly refusal: MediaRefusal }
  /** The provider knows no such job (any more). Only of `poll`. */
  | { readonly state: "unknown_job" };

/** The work is done; fewer outputs than were asked for is no failure, none is. */
export interface MediaDone {
  readonly state: "done";
  readonly outputs: readonly MediaOutput[];
  /** What the provider counted, in the buckets of `Usage`; absent where it does not tell: the outputs are then counted. */
  readonly usage?: Usage;
}

/** One image or video: where the provider has put it for a while, or its bytes. */
export type MediaOutput = MediaFile & {
  /** It is one image that holds several of the same size, row by row: each of them is an output. */
  readonly grid?: { readonly columns: number; readonly rows: number };
};

type MediaFile =
  | { readonly url: string; /** Headers without which it is not given. */ readonly headers?: HeaderRecord }
  | { readonly bytes: Uint8Array }
  /** As it stood in the JSON of an answer; the head of a data URI may stand before it. It may be anything. */
  | { readonly base64: string };

type HeaderRecord = Readonly<Record<string, string>>;

/** Why a provider did not do the work. */
export interface MediaRefusal {
  readonly reason:
    | "moderation"
    | "invalid_request"
    | "input_too_large"
    /** This request alone is more than the credential may use in a minute, however idle it is: waiting does not help. */
    | "beyond_limit"
    /** The gateway's own credential, balance, or activation: the client is not to blame, and is not told. */
    | "operator_fault"
    /** It takes no work now and surely has not begun: the same can be sent again after a while. */
    | "busy"
    /** It tried, and came to nothing. */
    | "failed"
    /**
     * Its answer does not say what became of the request: a failure of its server, no job, nothing that can be read.
     * What was to be begun may have been; what is under way goes on.
     */
    | "unclear";
  /** What the provider said, for the client where it is to blame; may be empty. It may quote the prompt: never logged. */
  readonly message: string;
  /** The provider's word for it, for the log: a code or a status. */
  readonly code?: string;
  /** The status of the answer that said it; absent where none said it by that. */
  readonly status?: number;
  /** It is of one of several calls for the task, and another of them may have begun its part. */
  readonly mayBeBegun?: true;
  /** After how long it may be tried again, where the provider says so. */
  readonly retryAfterMs?: number;
}

/** How many parts of a task have begun that `create` sends as one call for each: one at least, in all. */
export interface BegunParts {
  /** Parts that the provider has done, or whose end it tells when it is asked after the task's job. */
  readonly surely: number;
  /** Parts that the provider may have begun: its answer does not say so, or did not come. */
  readonly maybe: number;
}

/** What an adapter is given to make its calls with. */
export interface MediaCall {
  /** What the provider calls the model. */
  readonly upstreamId: string;
  /** What the gateway calls it: its id in the catalogue. */
  readonly model: string;
  /** Names this attempt and no other, to the provider too: letters, digits, `_` and `.`, at most 64. */
  readonly reference: string;
  /** Headers of the client that this provider is told. */
  readonly clientHeaders: HeaderRecord;
  /**
   * One call to the provider, with its credential: `path` under its address for media, or a whole URL there. Rejects
   * with the signal's reason, or with an `upstream_error` or `timeout_error` when no whole answer came.
   */
  send(request: MediaHttpRequest): Promise<MediaHttpAnswer>;
  /**
   * The bytes behind an input of the request, fetched under guard when it is a URL. Rejects with the signal's reason, or
   * with an error that is meant for the client.
   */
  load(input: string, kind: "image" | "audio" | "video"): Promise<LoadedMedia>;
  /**
   * Of a task that `create` sends as one call for each of its images: how many of them have begun. It counts where
   * `create` then says, or rejects with an error that says, that the task may have begun. Where one call makes several
   * images `create` does not call it: all of them may have begun.
   */
  noteBegun(parts: BegunParts): void;
  readonly signal: AbortSignal;
}

export interface MediaHttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly headers?: HeaderRecord;
  /** Sent as JSON. */
  readonly json?: unknown;
}

/** A provider's whole answer. */
export interface MediaHttpAnswer {
  readonly status: number;
  header(name: string): string | null;
  /** The pause that its `Retry-After` asks for, from 1 to 60 seconds. */
  readonly retryAfterMs?: number;
  readonly bytes: Uint8Array;
  /**
   * The body as JSON; `undefined` when it is none. A long text stands there under a name, by which it can be handed on
   * as `base64`, and nothing else done with it.
   */
  readonly json: unknown;
}

export interface LoadedMedia {
  /** By content, not by what its sender says: `image/png`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}
