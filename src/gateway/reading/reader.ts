import type { ImageFields } from "../../catalog/parameter-tables/images.ts";
import { ownMemory } from "../../core/bytes/bytes.ts";
import type { Handover } from "../../core/handover.ts";
import { present } from "../../core/json/json-value.ts";
import { type EmbeddingRequest, readEmbeddingRequest } from "../../protocols/embeddings/request.ts";
import { readImageBody } from "../../protocols/images/index.ts";
import type { CarrierKey } from "../../protocols/carrier.ts";
import type { MediaBody } from "../../protocols/media-request.ts";
import type { WireRequest } from "../../protocols/protocol.ts";
import { readVideoBody, type VideoBody } from "../../protocols/videos/index.ts";
import { createEarlier } from "./earlier.ts";
import { createLane, type Lane, type OrderTerms, type ReadingThread } from "./lane.ts";
import type { Orders } from "./orders.ts";
import { type ReadRequest, readRequest, type Reading, type RequestHead } from "./read-request.ts";

/** How a body is read. */
export interface ReadTerms extends Pick<WireRequest, "asked"> {
  /** The key by which it was sent: what was read of one key's bodies helps to read the next of the same key alone. */
  readonly owner?: string;
  /** Opens what earlier answers gave its caller to keep. */
  readonly carrier?: CarrierKey | undefined;
  /** Aborts when the client leaves: a body that still waits for its turn then is not read. */
  readonly signal?: AbortSignal;
}

/** Reads the bodies of requests: small ones at once, others on threads, so that no request waits for another's body. */
export interface Reader {
  /** Rejects with a `GatewayError` that names the field at fault. */
  readRequest(
    reading: Reading,
    wire: Pick<WireRequest, "headers" | "address">,
    body: Handover<Uint8Array>,
    terms: ReadTerms,
  ): ReadRequest | Promise<ReadRequest>;
  /** The same for a request for images. */
  readImage(body: Handover<Uint8Array>, terms: ReadTerms): Promised<MediaBody<ImageFields>>;
  /** The same for a request for a video. */
  readVideo(body: Handover<Uint8Array>, terms: ReadTerms): Promised<MediaBody<VideoBody>>;
  /** The same for a request for embeddings. */
  readEmbeddings(body: Handover<Uint8Array>, terms: ReadTerms): Promised<EmbeddingRequest>;
  /** Starts the threads now, and not with the first body that needs one. */
  startThreads(): void;
  /** Ends the threads. */
  close(): void;
}

type Promised<Value> = Value | Promise<Value>;

/** Bodies up to here are read on the main thread, in less time than other requests notice. */
const SMALL_BYTES = 128 * 1024;

/** Bodies up to here do not wait for larger ones, which take up to a second each. */
const MIDDLE_BYTES = 2 * 1024 * 1024;

/** A reader without threads. */
export function createReader(): Reader {
  const earlier = createEarlier();
  const middle = createLane();
  const large = createLane();
  const laneFor = (bytes: number): Lane | undefined =>
    bytes <= SMALL_BYTES ? undefined : bytes <= MIDDLE_BYTES ? middle : large;
  const laneOf = ({ length }: Uint8Array): Lane | undefined => laneFor(length);

  const readMedia = <Body>(
    body: Uint8Array,
    terms: ReadTerms,
    { here, there }: MediaWays<Body>,
  ): Promised<Body> => {
    const lane = laneOf(body);
    if (lane === undefined) return here({ ...terms, body });
    const own = ownMemory(body);
    return there(lane.current(), { body: own }, { ...terms, moved: [own.buffer] });
  };

  return {
    readRequest(reading, wire, handed, terms) {
      const body = handed.take();
      const lane = laneOf(body);
      if (lane === undefined) {
        const here = {
          headers: wire.headers,
          address: wire.address,
          asked: terms.asked,
          carrier: terms.carrier,
          body,
          known: earlier.of(terms.owner, body),
        };
        return readRequest(reading, here, (named) => {
          const longer = laneFor(body.length + (named.found?.size ?? 0));
          return longer && readOnThread(longer.current(), reading, named, terms);
        });
      }
      return readOnThread(lane.current(), reading, { ...wire, body }, terms);
    },
    readImage: (body, terms) => readMedia(body.take(), terms, IMAGES),
    readVideo: (body, terms) => readMedia(body.take(), terms, VIDEOS),
    readEmbeddings: (body, terms) => readMedia(body.take(), terms, EMBEDDINGS),
    startThreads() {
      for (const lane of [middle, large]) lane.start();
    },
    close() {
      for (const lane of [middle, large]) lane.stop();
    },
  };
}

/** How a body is read here, and how on a thread. */
interface MediaWays<Body> {
  here(wire: Pick<WireRequest, "body" | "asked">): Body;
  there(thread: ReadingThread, order: Orders["image"], more: OrderTerms): Promise<Body>;
}

const IMAGES: MediaWays<MediaBody<ImageFields>> = {
  here: readImageBody,
  there: (thread, order, more) => thread.order("image", order, more),
};
const VIDEOS: MediaWays<MediaBody<VideoBody>> = {
  here: readVideoBody,
  there: (thread, order, more) => thread.order("video", order, more),
};
const EMBEDDINGS: MediaWays<EmbeddingRequest> = {
  here: readEmbeddingRequest,
  there: (thread, order, more) => thread.order("embeddings", order, more),
};

let lastId = 0;

/** The same as `readRequest`, of which only the facts of the request come back. */
async function readOnThread(
  thread: ReadingThread,
  reading: Reading,
  { body, headers, address, found }: WireRequest,
  { owner, carrier, asked, signal }: ReadTerms,
): Promise<ReadRequest> {
  lastId += 1;
  const id = lastId;
  const own = ownMemory(body);
  const wire = { body: own, headers: [...headers], ...present({ address, found }) };
  const head = await thread.order(
    "read",
    { id, reading, wire, ...present({ owner, carrier }) },
    { moved: [own.buffer], asked, signal },
  );
  return readThere(thread, id, head, signal);
}

/** A request that a thread has read, by its number there. */
function readThere(
  thread: ReadingThread,
  id: number,
  head: RequestHead,
  signal: AbortSignal | undefined,
): ReadRequest {
  let hasEnded = false;
  return {
    ...head,
    resolve: async (found) =>
      readThere(thread, id, await thread.order("resolve", { id, found }, { signal }), signal),
    ownInput: () => thread.order("ownInput", { id }, { signal }),
    aimAt: (aim) => thread.order("aim", { id, aim }, { signal }),
    callsWithoutThinking: (spoken) => thread.order("callsWithoutThinking", { id, spoken }, { signal }),
    write: () => thread.order("write", { id }, { signal }),
    take(outputBound) {
      hasEnded = true;
      return thread.order("take", { id, outputBound });
    },
    copy: (outputBound) => thread.order("copy", { id, outputBound }, { signal }),
    release() {
      if (hasEnded) return;
      hasEnded = true;
      // A thread that has ended holds nothing any more.
      thread.order("release", { id }).catch(() => {});
    },
  };
}
