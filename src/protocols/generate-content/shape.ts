import { smallInteger } from "../../core/json/json-scan.ts";
import type { Edit } from "../../core/json/json-splice.ts";
import { countText, wideBytes } from "../counted-text.ts";
import {
  FILLED,
  GIVEN,
  integerAt,
  LIST,
  OBJECT,
  OBJECTS,
  type Place,
  place,
  STRING,
  STRINGS,
  TRUE,
  withCuts,
} from "../scan.ts";

const EMPTY_PART = '{"text":""}';
const EMPTY_CONTENT = `{"role":"model","parts":[${EMPTY_PART}]}`;

const [more, said, notes] = [{ on: false }, { on: false }, { on: false }];
const text = { ascii: 0, wide: 0 };
const thoughts = { ascii: 0, wide: 0 };
const told: number[] = [];
const grounding: number[] = [];
const images: number[] = [];
const edits: Edit[] = [];
const cuts: number[] = [];
const lists = [told, grounding, images, edits, cuts];

const words = place({ of: FILLED, marks: said });
const thought = place({ of: TRUE });
const image = place({ of: GIVEN, marks: said });
const data = place({ of: GIVEN, marks: said });
const part: Place = place({
  members: { text: words, thought, thoughtSignature: place({ of: GIVEN, marks: said }), inlineData: image },
  others: data,
  // Whether a part is thinking may stand behind its text, so it is counted at its end.
  ended(bytes) {
    if (part.size === 0) edits.push({ start: part.start, end: part.end, text: EMPTY_PART });
    const into = thought.start === -1 ? text : thoughts;
    if (words.start !== -1) countText(bytes, words.start, words.end, into);
    if (image.start > data.start) images.push(image.start);
    else if (data.start !== -1) {
      const wide = wideBytes(bytes, data.start, data.end);
      into.ascii += data.end - data.start - wide;
      into.wide += wide;
    }
  },
});

const role = place({ of: STRINGS });
const parts = place({ items: part });
const content = place({ members: { role, parts } });
const [finish, index] = [place(), place()];
const groundingMetadata = place({ of: GIVEN, marks: notes });
const candidate: Place = place({
  members: { content, finishReason: finish, finishMessage: place(), index, groundingMetadata },
  others: place({ of: GIVEN, marks: notes }),
  ended(bytes) {
    if (content.kind !== OBJECT || role.start === -1 || parts.kind !== LIST) mendContent();
    const at = told.length / 2;
    // An index of 0 may be left out; in a list where all are, the place says which it is.
    const isNext = index.start === -1 && at > 0 && told[2 * at - 2] === at - 1;
    const number = isNext ? at : integerAt(bytes, index);
    told.push(number, isReason(bytes, finish) ? 1 : 0);
    if (groundingMetadata.start !== -1)
      grounding.push(number, groundingMetadata.start, groundingMetadata.end);
  },
});

/** Gives a content what clients need of it: a role, and one part at least. They forget the whole turn otherwise. */
function mendContent(): void {
  const insert = ({ start }: Place, text: string): void =>
    void edits.push({ start: start + 1, end: start + 1, text });
  const replace = ({ start, end }: Place, text: string): void => void edits.push({ start, end, text });
  if (content.start === -1)
    return insert(candidate, `"content":${EMPTY_CONTENT}${candidate.size === 0 ? "" : ","}`);
  if (content.kind !== OBJECT) return replace(content, EMPTY_CONTENT);
  if (role.start === -1) insert(content, '"role":"model",');
  if (parts.start === -1) insert(content, `"parts":[${EMPTY_PART}],`);
  else if (parts.kind !== LIST) replace(parts, `[${EMPTY_PART}]`);
}

const [blockReason, modelVersion, known] = [place(), place(), place()];
const usage = place({ of: OBJECTS });
const error = place({ of: GIVEN });
const root = place({
  members: {
    candidates: place({ items: candidate }),
    usageMetadata: usage,
    error,
    promptFeedback: place({ marks: more, members: { blockReason } }),
    // The same in every chunk.
    modelVersion,
    responseId: known,
    createTime: known,
  },
  others: place({ marks: more }),
});

/** What is looked for in a chunk. */
export const CHUNK = {
  root: withCuts(root, ["credit"], cuts),
  error,
  /** `usageMetadata` that is an object. */
  usage,
  modelVersion,
  /** Why the prompt was blocked. */
  blockReason,
  /** A member stands at the top that says more than who answered and what it cost. */
  more,
  /** Something of the answer itself came: text, thinking, a call, an image. */
  content: said,
  /** A candidate says something beside its content: citations, grounding. */
  notes,
  /** The candidates, as pairs of index and whether it has a finish reason (1) or not (0). */
  told,
  /** Where `groundingMetadata` stands, as triples of the candidate's index, `from` and `to`. */
  grounding,
  text,
  thoughts,
  /** The text of the last part, and whether that is thinking. */
  words,
  thought,
  /** Where images stand. */
  images,
  /** What gives every candidate a content with a role and at least one part. */
  edits,
  cuts,
  clear() {
    more.on = said.on = notes.on = false;
    text.ascii = text.wide = thoughts.ascii = thoughts.wide = 0;
    for (const list of lists) if (list.length > 0) list.length = 0;
  },
};

const UNSPECIFIED = new TextEncoder().encode('_UNSPECIFIED"');

/** Whether a value names a reason: a word but the one for none, or the number that some servers write for it. */
export function isReason(bytes: Uint8Array, { kind, start, end }: Place): boolean {
  if (start === -1) return false;
  if (kind !== STRING) return smallInteger(bytes, start, end) > 0;
  // The two enumerations call it FINISH_REASON_UNSPECIFIED and BLOCK_REASON_UNSPECIFIED (or BLOCKED_…).
  const from = end - UNSPECIFIED.length;
  return from <= start || !UNSPECIFIED.every((byte, i) => bytes[from + i] === byte);
}
