import type { Caller } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import type { KeptResponses } from "../../kept/kept.ts";
import { itemsOfRounds } from "../../protocols/responses/kept.ts";
import { noSuchAnswer } from "../../protocols/responses/not-kept.ts";
import { readStore } from "../store-read.ts";

/** One answer that a caller asks about. Nothing of this is charged, or counts against limits. */
export interface AnswerAsked {
  readonly kept: KeptResponses;
  readonly caller: Caller;
  readonly id: string;
}

/** The response object, as its client had it. Rejects with a 404 where it is not kept. */
export async function keptAnswer({ kept, caller, id }: AnswerAsked): Promise<Uint8Array> {
  const answer = await readStore(kept.response(caller.accountId, id));
  if (answer === undefined) throw noSuchAnswer(id);
  return answer;
}

/** Deletes an answer, at once and for all processes. Rejects with a 404 where it is not kept. */
export async function deleteAnswer({ kept, caller, id }: AnswerAsked): Promise<JsonObject> {
  if (!(await readStore(kept.remove(caller.accountId, id)))) throw noSuchAnswer(id);
  return { id, object: "response", deleted: true };
}

/** No answer is made in the background, so that there is none to cancel: rejects with a 404 always. */
export async function cancelAnswer(asked: AnswerAsked): Promise<never> {
  await keptAnswer(asked);
  const sentence =
    "Only background responses can be cancelled, and background is not served here: this response has ended.";
  throw new GatewayError("not_found_error", sentence);
}

/** Which part of a list is asked for. */
export interface ItemPage {
  readonly after: string | null;
  readonly limit: number;
  readonly newestFirst: boolean;
}

/** The items that an answer was given. Rejects with a 404 where it is not kept. */
export async function inputItems(
  { kept, caller, id }: AnswerAsked,
  { after, limit, newestFirst }: ItemPage,
): Promise<JsonObject> {
  const rounds = await readStore(kept.rounds(caller.accountId, id));
  if (rounds.length === 0) throw noSuchAnswer(id);
  const all = itemsOfRounds(rounds);
  const items = newestFirst ? all.toReversed() : all;
  const from = after === null ? 0 : items.findIndex((item) => item.id === after) + 1;
  if (after !== null && from === 0)
    throw new GatewayError("invalid_request_error", "after must be the id of an item of this response.", {
      param: "after",
    });
  const data = items.slice(from, from + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < items.length,
  };
}
