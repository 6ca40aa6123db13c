import { JSON_FACTOR, type MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Caller } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import type { KeptResponses } from "../../kept/kept.ts";
import type { AnswerContext } from "../../protocols/protocol.ts";
import type { ReadRequest } from "../reading/read-request.ts";
import { readStore } from "../store-read.ts";

/**
 * The request with what it names of its account's earlier answers in it, in the place of the one that was read. Rejects
 * where one of them is not kept; nothing is held then.
 */
export async function withNamed(
  kept: KeptResponses,
  { accountId }: Caller,
  request: ReadRequest,
  memory: MemoryShare,
): Promise<ReadRequest> {
  const { names } = request.state ?? {};
  if (names === undefined) return request;
  try {
    const found = await readStore(kept.find(accountId, names));
    if (!memory.take(found.size * JSON_FACTOR)) throw noRoom();
    return await request.resolve(found);
  } catch (error) {
    request.release();
    throw error;
  }
}

function noRoom(): GatewayError {
  const sentence =
    "The gateway has no memory left for the conversation that this request names. Try again shortly.";
  return new GatewayError("overloaded_error", sentence, { retryAfterSec: 2 });
}

/** Keeps one answer. */
export interface AnswerKeeping {
  /** Takes the answer, as its client is about to have it. */
  readonly hear: NonNullable<AnswerContext["keep"]>;
  /** Resolves when it is kept, or could not be. */
  kept(): Promise<void>;
}

/** What keeps the answer of a request; `undefined` while nothing is kept. */
export async function keepingFor(
  kept: KeptResponses,
  { accountId: account }: Caller,
  request: ReadRequest,
): Promise<AnswerKeeping | undefined> {
  if (!kept.isOn()) return undefined;
  const previous = request.state?.previous;
  const input = await request.ownInput();
  let response: string | undefined;
  return {
    hear: (answer) => void (response = answer),
    async kept() {
      if (response !== undefined) await kept.keep({ account, previous, input, response });
    },
  };
}
