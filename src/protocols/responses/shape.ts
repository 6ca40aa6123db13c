import { GIVEN, OBJECTS, place, STRING } from "../scan.ts";

const content = { on: false };
const text = { ascii: 0, wide: 0 };
const cuts: number[] = [];

const said = place({ of: STRING, marks: content, counts: text });
const [type, number, response, item, keptIndex] = [
  place(),
  place(),
  place({ of: OBJECTS }),
  place({ of: OBJECTS }),
  place(),
];
const error = place({ of: GIVEN });

/** What is looked for in an event. */
export const EVENT = {
  root: place({
    members: { type, sequence_number: number, response, item, output_index: keptIndex, delta: said, error },
  }),
  type,
  number,
  /** The response object, where the event has one. */
  response,
  item,
  outputIndex: keptIndex,
  error,
  /** A piece of the answer came with this event. */
  content,
  /** Its text. */
  text,
  said,
  cuts,
  clear() {
    content.on = false;
    text.ascii = text.wide = 0;
    if (cuts.length > 0) cuts.length = 0;
  },
};
