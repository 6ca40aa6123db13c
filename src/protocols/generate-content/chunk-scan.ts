import {
  BROKEN,
  type JsonScan,
  keyIs,
  type MemberWalk,
  openScan,
  skipSpace,
  skipValue,
  smallInteger,
  walkItems,
  walkMembers,
} from "../../core/json-scan.ts";
import type { Edit } from "../../core/json-splice.ts";
import { wideBytes } from "../counted-text.ts";

/** What the relay has to know of one chunk. One object is used for all chunks of a stream; -1 stands for absent. */
export interface ChunkFacts {
  /** The chunk is a JSON object. */
  valid: boolean;
  /** `usageMetadata` that is an object. */
  usageStart: number;
  usageEnd: number;
  errorStart: number;
  errorEnd: number;
  /** There is at least one candidate. */
  someCandidate: boolean;
  /** The prompt was blocked. */
  blocked: boolean;
  /** A member stands at the top that says more than who answered and what it cost. */
  saysMore: boolean;
  /** A member stands at the top that is ours to write, or padding. */
  hasStale: boolean;
  /** Something of the answer itself came: text, thinking, a call, an image. */
  hasContent: boolean;
  /** A candidate says something beside its content: citations, grounding. */
  hasNotes: boolean;
  /** The candidates, as pairs of index and whether it has a finish reason (1) or not (0). */
  readonly candidates: number[];
  /** Where `groundingMetadata` stands, as triples of the candidate's index, `from` and `to`. */
  readonly grounding: number[];
  /** Bytes of answer text and of thinking by kind, and images. */
  ascii: number;
  wide: number;
  thoughtAscii: number;
  thoughtWide: number;
  images: number;
  /** What gives every candidate a content with a role and at least one part, in order. */
  readonly repairs: Edit[];
  /** What takes the finish reasons out. */
  readonly finishCuts: Edit[];
}

const key = (name: string): Uint8Array => new TextEncoder().encode(`"${name}"`);
const CANDIDATES = key("candidates");
const USAGE = key("usageMetadata");
const ERROR = key("error");
const FEEDBACK = key("promptFeedback");
const BLOCK_REASON = key("blockReason");
const CREDIT = key("credit");
/** Members at the top that say nothing of the answer: candidates that are no list, and what is the same in every chunk. */
const SAYS_NOTHING = ["candidates", "modelVersion", "responseId", "createTime"].map(key);
const CONTENT = key("content");
const FINISH_REASON = key("finishReason");
const FINISH_MESSAGE = key("finishMessage");
const INDEX = key("index");
const GROUNDING = key("groundingMetadata");
const ROLE = key("role");
const PARTS = key("parts");
const TEXT = key("text");
const THOUGHT = key("thought");
const SIGNATURE = key("thoughtSignature");
const INLINE = key("inlineData");
const UNSPECIFIED = '"FINISH_REASON_UNSPECIFIED"'.length;
const QUOTE = 0x22;
const OBJECT = 0x7b;
const LIST = 0x5b;
const NULL = 0x6e;
const TRUE = 0x74;

const EMPTY_PART = '{"text":""}';
const EMPTY_CONTENT = `{"role":"model","parts":[${EMPTY_PART}]}`;

/** Reads chunks in place, without building a value for each. */
export interface ChunkScanner {
  readonly facts: ChunkFacts;
  /** Fills `facts` from the chunk at `[start, end)`. */
  scan(bytes: Uint8Array, start: number, end: number): void;
}

