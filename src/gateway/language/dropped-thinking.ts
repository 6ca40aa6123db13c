import type { AnswerContext, RelayTarget } from "../../protocols/protocol.ts";
import { familyOf } from "../../protocols/recalled-thinking.ts";
import type { ReadRequest } from "../reading/read-request.ts";
import type { Admission, Destination } from "./admit.ts";
import type { RelayInput, RelayServices } from "./relay-input.ts";

/** A request whose thinking is recalled. */
interface Recalling {
  readonly services: Pick<RelayServices, "thinking">;
  readonly input: Pick<RelayInput, "caller">;
  readonly request: Pick<ReadRequest, "callsWithoutThinking">;
}

/** The target of a way, with what its models thought before calls of the request that came back without a thought. */
export function recalledFor(
  { services: { thinking }, input: { caller }, request }: Recalling,
  { protocol, spoken, target }: Destination,
): RelayTarget | Promise<RelayTarget> {
  const { accountId } = caller;
  const family = familyOf(target.model.id);
  const isTranslated = protocol.callsWithoutThinking !== undefined;
  if (!isTranslated || !thinking.has(accountId, family)) return target;
  const recall = (keys: readonly string[]): RelayTarget => {
    const recalled = keys.length === 0 ? {} : thinking.recall(accountId, family, keys);
    return Object.keys(recalled).length === 0 ? target : { ...target, recalled };
  };
  const keys = request.callsWithoutThinking(spoken.id);
  return keys instanceof Promise ? keys.then(recall) : recall(keys);
}

/** Keeps what a translated answer's model thinks before it calls tools. */
export function rememberingFor(
  { thinking }: Pick<RelayServices, "thinking">,
  { caller: { accountId } }: Pick<RelayInput, "caller">,
  { protocol, model }: Admission,
): AnswerContext["remember"] {
  if (protocol.callsWithoutThinking === undefined) return undefined;
  return (calls) => {
    if (calls.length > 0) thinking.remember(accountId, familyOf(model.id), calls);
  };
}
