import type { ChatEvent } from "../../src/core/chat.ts";
import type { AnswerContext } from "../../src/protocols/protocol.ts";
import { type ClientEnd, type ServerEnd, translate } from "../../src/protocols/translate.ts";

/** The events that a client end tells of a provider's stream, which is cut into pieces of `size` bytes. */
export function streamedEvents(
  client: ClientEnd,
  bytes: Uint8Array,
  context: AnswerContext,
  size: () => number = () => 1 << 30,
): readonly ChatEvent[] | undefined {
  const events: ChatEvent[] = [];
  const server = {
    openEncoder: () => ({
      push: (event: ChatEvent) => `${events.push(event)} `,
      tail: () => "",
      failureTail: () => "",
      keepAlive: new Uint8Array(0),
    }),
  } as unknown as ServerEnd;
  const stream = translate(server, client).openStream(context);
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.slice(at, (at += size()));
    stream.push(piece);
    // The runtime may use its buffer again.
    piece.fill(0x78);
  }
  stream.end(false);
  if (!stream.isComplete || stream.failure !== undefined) return undefined;
  stream.tail(stream.metered(), 7n);
  return events;
}
