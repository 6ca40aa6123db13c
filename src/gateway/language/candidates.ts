import { joinBytes } from "../../core/bytes/bytes.ts";
import { GatewayError } from "../../core/errors.ts";
import { present } from "../../core/json/json-value.ts";
import type { Hold } from "../../core/money/hold.ts";
import type { AnswerContext, RelayProtocol, UpstreamBody } from "../../protocols/protocol.ts";
import type { Provider } from "../../providers/provider.ts";
import { routingOf } from "../routing/routing.ts";
import type { ReadRequest } from "../reading/read-request.ts";
import { admit, type Admission, type Destination, mostOutput } from "./admit.ts";
import type { Candidate } from "./attempts.ts";
import { recalledFor, rememberingFor } from "./dropped-thinking.ts";
import { type Leg, type Room, roomIn } from "./legs.ts";
import type { CallWays } from "./paid-call.ts";
import type { PreparedCall } from "./prepared-call.ts";
import { prepareBody } from "./prepared-body.ts";
import type { RelayInput, RelayServices } from "./relay-input.ts";

/** A request that credit is held for, and what it can be sent as. */
export interface HeldRequest {
  readonly services: RelayServices;
  readonly input: RelayInput;
  readonly request: ReadRequest;
  readonly legs: readonly [Leg, ...Leg[]];
  readonly hold: Hold;
  /** The same for requests that begin alike. */
  readonly stickyKey: number | undefined;
  /** Keeps the answer. */
  readonly keep: AnswerContext["keep"];
}

type LanguageCall = PreparedCall<RelayProtocol>;

/**
 * Writes the request for its first way. It stays readable while there are others: until the first call of one that is
 * too large to be sent twice.
 */
export async function openCandidates(held: HeldRequest): Promise<CallWays<RelayProtocol>> {
  const { input, request, legs, stickyKey } = held;
  const [leg] = legs;
  const [firstWay] = leg.ways;
  const hasOne = legs.length === 1 && leg.ways.length === 1;
  const room = roomOf(held);
  const bound = outputBound(room, leg.admission);
  const taken = hasOne ? request.take(bound) : request.copy(bound);
  const first = prepared(held, leg, leg.admission, room, taken instanceof Promise ? await taken : taken);
  const keyAt = ({ admission }: Leg): number | undefined =>
    routingOf(admission.model).sticky ? stickyKey : undefined;
  if (hasOne && firstWay !== undefined) {
    input.memory.hold(first.body.length);
    return { first, candidates: [{ way: firstWay, stickyKey: keyAt(leg), prepare: () => first }] };
  }
  let isSpent = false;
  /** The way is taken: of a body that is sent but once nothing else is needed. */
  const taking = (call: LanguageCall | undefined): LanguageCall | undefined => {
    if (call === undefined || call.body.isKept) return call;
    isSpent = true;
    request.release();
    if (call !== first) first.body.release();
    input.memory.hold(call.body.length);
    return call;
  };
  const prepareOther = async (leg: Leg, way: Destination): Promise<LanguageCall | undefined> =>
    isSpent ? undefined : taking(await prepareWay(held, leg, way));
  const candidates = legs.flatMap((each) =>
    each.ways.map((way): Candidate<LanguageCall> => ({
      way,
      stickyKey: keyAt(each),
      prepare: () => (way === firstWay ? taking(first) : prepareOther(each, way)),
    })),
  );
  return { first, candidates, release: () => request.release() };
}

/** What the hold, which was made for it among others, has room for. */
function roomOf({ hold, legs }: HeldRequest): Room {
  const { outputTokens } = hold;
  return (legs.length === 1 ? undefined : roomIn(hold, legs[0].admission)) ?? { outputTokens };
}

/** The request written for another way than its first; `undefined` where it cannot go there for what is held. */
async function prepareWay(held: HeldRequest, leg: Leg, way: Destination): Promise<LanguageCall | undefined> {
  const { input, request, hold, legs } = held;
  try {
    const target = await recalledFor(held, way);
    const demand = await request.aimAt({ spoken: way.spoken.id, target });
    const { plan, snapshot, admittedAtMs } = leg.admission;
    // Prices are those of the moment of the hold, which is measured by them.
    const admitted = admit(way, input.protocol.id, demand, admittedAtMs);
    const admission = { ...admitted, plan, snapshot };
    const room = roomIn(hold, admission);
    if (room === undefined) return undefined;
    const body = await request.copy(outputBound(room, admission));
    // Another provider of the caller's own format cannot read what the first has signed, and nobody translates it there.
    const isForeign =
      way.spoken.id === input.protocol.id && way.provider.id !== legs[0].admission.provider.id;
    return prepared(
      held,
      leg,
      admission,
      room,
      isForeign ? (withoutSignatures(body, admission) ?? body) : body,
    );
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The same body without what earlier answers were signed with; `undefined` where nothing in it is. */
function withoutSignatures(body: UpstreamBody, { protocol, target }: Admission): UpstreamBody | undefined {
  const bare = protocol.unsigned?.(joinBytes(body.body), target);
  return bare && { ...body, body: bare.body, warnings: [...body.warnings, ...bare.warnings] };
}

function prepared(
  held: HeldRequest,
  leg: Leg,
  admission: Admission,
  { outputTokens }: Room,
  written: UpstreamBody,
): LanguageCall {
  const { services, input, keep } = held;
  const [first] = held.legs;
  const served =
    leg === first
      ? []
      : [`model: ${first.admission.model.id} could not serve, and ${admission.model.id} serves`];
  const remember = rememberingFor(services, input, admission);
  const terms = { admission, outputTokens };
  const reading = present({ remember, keep, isFallback: leg.isFallback });
  const headers = clientHeaders(written, admission.provider, input.wire);
  const warnings = [...leg.warnings, ...served, ...written.warnings];
  const body = prepareBody({ ...written, ...headers, warnings }, input.memory);
  return {
    body,
    terms,
    reading,
    unsigned() {
      const bare = body.isKept ? withoutSignatures(body.written(), admission) : undefined;
      return bare && { body: prepareBody(bare, input.memory), terms, reading };
    },
  };
}

/** The bound to send upstream: what the hold has room for, when that is less than the model would give by itself. */
function outputBound({ outputTokens }: Room, admission: Admission): number | undefined {
  if (outputTokens === undefined || admission.mostOutput !== undefined) return undefined;
  const bound = Math.min(outputTokens, mostOutput(admission.model));
  return bound === admission.model.maxOutput ? undefined : bound;
}

/** The headers of a body, with the client's own that this provider is to be told. */
export function clientHeaders(
  { headers: own }: Pick<UpstreamBody, "headers">,
  { clientHeaders: names }: Provider,
  { headers }: RelayInput["wire"],
): Pick<UpstreamBody, "headers"> {
  if (names === undefined) return own === undefined ? {} : { headers: own };
  const told = names.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { headers: { ...Object.fromEntries(told), ...own } };
}
