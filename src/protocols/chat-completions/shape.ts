import type { CountedText } from "../counted-text.ts";
import {
  cutPlaces,
  FILLED,
  GIVEN,
  integerAt,
  LIST,
  type Mark,
  OBJECT,
  type Place,
  place,
  type Shape,
  STRING,
} from "../scan.ts";

/** What is looked for in a chunk. */
export interface ChunkShape extends Shape {
  readonly model: Place;
  readonly id: Place;
  readonly created: Place;
  readonly usage: Place;
  readonly choices: Place;
  /** Text, thinking or a tool call came with this chunk. */
  readonly content: Mark;
  /** The answer's text in this chunk. */
  readonly text: CountedText;
  /** The choices, as triples of index, whether it has a finish reason (1 or 0), and whether a tool is called in it. */
  readonly told: readonly number[];
}

/** The places to look at in the chunks of one stream. `padding` are names of members that are not passed on. */
export function chunkShape(padding: readonly string[]): ChunkShape {
  const content = { on: false };
  const text = { ascii: 0, wide: 0 };
  const told: number[] = [];
  const cuts: number[] = [];

  const said = place({ of: FILLED, marks: content, counts: text });
  const given = place({ others: place({ of: STRING, counts: text }) });
  const toolCalls = place({
    of: FILLED,
    marks: content,
    items: place({ members: { function: given, custom: given } }),
  });
  const functionCall = place({ ...given.look, of: FILLED, marks: content });
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
  const index = place();
  const finish = place();
  const choice = place({
    members: { index, delta, finish_reason: finish },
    ended(bytes) {
      const calls = toolCalls.kind === LIST || functionCall.kind === OBJECT;
      told.push(integerAt(bytes, index), finish.kind === STRING ? 1 : 0, calls ? 1 : 0);
    },
  });

  const [model, id, created] = [place(), place(), place()];
  const usage = place({ of: GIVEN, cuts });
  const error = place({ of: GIVEN });
  const choices = place({ items: choice });
  return {
    root: place({
      members: { ...cutPlaces(padding, cuts), model, id, created, usage, error, choices },
    }),
    model,
    id,
    created,
    usage,
    error,
    choices,
    content,
    text,
    told,
    cuts,
    clear() {
      content.on = false;
      text.ascii = text.wide = 0;
      if (told.length > 0) told.length = 0;
      if (cuts.length > 0) cuts.length = 0;
    },
  };
}
