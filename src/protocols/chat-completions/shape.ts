import { FILLED, GIVEN, integerAt, LIST, OBJECT, place, STRING } from "../scan.ts";

const content = { on: false };
const text = { ascii: 0, wide: 0 };
const told: number[] = [];
const cuts: number[] = [];

const said = place({ of: FILLED, marks: content, counts: text });
const given = { others: place({ of: STRING, counts: text }) };
const call = place({ members: { function: place(given), custom: place(given) } });
const toolCalls = place({ of: FILLED, marks: content, items: call });
const functionCall = place({ ...given, of: FILLED, marks: content });
const delta = place({
  members: {
    role: place(),
    content: said,
    reasoning_content: said,
    // `reasoning_details` says it again.
    reasoning: said,
    refusal: said,
    tool_calls: toolCalls,
    function_call: functionCall,
  },
  others: place({ of: FILLED, marks: content }),
});
const [index, finish] = [place(), place()];
const choice = place({
  members: { index, delta, finish_reason: finish },
  ended(bytes) {
    const calls = toolCalls.kind === LIST || functionCall.kind === OBJECT;
    told.push(integerAt(bytes, index), finish.kind === STRING ? 1 : 0, calls ? 1 : 0);
  },
});
const members = {
  model: place(),
  id: place(),
  created: place(),
  usage: place({ of: GIVEN, cuts }),
  error: place({ of: GIVEN }),
  choices: place({ items: choice }),
};

/** What is looked for in a chunk. */
export const CHUNK = {
  ...members,
  root: place({ members }),
  /** Text, thinking or a tool call came with this chunk. */
  content,
  /** The answer's text in this chunk. */
  text,
  /** The last text in the last of its choices. */
  said,
  /** The choices, as triples of index, whether it has a finish reason (1 or 0), and whether a tool is called in it. */
  told,
  cuts,
  clear() {
    content.on = false;
    text.ascii = text.wide = 0;
    if (told.length > 0) told.length = 0;
    if (cuts.length > 0) cuts.length = 0;
  },
};
