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
import { countText } from "../counted-text.ts";

/**
 * Where the parts of one chunk stand that the relay has to look at. One object is used for all chunks of a stream;
 * -1 stands for absent.
 */
export interface ChunkFacts {
  /** The chunk is a JSON object. */
  valid: boolean;
  modelStart: number;
  modelEnd: number;
  idStart: number;
  idEnd: number;
  createdStart: number;
  createdEnd: number;
  /** `usage` with a value that is not null. */
  usageStart: number;
  usageEnd: number;
  errorStart: number;
  errorEnd: number;
  hasChoices: boolean;
  /** `choices` has at least one item. */
  someChoice: boolean;
  /** Text, thinking or a tool call came with this chunk. */
  hasContent: boolean;
  /** A tool call (or the older function call) came with this chunk. */
  hasToolCall: boolean;
  /** Where in `cuts` the pair of `usage` stands. */
  usageCut: number;
  /** The chunk's choices, as pairs of index and whether it has a finish reason (1) or not (0). */
  readonly choices: number[];
  /** Bytes of answer text in the chunk by kind. */
  ascii: number;
  wide: number;
  /** Members to take out, as pairs of `from` and `to`. */
  readonly cuts: number[];
}

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
const MODEL = ascii('"model"');
const ID = ascii('"id"');
const CREATED = ascii('"created"');
const USAGE = ascii('"usage"');
const ERROR = ascii('"error"');
const CHOICES = ascii('"choices"');
const INDEX = ascii('"index"');
const DELTA = ascii('"delta"');
const FINISH_REASON = ascii('"finish_reason"');
const ROLE = ascii('"role"');
const TOOL_CALLS = ascii('"tool_calls"');
const FUNCTION = ascii('"function"');
const CUSTOM = ascii('"custom"');
const FUNCTION_CALL = ascii('"function_call"');
/** Members of a delta whose text is output; `reasoning_details` says again what `reasoning` says. */
const TEXTS = ['"content"', '"reasoning_content"', '"reasoning"', '"refusal"'].map(ascii);
const NULL = 0x6e;
const QUOTE = 0x22;
const OBJECT = 0x7b;
const LIST = 0x5b;

/** Reads chunks in place, without building a value for each. */
export interface ChunkScanner {
  readonly facts: ChunkFacts;
  /** Fills `facts` from the chunk at `[start, end)`. */
  scan(bytes: Uint8Array, start: number, end: number): void;
}

