import type { ImageFields } from "../../catalog/parameter-tables/images.ts";
import { type ErrorDetails, type ErrorKind, errorDetails, GatewayError } from "../../core/errors.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { present } from "../../core/json/json-value.ts";
import { type EmbeddingRequest, readEmbeddingRequest } from "../../protocols/embeddings/request.ts";
import type { ProtocolId } from "../../core/model.ts";
import { readImageBody } from "../../protocols/images/index.ts";
import type { CarrierKey } from "../../protocols/carrier.ts";
import type { MediaBody } from "../../protocols/media-request.ts";
import type { Demand, FoundState, UpstreamBody, WireRequest } from "../../protocols/protocol.ts";
import { readVideoBody, type VideoBody } from "../../protocols/videos/index.ts";
import { createEarlier } from "./earlier.ts";
import { type Aim, type ReadRequest, readRequest, type Reading, type RequestHead } from "./read-request.ts";

// Orders to a thread that reads, and its answers: plain data, which passes between threads.

/** The orders, with their arguments. A request that was read is named by a number. */
export interface Orders {
  readonly read: {
    readonly id: number;
    readonly reading: Reading;
    readonly wire: PlainWire;
    /** See `ReadTerms`. */
    readonly owner?: string;
    readonly carrier?: CarrierKey;
  };
  readonly aim: { readonly id: number; readonly aim: Aim };
  readonly callsWithoutThinking: { readonly id: number; readonly spoken: ProtocolId };
  readonly write: { readonly id: number };
  readonly resolve: { readonly id: number; readonly found: FoundState };
  readonly ownInput: { readonly id: number };
  readonly take: { readonly id: number; readonly outputBound: number | undefined };
  readonly copy: Orders["take"];
  readonly release: { readonly id: number };
  readonly image: { readonly body: Uint8Array };
  readonly video: { readonly body: Uint8Array };
  readonly embeddings: { readonly body: Uint8Array };
}

export type Order = { [Kind in keyof Orders]: { readonly do: Kind } & Orders[Kind] }[keyof Orders];

/** A `WireRequest` as plain data. */
export interface PlainWire extends Pick<WireRequest, "body" | "address" | "found"> {
  readonly headers: readonly (readonly [string, string])[];
}

/** The result of each order. */
export interface Results {
  readonly read: RequestHead;
  readonly aim: Demand;
  readonly callsWithoutThinking: readonly string[];
  readonly write: undefined;
  readonly resolve: RequestHead;
  readonly ownInput: string;
  readonly release: undefined;
  readonly take: UpstreamBody;
  readonly copy: UpstreamBody;
  readonly image: MediaBody<ImageFields>;
  readonly video: MediaBody<VideoBody>;
  readonly embeddings: EmbeddingRequest;
}

/** The outcome of an order, and the body's `model`, where it was read. */
export type Outcome = { readonly asked?: string } & (
  | { readonly result: unknown }
  | { readonly refusal: Refusal }
  | { readonly problem: string }
);

/** A `GatewayError` as plain data. */
interface Refusal {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly details: ErrorDetails;
}

/** Carries out orders, one after the other. */
export function createOrders(): (order: Order) => Outcome {
  const requests = new Map<number, ReadRequest>();
  const earlier = createEarlier();

  const requestOf = (id: number): ReadRequest => {
    const request = requests.get(id);
    if (request === undefined) throw new Error("There is no such request.");
    return request;
  };

  const carryOut = (order: Order, asked: (model: unknown) => void): unknown => {
    switch (order.do) {
      case "read": {
        const { id, reading, wire, owner, carrier } = order;
        const headers = new Headers(wire.headers.map(([name, value]) => [name, value]));
        const known = earlier.of(owner, wire.body);
        const request = readRequest(reading, { ...wire, headers, asked, carrier, ...present({ known }) });
        requests.set(id, request);
        return headOf(request);
      }
      case "resolve": {
        const resolved = requestOf(order.id).resolve(order.found) as ReadRequest;
        requests.set(order.id, resolved);
        return headOf(resolved);
      }
      case "ownInput":
        return requestOf(order.id).ownInput();
      case "aim":
        return requestOf(order.id).aimAt(order.aim);
      case "callsWithoutThinking":
        return requestOf(order.id).callsWithoutThinking(order.spoken);
      case "write":
        return requestOf(order.id).write();
      case "take": {
        const request = requestOf(order.id);
        requests.delete(order.id);
        return inOne(request.take(order.outputBound) as UpstreamBody);
      }
      case "copy":
        return ofItsOwn(requestOf(order.id).copy(order.outputBound) as UpstreamBody);
      case "release":
        return void requests.delete(order.id);
      case "image":
        return readImageBody({ body: order.body, asked });
      case "video":
        return readVideoBody({ body: order.body, asked });
      case "embeddings":
        return readEmbeddingRequest({ body: order.body, asked });
    }
  };

  return (order) => {
    let said: Pick<Outcome, "asked"> = {};
    // Only a string can name a model; another value may be as large as the body, and would be copied to the main
    // thread.
    const hear = (model: unknown): void => void (typeof model === "string" && (said = { asked: model }));
    try {
      return { result: carryOut(order, hear), ...said };
    } catch (error) {
      return { ...failureOf(error), ...said };
    }
  };
}

function headOf({ model, models, stream, demand, state }: ReadRequest): RequestHead {
  return { model, stream, demand, ...present({ models, state }) };
}

/** Its pieces would be copied with all that they are parts of. */
function inOne(sent: UpstreamBody): UpstreamBody {
  return { ...sent, body: [joinBytes(sent.body)] };
}

/** The request goes on here, and a single piece of a body may be all that came of it: that stays. */
function ofItsOwn(sent: UpstreamBody): UpstreamBody {
  const { body } = sent;
  return body.length > 1 ? inOne(sent) : { ...sent, body: body.map((piece) => new Uint8Array(piece)) };
}

function failureOf(error: unknown): { readonly refusal: Refusal } | { readonly problem: string } {
  if (!(error instanceof GatewayError)) return { problem: String((error as Error).stack ?? error) };
  const { cause: _cause, ...details } = errorDetails(error);
  return { refusal: { kind: error.kind, message: error.message, details } };
}

/** The result of an order. Throws its refusal or its error. */
export function resultOf(outcome: Outcome): unknown {
  if ("result" in outcome) return outcome.result;
  if ("problem" in outcome) throw new Error(`A request could not be read: ${outcome.problem}`);
  const { kind, message, details } = outcome.refusal;
  throw new GatewayError(kind, message, details);
}
