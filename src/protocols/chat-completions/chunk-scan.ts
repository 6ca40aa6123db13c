import {
  BROKEN,
  eachItem,
  eachMember,
  keyIs,
  openScan,
  skipSpace,
  type JsonScan,
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

  const functionMember = (_keyStart: number, _keyEnd: number, valueStart: number, valueEnd: number): void => {
    if (bytes[valueStart] === QUOTE) countText(bytes, valueStart, valueEnd, facts);
  };

  const toolMember = (keyStart: number, keyEnd: number, valueStart: number, _valueEnd: number): void => {
    const isCall = keyIs(bytes, keyStart, keyEnd, FUNCTION) || keyIs(bytes, keyStart, keyEnd, CUSTOM);
    if (isCall && bytes[valueStart] === 0x7b) {
      eachMember(scan, valueStart, functionMember, 6);
    }
  };

  const toolItem = (valueStart: number): void => {
    if (bytes[valueStart] === 0x7b) eachMember(scan, valueStart, toolMember, 5);
  };

  const deltaMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    const isEmpty = valueEnd - valueStart <= 2 || bytes[valueStart] === NULL;
    if (isEmpty || keyIs(bytes, keyStart, keyEnd, ROLE)) return;
    facts.hasContent = true;
    if (bytes[valueStart] === QUOTE) {
      if (TEXTS.some((key) => keyIs(bytes, keyStart, keyEnd, key)))
        countText(bytes, valueStart, valueEnd, facts);
    } else if (bytes[valueStart] === 0x5b && keyIs(bytes, keyStart, keyEnd, TOOL_CALLS)) {
      facts.hasToolCall = true;
      eachItem(scan, valueStart, toolItem, 4);
    } else if (bytes[valueStart] === 0x7b && keyIs(bytes, keyStart, keyEnd, FUNCTION_CALL)) {
      facts.hasToolCall = true;
      eachMember(scan, valueStart, functionMember, 4);
    }
  };

  const choiceMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    if (keyIs(bytes, keyStart, keyEnd, DELTA)) {
      if (bytes[valueStart] === 0x7b) eachMember(scan, valueStart, deltaMember, 4);
    } else if (keyIs(bytes, keyStart, keyEnd, FINISH_REASON)) {
      choiceFinished = bytes[valueStart] === QUOTE && valueEnd - valueStart > 2;
    } else if (keyIs(bytes, keyStart, keyEnd, INDEX)) {
      choiceIndex = smallInteger(bytes, valueStart, valueEnd);
    }
  };

  const choiceItem = (valueStart: number, _valueEnd: number): void => {
    facts.someChoice = true;
    if (bytes[valueStart] !== 0x7b) return;
    choiceIndex = 0;
    choiceFinished = false;
    eachMember(scan, valueStart, choiceMember, 3);
    facts.choices.push(choiceIndex, choiceFinished ? 1 : 0);
  };

  const chunkMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    const isNull = bytes[valueStart] === NULL;
    const cuts = facts.cuts.length;
    if (keyIs(bytes, keyStart, keyEnd, CHOICES)) {
      facts.hasChoices = bytes[valueStart] === 0x5b;
      if (facts.hasChoices) eachItem(scan, valueStart, choiceItem, 2);
    } else if (keyIs(bytes, keyStart, keyEnd, MODEL)) {
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
      if (objectStart >= end || chunk[objectStart] !== 0x7b) return;
      const after = eachMember(scan, objectStart, chunkMember);
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
  facts.choices.length = 0;
  facts.cuts.length = 0;
}

/** A small non-negative integer as written; anything else is 0. */
function smallInteger(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end && i < start + 6; i += 1) {
    const digit = (bytes[i] as number) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  return value;
}
