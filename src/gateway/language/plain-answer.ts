import { JSON_FACTOR, type MemoryShare } from "../../core/bytes/request-memory.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext, RelayAnswer } from "../../protocols/protocol.ts";
import type { UpstreamAnswer } from "../../providers/upstream.ts";
import type { RequestRecord } from "../request-record.ts";
import { ClientGone } from "./client-gone.ts";
import type { CallServices, PaidCall } from "./paid-call.ts";
import type { CalledFormat } from "./prepared-call.ts";

/** A plain answer beyond this is a fault of the provider. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** What a plain answer is made of. */
export interface PlainParts {
  readonly record: RequestRecord;
  readonly memory: MemoryShare;
}

/** A format whose answers are read whole. */
interface PlainFormat extends CalledFormat {
  readAnswer(body: Uint8Array, context: AnswerContext): PlainRead;
}

type PlainRead = Pick<RelayAnswer, "metered" | "repairs" | "encode">;

/** Sends the call, reads its answer to the end, and charges it. Gives the answer with the charge in it. */
export async function plainAnswer(
  services: CallServices,
  call: PaidCall<PlainFormat>,
  parts: PlainParts,
): Promise<Uint8Array> {
  const { record, memory } = parts;
  const deadline = services.clock.setTimer(services.timeouts.plainMs, () =>
    call.abort(new GatewayError("timeout_error", "The provider did not answer in time.")),
  );
  try {
    const answer = await readUntilGood(call, parts);
    call.sawAnswer();
    if (answer.repairs.length > 0) record.note({ repairs: answer.repairs });
    const credit = await call.settle(answer.metered, false);
    services.failpoint("answer.before_end");
    const encoded = answer.encode(credit);
    memory.hold(encoded.length);
    return encoded;
  } catch (error) {
    call.abort(error as Error);
    if (error instanceof ClientGone) await call.settleLeft(undefined);
    else await call.settleBroken(undefined, error as Error);
    throw error;
  } finally {
    deadline.cancel();
  }
}

/** Reads an answer, or that of another attempt where the operator allows one after an answer that is none. */
async function readUntilGood(
  call: PaidCall<PlainFormat>,
  { memory, record }: PlainParts,
): Promise<PlainRead> {
  let upstream = await call.send(false);
  for (;;) {
    try {
      call.sawByte();
      const bytes = await readAll(upstream, memory);
      record.goesOn();
      return call.protocol.readAnswer(bytes, call.context);
    } catch (error) {
      const next = await call.sendAgain(error as Error, false);
      if (next === undefined) throw error;
      upstream = next;
    }
  }
}

function readAll(upstream: UpstreamAnswer, memory: MemoryShare): Promise<Uint8Array> {
  let read = 0;
  return upstream.readAll(MAX_ANSWER_BYTES, (more) => {
    read += more;
    memory.hold(read * JSON_FACTOR);
  });
}