/** A scanner for one stream. `padding` are names of members at the top that are not passed on. */
export function createChunkScanner(padding: readonly string[]): ChunkScanner {
  const stale = [CREDIT, ...padding.map(key)];
  const facts = {
    candidates: [] as number[],
    grounding: [] as number[],
    repairs: [] as Edit[],
    finishCuts: [] as Edit[],
  } as unknown as ChunkFacts;
  reset(facts);
  let bytes: Uint8Array = new Uint8Array(0);
  let scan: JsonScan = openScan(bytes);
  const part = {
    textStart: -1,
    textEnd: -1,
    dataStart: -1,
    dataEnd: -1,
    thought: false,
    image: false,
    members: 0,
    signed: false,
  };
  const content = {
    isObject: false,
    start: -1,
    role: false,
    partsStart: -1,
    partsEnd: -1,
    isList: false,
    parts: 0,
    members: 0,
  };
  const candidate = {
    index: 0,
    hasIndex: false,
    finished: false,
    contentStart: -1,
    contentEnd: -1,
    previousEnd: -1,
    members: 0,
    groundStart: -1,
    groundEnd: -1,
  };

  const partMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const valueEnd = skipValue(scan, valueStart, depth);
    part.members += 1;
    if (bytes[valueStart] === NULL) return valueEnd;
    if (keyIs(bytes, keyStart, keyEnd, TEXT)) {
      part.textStart = valueStart;
      part.textEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, THOUGHT)) part.thought = bytes[valueStart] === TRUE;
    else if (keyIs(bytes, keyStart, keyEnd, SIGNATURE)) part.signed = true;
    else {
      part.dataStart = valueStart;
      part.dataEnd = valueEnd;
      part.image = keyIs(bytes, keyStart, keyEnd, INLINE);
    }
    return valueEnd;
  };

  const countText = (start: number, end: number): void => {
    const wide = wideBytes(bytes, start, end);
    const ascii = end - start - wide;
    if (part.thought) {
      facts.thoughtAscii += ascii;
      facts.thoughtWide += wide;
    } else {
      facts.ascii += ascii;
      facts.wide += wide;
    }
  };

  const partItem = (valueStart: number, depth: number): number => {
    content.parts += 1;
    if (bytes[valueStart] !== OBJECT) return skipValue(scan, valueStart, depth);
    part.textStart = part.dataStart = -1;
    part.thought = part.image = part.signed = false;
    part.members = 0;
    const valueEnd = walkMembers(scan, valueStart, depth, partMember);
    if (valueEnd === BROKEN) return BROKEN;
    if (part.members === 0) facts.repairs.push({ start: valueStart, end: valueEnd, text: EMPTY_PART });
    if (part.textEnd - part.textStart > 2 && part.textStart !== -1) {
      facts.hasContent = true;
      countText(part.textStart + 1, part.textEnd - 1);
    }
    if (part.dataStart !== -1) {
      facts.hasContent = true;
      if (part.image) facts.images += 1;
      else countText(part.dataStart, part.dataEnd);
    } else if (part.signed) facts.hasContent = true;
    return valueEnd;
  };

  const contentMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    content.members += 1;
    if (!keyIs(bytes, keyStart, keyEnd, PARTS)) {
      if (keyIs(bytes, keyStart, keyEnd, ROLE)) content.role = bytes[valueStart] === QUOTE;
      return skipValue(scan, valueStart, depth);
    }
    content.partsStart = valueStart;
    content.isList = bytes[valueStart] === LIST;
    content.partsEnd = content.isList
      ? walkItems(scan, valueStart, depth, partItem)
      : skipValue(scan, valueStart, depth);
    return content.partsEnd;
  };

  /** Gives a content what clients need of it: a role, and one part at least. */
  const repairContent = (start: number, end: number): void => {
    if (start === -1 || !content.isObject || content.members === 0) {
      if (start !== -1) facts.repairs.push({ start, end, text: EMPTY_CONTENT });
      return;
    }
    if (!content.role) facts.repairs.push({ start: start + 1, end: start + 1, text: '"role":"model",' });
    if (content.partsStart === -1)
      facts.repairs.push({ start: start + 1, end: start + 1, text: `"parts":[${EMPTY_PART}],` });
    else if (!content.isList || content.parts === 0)
      facts.repairs.push({ start: content.partsStart, end: content.partsEnd, text: `[${EMPTY_PART}]` });
  };

  const contentValue = (valueStart: number, depth: number): number => {
    content.isObject = bytes[valueStart] === OBJECT;
    content.role = content.isList = false;
    content.partsStart = -1;
    content.parts = content.members = 0;
    return content.isObject
      ? walkMembers(scan, valueStart, depth, contentMember)
      : skipValue(scan, valueStart, depth);
  };

  const candidateMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const isNull = bytes[valueStart] === NULL;
    const isContent = keyIs(bytes, keyStart, keyEnd, CONTENT);
    const valueEnd = isContent ? contentValue(valueStart, depth) : skipValue(scan, valueStart, depth);
    if (valueEnd === BROKEN) return BROKEN;
    if (isContent) {
      candidate.contentStart = valueStart;
      candidate.contentEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, FINISH_REASON)) {
      candidate.finished = isReason(bytes, valueStart, valueEnd);
      facts.finishCuts.push(cutOf(keyStart, valueEnd));
    } else if (keyIs(bytes, keyStart, keyEnd, INDEX)) {
      candidate.index = smallInteger(bytes, valueStart, valueEnd);
      candidate.hasIndex = true;
    } else if (!isNull && !keyIs(bytes, keyStart, keyEnd, FINISH_MESSAGE)) {
      facts.hasNotes = true;
      if (keyIs(bytes, keyStart, keyEnd, GROUNDING)) {
        candidate.groundStart = valueStart;
        candidate.groundEnd = valueEnd;
      }
    }
    candidate.members += 1;
    candidate.previousEnd = valueEnd;
    return valueEnd;
  };

  /** Takes a member out with the comma before it, or after it when it is the first. */
  const cutOf = (keyStart: number, valueEnd: number): Edit => {
    if (candidate.members > 0) return { start: candidate.previousEnd, end: valueEnd, text: "" };
    const next = skipSpace(scan, valueEnd);
    return { start: keyStart, end: bytes[next] === 0x2c ? skipSpace(scan, next + 1) : valueEnd, text: "" };
  };

  const candidateItem = (valueStart: number, depth: number): number => {
    if (bytes[valueStart] !== OBJECT) return skipValue(scan, valueStart, depth);
    facts.someCandidate = true;
    candidate.index = candidate.members = 0;
    candidate.hasIndex = false;
    candidate.finished = false;
    candidate.contentStart = candidate.previousEnd = candidate.groundStart = -1;
    const repaired = facts.repairs.length;
    const cuts = facts.finishCuts.length;
    const valueEnd = walkMembers(scan, valueStart, depth, candidateMember);
    if (valueEnd === BROKEN) return BROKEN;
    if (candidate.contentStart === -1) {
      const comma = candidate.members === 0 ? "" : ",";
      facts.repairs.push({
        start: valueStart + 1,
        end: valueStart + 1,
        text: `"content":${EMPTY_CONTENT}${comma}`,
      });
    } else repairContent(candidate.contentStart, candidate.contentEnd);
    if (candidate.contentStart === -1 && candidate.members === 1 && facts.finishCuts.length > cuts) {
      // Nothing would be left of it but its content.
      facts.finishCuts[cuts] = { start: valueStart, end: valueEnd, text: `{"content":${EMPTY_CONTENT}}` };
    }
    if (facts.repairs.length > repaired + 1) facts.repairs.sort((a, b) => a.start - b.start);
    // An index of 0 may be left out; in a list where all are, the place says which it is.
    const place = facts.candidates.length / 2;
    if (!candidate.hasIndex && place > 0 && facts.candidates[2 * place - 2] === place - 1)
      candidate.index = place;
    facts.candidates.push(candidate.index, candidate.finished ? 1 : 0);
    if (candidate.groundStart !== -1)
      facts.grounding.push(candidate.index, candidate.groundStart, candidate.groundEnd);
    return valueEnd;
  };

  const feedbackMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const valueEnd = skipValue(scan, valueStart, depth);
    if (valueEnd !== BROKEN && keyIs(bytes, keyStart, keyEnd, BLOCK_REASON))
      facts.blocked = isReason(bytes, valueStart, valueEnd);
    return valueEnd;
  };

  const isOneOf = (keyStart: number, keyEnd: number, names: readonly Uint8Array[]): boolean => {
    for (const name of names) if (keyIs(bytes, keyStart, keyEnd, name)) return true;
    return false;
  };

  const chunkMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const first = bytes[valueStart];
    if (first === LIST && keyIs(bytes, keyStart, keyEnd, CANDIDATES))
      return walkItems(scan, valueStart, depth, candidateItem);
    if (first === OBJECT && keyIs(bytes, keyStart, keyEnd, FEEDBACK)) {
      facts.saysMore = true;
      return walkMembers(scan, valueStart, depth, feedbackMember);
    }
    const valueEnd = skipValue(scan, valueStart, depth);
    if (keyIs(bytes, keyStart, keyEnd, USAGE)) {
      if (first !== OBJECT) return valueEnd;
      facts.usageStart = valueStart;
      facts.usageEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, ERROR)) {
      if (first === NULL) return valueEnd;
      facts.errorStart = valueStart;
      facts.errorEnd = valueEnd;
    } else if (isOneOf(keyStart, keyEnd, stale)) facts.hasStale = true;
    else if (!isOneOf(keyStart, keyEnd, SAYS_NOTHING)) facts.saysMore = true;
    return valueEnd;
  };

  return {
    facts,
    scan(chunk, start, end) {
      bytes = chunk;
      scan = openScan(chunk, end);
      reset(facts);
      const objectStart = skipSpace(scan, start);
      if (objectStart >= end || chunk[objectStart] !== OBJECT) return;
      const after = walkMembers(scan, objectStart, 0, chunkMember);
      facts.valid = after !== BROKEN && skipSpace(scan, after) === end;
    },
  };
}

