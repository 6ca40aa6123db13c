import { expect, spyOn, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../test/protocols/answer-context.ts";
import type { ProtocolId } from "../core/model.ts";
import type { AnswerContext } from "./protocol.ts";
import { servedBy } from "./index.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const context = (model: string): AnswerContext => ({ ...ANSWER_CONTEXT, model });

/** The events of one stream, the last of which is held back. */
const FORMATS: readonly (readonly [ProtocolId, (name: string) => readonly string[]])[] = [
  [
    "compat_chat_completions",
    (name) => [
      `data: {"id":"1","model":"x","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n`,
      `data: {"id":"${name}","model":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14}}\n\n`,
    ],
  ],
  [
    "compat_messages",
    (name) => [
      `event: message_start\ndata: {"type":"message_start","message":{"id":"1","model":"x","usage":{"input_tokens":5,"output_tokens":1}}}\n\n`,
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","note":"${name}"},"usage":{"output_tokens":9}}\n\n`,
    ],
  ],
];

/** Has the runtime's copy fail at the `failing`th call, as where there is no memory; tells whether it came to that. */
function withoutMemory(failing: number, work: () => void): boolean {
  const { set } = Uint8Array.prototype;
  let calls = 0;
  const spy = spyOn(Uint8Array.prototype, "set").mockImplementation(function (
    this: Uint8Array,
    ...values: Parameters<typeof set>
  ) {
    calls += 1;
    if (calls === failing) throw new RangeError("Out of memory");
    return set.apply(this, values);
  });
  try {
    work();
    return false;
  } catch {
    return true;
  } finally {
    spy.mockRestore();
  }
}

for (const [format, eventsOf] of FORMATS)
  test(`${format}: a stream that fails amid an event leaves nothing of it to another`, () => {
    const open = (name: string) => {
      const stream = servedBy(format, format)?.openStream(context(name));
      if (stream === undefined) throw new Error(`${format} is not served`);
      const [first = "", held = ""] = eventsOf(name.repeat(20));
      stream.push(encode(first));
      return { stream, held: encode(held) };
    };
    let failures = 0;
    for (let failing = 1, hasFailed = true; hasFailed; failing += 1) {
      const [one, other] = [open("one"), open("two")];
      hasFailed = withoutMemory(failing, () => void one.stream.push(one.held));
      failures += Number(hasFailed);
      const sent = other.stream.push(other.held);
      const tail = other.stream.tail(other.stream.metered(), 1n);
      const text = new TextDecoder().decode(Buffer.concat([sent ?? new Uint8Array(0), tail]));
      expect([text.includes("oneone"), text.includes("twotwo")]).toEqual([false, true]);
    }
    expect(failures).toBeGreaterThan(1);
  });
