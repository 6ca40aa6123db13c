import { smallInteger } from "../../core/json-scan.ts";
import type { Edit } from "../../core/json-splice.ts";
import { type CountedText, countText, wideBytes } from "../counted-text.ts";
import {
  cutPlaces,
  FILLED,
  GIVEN,
  integerAt,
  LIST,
  type Mark,
  OBJECT,
  OBJECTS,
  type Place,
  place,
  type Shape,
  STRING,
  STRINGS,
  TRUE,
} from "../scan.ts";

/** What the places of a chunk fill together. */
interface ChunkFacts {
  /** A member stands at the top that says more than who answered and what it cost. */
  readonly more: Mark;
  /** Something of the answer itself came: text, thinking, a call, an image. */
  readonly content: Mark;
  /** A candidate says something beside its content: citations, grounding. */
  readonly notes: Mark;
  /** The candidates, as pairs of index and whether it has a finish reason (1) or not (0). */
  readonly told: number[];
  /** Where `groundingMetadata` stands, as triples of the candidate's index, `from` and `to`. */
  readonly grounding: number[];
  readonly text: CountedText;
  readonly thoughts: CountedText;
  /** Where images stand. */
  readonly images: number[];
  /** What gives every candidate a content with a role and at least one part. */
  readonly edits: Edit[];
}

/** What is looked for in a chunk. */
export interface ChunkShape extends Shape, Readonly<ChunkFacts> {
  /** `usageMetadata` that is an object. */
  readonly usage: Place;
  /** Why the prompt was blocked. */
  readonly blockReason: Place;
}

const EMPTY_PART = '{"text":""}';
const EMPTY_CONTENT = `{"role":"model","parts":[${EMPTY_PART}]}`;

/** The places to look at in the chunks of one stream. `padding` are names of members that are not passed on. */
export function chunkShape(padding: readonly string[]): ChunkShape {
  const cuts: number[] = [];
  const facts: ChunkFacts = {
    more: { on: false },
    content: { on: false },
    notes: { on: false },
    told: [],
    grounding: [],
    text: { ascii: 0, wide: 0 },
    thoughts: { ascii: 0, wide: 0 },
    images: [],
    edits: [],
  };
  const { more, content, notes, text, thoughts } = facts;
  const lists = [cuts, facts.told, facts.grounding, facts.images, facts.edits];
  const blockReason = place();
  const usage = place({ of: OBJECTS });
  const error = place({ of: GIVEN });
  const members = {
    ...cutPlaces(["credit", ...padding], cuts),
    candidates: candidatesPlace(facts),
    usageMetadata: usage,
    error,
    promptFeedback: place({ marks: more, members: { blockReason } }),
    // The same in every chunk.
    modelVersion: place(),
    responseId: place(),
    createTime: place(),
  };
  return {
    ...facts,
    root: place({ members, others: place({ marks: more }) }),
    error,
    usage,
    blockReason,
    cuts,
    clear() {
      more.on = content.on = notes.on = false;
      text.ascii = text.wide = thoughts.ascii = thoughts.wide = 0;
      for (const list of lists) if (list.length > 0) list.length = 0;
    },
  };
}

function candidatesPlace(facts: ChunkFacts): Place {
  const { notes, told } = facts;
  const role = place({ of: STRINGS });
  const parts = partsPlace(facts);
  const content = place({ members: { role, parts } });
  const [finish, index] = [place(), place()];
  const grounding = place({ of: GIVEN, marks: notes });
  const candidate = place({
    members: {
      content,
      finishReason: finish,
      finishMessage: place(),
      index,
      groundingMetadata: grounding,
    },
    others: place({ of: GIVEN, marks: notes }),
    ended(bytes) {
      if (content.kind !== OBJECT || role.start === -1 || parts.kind !== LIST)
        facts.edits.push(...contentEdits({ candidate, content, role, parts }));
      const at = told.length / 2;
      // An index of 0 may be left out; in a list where all are, the place says which it is.
      const isNext = index.start === -1 && at > 0 && told[2 * at - 2] === at - 1;
      const number = isNext ? at : integerAt(bytes, index);
      told.push(number, isReason(bytes, finish) ? 1 : 0);
      if (grounding.start !== -1) facts.grounding.push(number, grounding.start, grounding.end);
    },
  });
  return place({ items: candidate });
}

/** The parts of a content. Whether a part is thinking may stand behind its text, so it is counted at its end. */
function partsPlace({ content, text, thoughts, images, edits }: ChunkFacts): Place {
  const said = place({ of: FILLED, marks: content });
  const thought = place({ of: TRUE });
  const signature = place({ of: GIVEN, marks: content });
  const image = place({ of: GIVEN, marks: content });
  const data = place({ of: GIVEN, marks: content });
  const part = place({
    members: { text: said, thought, thoughtSignature: signature, inlineData: image },
    others: data,
    ended(bytes) {
      if (part.size === 0) edits.push({ start: part.start, end: part.end, text: EMPTY_PART });
      const into = thought.start === -1 ? text : thoughts;
      if (said.start !== -1) countText(bytes, said.start, said.end, into);
      if (image.start > data.start) images.push(image.start);
      else if (data.start !== -1) {
        const wide = wideBytes(bytes, data.start, data.end);
        into.ascii += data.end - data.start - wide;
        into.wide += wide;
      }
    },
  });
  return place({ items: part });
}

/** Gives a content what clients need of it: a role, and one part at least. They forget the whole turn otherwise. */
function contentEdits(
  of: Readonly<Record<"candidate" | "content" | "role" | "parts", Place>>,
): readonly Edit[] {
  const { candidate, content, role, parts } = of;
  const insert = (at: number, text: string): Edit => ({ start: at + 1, end: at + 1, text });
  const replace = ({ start, end }: Place, text: string): Edit => ({ start, end, text });
  if (content.start === -1)
    return [insert(candidate.start, `"content":${EMPTY_CONTENT}${candidate.size === 0 ? "" : ","}`)];
  if (content.kind !== OBJECT) return [replace(content, EMPTY_CONTENT)];
  const edits: Edit[] = [];
  if (role.start === -1) edits.push(insert(content.start, '"role":"model",'));
  if (parts.start === -1) edits.push(insert(content.start, `"parts":[${EMPTY_PART}],`));
  else if (parts.kind !== LIST) edits.push(replace(parts, `[${EMPTY_PART}]`));
  return edits;
}

const UNSPECIFIED = new TextEncoder().encode('_UNSPECIFIED"');

/** Whether a value names a reason: a word but the one for none, or the number that some servers write for it. */
export function isReason(bytes: Uint8Array, { kind, start, end }: Place): boolean {
  if (start === -1) return false;
  if (kind !== STRING) return smallInteger(bytes, start, end) > 0;
  // The two enumerations call it FINISH_REASON_UNSPECIFIED and BLOCK_REASON_UNSPECIFIED (or BLOCKED_…).
  const from = end - UNSPECIFIED.length;
  return from <= start || !UNSPECIFIED.every((byte, i) => bytes[from + i] === byte);
}