/** Written out, because it runs for every chunk. */
function reset(facts: ChunkFacts): void {
  facts.valid = false;
  facts.usageStart = -1;
  facts.usageEnd = -1;
  facts.errorStart = -1;
  facts.errorEnd = -1;
  facts.someCandidate = false;
  facts.blocked = false;
  facts.saysMore = false;
  facts.hasStale = false;
  facts.hasContent = false;
  facts.hasNotes = false;
  if (facts.candidates.length > 0) facts.candidates.length = 0;
  if (facts.grounding.length > 0) facts.grounding.length = 0;
  facts.ascii = 0;
  facts.wide = 0;
  facts.thoughtAscii = 0;
  facts.thoughtWide = 0;
  facts.images = 0;
  if (facts.repairs.length > 0) facts.repairs.length = 0;
  if (facts.finishCuts.length > 0) facts.finishCuts.length = 0;
}

/** Whether a value names a reason: a word but the one for none, or the number that some servers write for it. */
function isReason(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[start] === QUOTE) {
    // The two enumerations call it FINISH_REASON_UNSPECIFIED and BLOCK_REASON_UNSPECIFIED (or BLOCKED_…).
    const isNone = end - start >= UNSPECIFIED - 3 && endsWith(bytes, end - 1, UNSPECIFIED_END);
    return end - start > 2 && !isNone;
  }
  return smallInteger(bytes, start, end) > 0;
}

const UNSPECIFIED_END = new TextEncoder().encode("_UNSPECIFIED");

function endsWith(bytes: Uint8Array, end: number, text: Uint8Array): boolean {
  return text.every((byte, i) => bytes[end - text.length + i] === byte);
}
