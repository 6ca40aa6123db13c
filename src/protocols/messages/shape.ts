import type { CountedText } from "../counted-text.ts";
import {
  cutPlaces,
  GIVEN,
  type Mark,
  OBJECT,
  OBJECTS,
  type Place,
  place,
  type Shape,
  STRING,
} from "../scan.ts";

/** What is looked for in an event. */
export interface EventShape extends Shape {
  readonly type: Place;
  /** `message` where it is an object, and the two of its members that clients need. */
  readonly message: Place;
  readonly messageModel: Place;
  readonly messageUsage: Place;
  readonly usage: Place;
  /** A `credit` of the provider's own, which is another gateway. */
  readonly credit: Place;
  readonly stopReason: Place;
  readonly block: Place;
  readonly blockType: Place;
  /** A whole input that a block begins with. */
  readonly input: Place;
  /** Text, thinking, a signature or a part of a tool call came with this event. */
  readonly content: Mark;
  /** The answer's text in this event. */
  readonly text: CountedText;
}

/** The places to look at in the events of one stream. `padding` are names of members that are not passed on. */
export function eventShape(padding: readonly string[]): EventShape {
  const content = { on: false };
  const text = { ascii: 0, wide: 0 };
  const cuts: number[] = [];

  const said = place({ of: STRING | OBJECTS, marks: content, counts: text });
  const stopReason = place({ of: STRING });
  const delta = place({
    members: {
      type: place(),
      stop_reason: stopReason,
      text: said,
      thinking: said,
      partial_json: said,
      name: said,
    },
    others: place({ of: STRING | OBJECTS, marks: content }),
  });
  const begun = place({ of: STRING, marks: content, counts: text });
  const blockType = place();
  const input = place({ of: OBJECT });
  const block = place({
    of: OBJECTS,
    members: { type: blockType, input, text: begun, thinking: begun, partial_json: begun, name: begun },
  });
  const [type, messageModel, credit] = [place(), place(), place()];
  const messageUsage = place({ of: OBJECTS });
  const message = place({
    of: OBJECTS,
    members: { model: messageModel, usage: messageUsage },
  });
  const usage = place({ of: OBJECTS });
  const error = place({ of: GIVEN });
  const members = { type, delta, content_block: block, message, usage, error, credit };
  return {
    root: place({ members: { ...cutPlaces(padding, cuts), ...members } }),
    type,
    message,
    messageModel,
    messageUsage,
    usage,
    error,
    credit,
    stopReason,
    block,
    blockType,
    input,
    content,
    text,
    cuts,
    clear() {
      content.on = false;
      text.ascii = text.wide = 0;
      if (cuts.length > 0) cuts.length = 0;
    },
  };
}