/** A scanner for one stream. `padding` are the quoted names of members to cut. */
export function createChunkScanner(padding: readonly string[]): ChunkScanner {
  const paddingKeys = padding.map((name) => ascii(JSON.stringify(name)));
  const facts = { cuts: [] as number[], choices: [] as number[] } as unknown as ChunkFacts;
  reset(facts);
  let bytes: Uint8Array = new Uint8Array(0);
  let scan: JsonScan = openScan(bytes);
  let previousEnd = -1;
  let anyKept = false;
  let choiceIndex = 0;
  let choiceFinished = false;

  const functionMember: MemberWalk = (_keyStart, _keyEnd, valueStart, depth) => {
    const valueEnd = skipValue(scan, valueStart, depth);
    if (valueEnd !== BROKEN && bytes[valueStart] === QUOTE) countText(bytes, valueStart, valueEnd, facts);
    return valueEnd;
  };

  const toolMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) =>
    bytes[valueStart] === OBJECT &&
    (keyIs(bytes, keyStart, keyEnd, FUNCTION) || keyIs(bytes, keyStart, keyEnd, CUSTOM))
      ? walkMembers(scan, valueStart, depth, functionMember)
      : skipValue(scan, valueStart, depth);

  const toolItem = (valueStart: number, depth: number): number =>
    bytes[valueStart] === OBJECT
      ? walkMembers(scan, valueStart, depth, toolMember)
      : skipValue(scan, valueStart, depth);

  /** What is no string: calls of tools, and what is not known. */
  const deltaValue: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const first = bytes[valueStart];
    if (first === LIST && keyIs(bytes, keyStart, keyEnd, TOOL_CALLS)) {
      const valueEnd = walkItems(scan, valueStart, depth, toolItem);
      if (valueEnd - valueStart > 2) facts.hasToolCall = true;
      return valueEnd;
    }
    if (first === OBJECT && keyIs(bytes, keyStart, keyEnd, FUNCTION_CALL)) {
      const valueEnd = walkMembers(scan, valueStart, depth, functionMember);
      if (valueEnd - valueStart > 2) facts.hasToolCall = true;
      return valueEnd;
    }
    return skipValue(scan, valueStart, depth);
  };

  const isText = (keyStart: number, keyEnd: number): boolean => {
    for (const name of TEXTS) if (keyIs(bytes, keyStart, keyEnd, name)) return true;
    return false;
  };

  const deltaMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const valueEnd = deltaValue(keyStart, keyEnd, valueStart, depth);
    if (valueEnd === BROKEN) return BROKEN;
    const isEmpty = valueEnd - valueStart <= 2 || bytes[valueStart] === NULL;
    if (isEmpty || keyIs(bytes, keyStart, keyEnd, ROLE)) return valueEnd;
    facts.hasContent = true;
    if (bytes[valueStart] === QUOTE && isText(keyStart, keyEnd))
      countText(bytes, valueStart, valueEnd, facts);
    return valueEnd;
  };

  const choiceMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    if (bytes[valueStart] === OBJECT && keyIs(bytes, keyStart, keyEnd, DELTA))
      return walkMembers(scan, valueStart, depth, deltaMember);
    const valueEnd = skipValue(scan, valueStart, depth);
    if (keyIs(bytes, keyStart, keyEnd, FINISH_REASON)) {
      choiceFinished = bytes[valueStart] === QUOTE && valueEnd - valueStart > 2;
    } else if (keyIs(bytes, keyStart, keyEnd, INDEX)) {
      choiceIndex = smallInteger(bytes, valueStart, valueEnd);
    }
    return valueEnd;
  };

  const choiceItem = (valueStart: number, depth: number): number => {
    facts.someChoice = true;
    if (bytes[valueStart] !== OBJECT) return skipValue(scan, valueStart, depth);
    choiceIndex = 0;
    choiceFinished = false;
    const valueEnd = walkMembers(scan, valueStart, depth, choiceMember);
    facts.choices.push(choiceIndex, choiceFinished ? 1 : 0);
    return valueEnd;
  };

  const chunkMember: MemberWalk = (keyStart, keyEnd, valueStart, depth) => {
    const isNull = bytes[valueStart] === NULL;
    const cuts = facts.cuts.length;
    const isChoices = keyIs(bytes, keyStart, keyEnd, CHOICES);
    if (isChoices) facts.hasChoices = bytes[valueStart] === LIST;
    const valueEnd =
      isChoices && facts.hasChoices
        ? walkItems(scan, valueStart, depth, choiceItem)
        : skipValue(scan, valueStart, depth);
    if (valueEnd === BROKEN) return BROKEN;
    if (keyIs(bytes, keyStart, keyEnd, MODEL)) {
      facts.modelStart = valueStart;
      facts.modelEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, ID)) {
      facts.idStart = valueStart;
      facts.idEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, CREATED)) {
      facts.createdStart = valueStart;
      facts.createdEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, USAGE) && !isNull) {
      facts.usageStart = valueStart;
      facts.usageEnd = valueEnd;
      facts.usageCut = facts.cuts.length;
      facts.cuts.push(...cutOf(keyStart, valueEnd));
    } else if (keyIs(bytes, keyStart, keyEnd, ERROR) && !isNull) {
      facts.errorStart = valueStart;
      facts.errorEnd = valueEnd;
    } else if (paddingKeys.some((key) => keyIs(bytes, keyStart, keyEnd, key))) {
      facts.cuts.push(...cutOf(keyStart, valueEnd));
    }
    if (facts.cuts.length === cuts) anyKept = true;
    previousEnd = valueEnd;
    return valueEnd;
  };

  /** The span that takes a member out: with the comma before it, or after it when none before it stays. */
  const cutOf = (keyStart: number, valueEnd: number): [number, number] => {
    if (anyKept) return [previousEnd, valueEnd];
    const next = skipSpace(scan, valueEnd);
    return bytes[next] === 0x2c ? [keyStart, skipSpace(scan, next + 1)] : [keyStart, valueEnd];
  };

  return {
    facts,
    scan(chunk, start, end) {
      bytes = chunk;
      scan = openScan(chunk, end);
      reset(facts);
      anyKept = false;
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
  facts.modelStart = -1;
  facts.modelEnd = -1;
  facts.idStart = -1;
  facts.idEnd = -1;
  facts.createdStart = -1;
  facts.createdEnd = -1;
  facts.usageStart = -1;
  facts.usageEnd = -1;
  facts.errorStart = -1;
  facts.errorEnd = -1;
  facts.hasChoices = false;
  facts.someChoice = false;
  facts.hasContent = false;
  facts.hasToolCall = false;
  facts.usageCut = -1;
  facts.ascii = 0;
  facts.wide = 0;
  if (facts.choices.length > 0) facts.choices.length = 0;
  if (facts.cuts.length > 0) facts.cuts.length = 0;
}
