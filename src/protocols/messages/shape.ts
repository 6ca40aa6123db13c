import { GIVEN, OBJECT, OBJECTS, place, STRING } from "../scan.ts";

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
const messageModel = place();
const messageUsage = place({ of: OBJECTS });
const message = place({ of: OBJECTS, members: { model: messageModel, usage: messageUsage } });
const [type, credit] = [place(), place()];
const usage = place({ of: OBJECTS });
const error = place({ of: GIVEN });

/** What is looked for in an event. */
export const EVENT = {
  root: place({ members: { type, delta, content_block: block, message, usage, error, credit } }),
  type,
  /** `message` where it is an object, and the two of its members that clients need. */
  message,
  messageModel,
  messageUsage,
  usage,
  error,
  /** A `credit` of the provider's own, which is another gateway. */
  credit,
  stopReason,
  block,
  blockType,
  /** A whole input that a block begins with. */
  input,
  /** Text, thinking, a signature or a part of a tool call came with this event. */
  content,
  /** The answer's text in this event. */
  text,
  /** The last text of its delta. */
  said,
  cuts,
  clear() {
    content.on = false;
    text.ascii = text.wide = 0;
    if (cuts.length > 0) cuts.length = 0;
  },
};
