import { BROKEN, eachMember, keyIs, type JsonScan, openScan, skipSpace } from "../../core/json-scan.ts";
import { countText } from "../counted-text.ts";

/** The events that the relay knows; all others pass as they are. */
export type EventKind =
  | "content_block_delta"
  | "content_block_start"
  | "content_block_stop"
  | "ping"
  | "message_start"
  | "message_delta"
  | "message_stop"
  | "error"
  | "other";

/** Where the parts of one event stand that the relay has to look at, and what it gives. One object serves a stream; -1 stands for absent. */
export interface EventFacts {
  /** The event is a JSON object. */
  valid: boolean;
  kind: EventKind;
  /** The value of `type`, in its quotes. */
  typeStart: number;
  typeEnd: number;
  /** `message` where it is an object. */
  messageStart: number;
  messageEnd: number;
  usageStart: number;
  usageEnd: number;
  errorStart: number;
  errorEnd: number;
  /** A `credit` of the provider's own, which is another gateway. */
  hasCredit: boolean;
  /** Text, thinking, a signature or a tool call came with this event. */
  hasContent: boolean;
  /** The event says why the message stopped. */
  hasStopReason: boolean;
  /** The event brings what a web search found. */
  hasSearch: boolean;
  /** Bytes of what a search or a fetched page brought, which the model reads next; 0 for all other events. */
  foundBytes: number;
  /** Bytes of answer text in the event by kind. */
  ascii: number;
  wide: number;
}

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
const KINDS: readonly (readonly [EventKind, Uint8Array])[] = (
  [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "ping",
    "message_start",
    "message_delta",
    "message_stop",
    "error",
  ] as const
).map((kind) => [kind, ascii(`"${kind}"`)]);
const TYPE = ascii('"type"');
const DELTA = ascii('"delta"');
const MESSAGE = ascii('"message"');
const USAGE = ascii('"usage"');
const ERROR = ascii('"error"');
const CREDIT = ascii('"credit"');
const CONTENT_BLOCK = ascii('"content_block"');
const STOP_REASON = ascii('"stop_reason"');
const INPUT = ascii('"input"');
/** Members of a delta or a block whose text is output. */
const TEXTS = ['"text"', '"thinking"', '"partial_json"', '"name"'].map(ascii);
/** Blocks that begin empty and are filled by what follows. */
const EMPTY_STARTS = ['"text"', '"thinking"'].map(ascii);
const SEARCH_RESULT = ascii('"web_search_tool_result"');
const FETCH_RESULT = ascii('"web_fetch_tool_result"');
const QUOTE = 0x22;
const OPEN = 0x7b;
const NULL = 0x6e;

/** Reads events in place, without building a value for each. */
export interface EventScanner {
  readonly facts: EventFacts;
  /** Fills `facts` from the event at `[start, end)`. */
  scan(bytes: Uint8Array, start: number, end: number): void;
}

/** A scanner for one stream. */
export function createEventScanner(): EventScanner {
  const facts = {} as EventFacts;
  reset(facts);
  let bytes: Uint8Array = new Uint8Array(0);
  let scan: JsonScan = openScan(bytes);
  let partStart = -1;
  let blockStart = -1;
  let blockEnd = -1;

  const isOneOf = (start: number, end: number, words: readonly Uint8Array[]): boolean =>
    words.some((word) => keyIs(bytes, start, end, word));

  const isString = (start: number, end: number): boolean => bytes[start] === QUOTE && end - start > 2;

  const deltaMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    if (keyIs(bytes, keyStart, keyEnd, TYPE)) return;
    if (keyIs(bytes, keyStart, keyEnd, STOP_REASON)) {
      facts.hasStopReason = isString(valueStart, valueEnd);
    } else if (isString(valueStart, valueEnd)) {
      facts.hasContent = true;
      if (isOneOf(keyStart, keyEnd, TEXTS)) countText(bytes, valueStart, valueEnd, facts);
    } else if (bytes[valueStart] === OPEN) facts.hasContent = true;
  };

  const blockMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    if (keyIs(bytes, keyStart, keyEnd, TYPE)) {
      if (!isOneOf(valueStart, valueEnd, EMPTY_STARTS)) facts.hasContent = true;
      if (keyIs(bytes, valueStart, valueEnd, SEARCH_RESULT)) facts.hasSearch = true;
      if (facts.hasSearch || keyIs(bytes, valueStart, valueEnd, FETCH_RESULT))
        facts.foundBytes = blockEnd - blockStart;
    } else if (isString(valueStart, valueEnd) && isOneOf(keyStart, keyEnd, TEXTS)) {
      facts.hasContent = true;
      countText(bytes, valueStart, valueEnd, facts);
    } else if (
      bytes[valueStart] === OPEN &&
      valueEnd - valueStart > 2 &&
      keyIs(bytes, keyStart, keyEnd, INPUT)
    ) {
      countText(bytes, valueStart, valueEnd, facts);
    }
  };

  const eventMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    const first = bytes[valueStart];
    if (keyIs(bytes, keyStart, keyEnd, TYPE)) {
      facts.typeStart = valueStart;
      facts.typeEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, DELTA)) {
      if (first === OPEN) partStart = valueStart;
    } else if (keyIs(bytes, keyStart, keyEnd, CONTENT_BLOCK)) {
      if (first !== OPEN) return;
      blockStart = valueStart;
      blockEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, MESSAGE)) {
      if (first !== OPEN) return;
      facts.messageStart = valueStart;
      facts.messageEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, USAGE)) {
      if (first !== OPEN) return;
      facts.usageStart = valueStart;
      facts.usageEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, ERROR) && first !== NULL) {
      facts.errorStart = valueStart;
      facts.errorEnd = valueEnd;
    } else if (keyIs(bytes, keyStart, keyEnd, CREDIT)) facts.hasCredit = true;
  };

  return {
    facts,
    scan(event, start, end) {
      bytes = event;
      scan = openScan(event, end);
      reset(facts);
      partStart = -1;
      blockStart = -1;
      const objectStart = skipSpace(scan, start);
      if (objectStart >= end || event[objectStart] !== OPEN) return;
      const after = eachMember(scan, objectStart, eventMember);
      facts.valid = after !== BROKEN && skipSpace(scan, after) === end;
      if (!facts.valid) return;
      facts.kind = kindOf(event, facts);
      if (partStart !== -1) eachMember(scan, partStart, deltaMember);
      if (blockStart !== -1) eachMember(scan, blockStart, blockMember);
    },
  };
}

/** An object with an error is an error, whatever it says that it is. */
function kindOf(bytes: Uint8Array, { typeStart, typeEnd, errorStart }: EventFacts): EventKind {
  if (errorStart !== -1) return "error";
  for (const [kind, quoted] of KINDS) if (keyIs(bytes, typeStart, typeEnd, quoted)) return kind;
  return "other";
}

/** Written out, because it runs for every event. */
function reset(facts: EventFacts): void {
  facts.valid = false;
  facts.kind = "other";
  facts.typeStart = -1;
  facts.typeEnd = -1;
  facts.messageStart = -1;
  facts.messageEnd = -1;
  facts.usageStart = -1;
  facts.usageEnd = -1;
  facts.errorStart = -1;
  facts.errorEnd = -1;
  facts.hasCredit = false;
  facts.hasContent = false;
  facts.hasStopReason = false;
  facts.hasSearch = false;
  facts.foundBytes = 0;
  facts.ascii = 0;
  facts.wide = 0;
}
