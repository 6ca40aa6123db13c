import type { Chance } from "./chance.ts";

/**
 * Text that a regular expression matches, for the patterns that schemas have: literals, classes, groups, alternatives and
 * counts. The pattern is only written out and never run, so that none can be slow; looking around and back is not done.
 * `longer` is how many repetitions more than the least are made where there is room.
 */
export function matchPattern(pattern: string, chance: Chance, longer: number): string {
  if (pattern.length > LONGEST_PATTERN) return "";
  const reader: Reader = { pattern, at: 0, chance, longer, room: 40_000 };
  return readAlternatives(reader)();
}

/** A longer one is none that people write. */
const LONGEST_PATTERN = 4_000;

interface Reader {
  readonly pattern: string;
  at: number;
  readonly chance: Chance;
  readonly longer: number;
  /** Characters that may still be made. */
  room: number;
}

type Make = () => string;

const nothing: Make = () => "";

function readAlternatives(reader: Reader): Make {
  const alternatives = [readSequence(reader)];
  while (reader.pattern[reader.at] === "|") {
    reader.at += 1;
    alternatives.push(readSequence(reader));
  }
  return () => reader.chance.pick(alternatives)();
}

function readSequence(reader: Reader): Make {
  const makes: Make[] = [];
  while (reader.at < reader.pattern.length && !"|)".includes(reader.pattern[reader.at] as string)) {
    const make = readAtom(reader);
    const [least, most] = readCount(reader);
    makes.push(() => {
      const times = Math.min(most, least + reader.longer);
      let text = "";
      for (let i = 0; i < times && reader.room > 0; i += 1) {
        reader.room -= 1;
        text += make();
      }
      return text;
    });
  }
  return () => makes.map((make) => make()).join("");
}

function readAtom(reader: Reader): Make {
  const { pattern } = reader;
  const sign = pattern[reader.at];
  reader.at += 1;
  switch (sign) {
    case "^":
    case "$":
      return nothing;
    case ".":
      return () => give(reader, [[0x61, 0x7a]]);
    case "(":
      return readGroup(reader);
    case "[": {
      const ranges = readClass(reader);
      return () => give(reader, ranges);
    }
    case "\\": {
      const ranges = readEscape(reader);
      return ranges.length === 0 ? nothing : () => give(reader, ranges);
    }
    default: {
      const code = pattern.codePointAt(reader.at - 1) ?? 0x20;
      if (code > 0xffff) reader.at += 1;
      return () => give(reader, [[code, code]]);
    }
  }
}

function readGroup(reader: Reader): Make {
  const opening =
    /^\?(?:[:=!]|<[=!]|<[^>]*>)/.exec(reader.pattern.slice(reader.at, reader.at + 80))?.[0] ?? "";
  reader.at += opening.length;
  const make = readAlternatives(reader);
  reader.at += 1;
  // What only looks around gives nothing of its own.
  return /[=!]$/.test(opening) ? nothing : make;
}

function readCount(reader: Reader): readonly [number, number] {
  const rest = reader.pattern.slice(reader.at, reader.at + 24);
  const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(rest);
  if (found === null) return [1, 1];
  reader.at += found[0].length;
  switch (rest[0]) {
    case "*":
      return [0, Infinity];
    case "+":
      return [1, Infinity];
    case "?":
      return [0, 1];
    default: {
      const least = Number(found[1]);
      if (found[2] === "") return [least, least];
      return [least, found[3] === "" ? Infinity : Number(found[3])];
    }
  }
}

/** Code points from the first to the last. */
type CodeRange = readonly [number, number];

const DIGITS: readonly CodeRange[] = [[0x30, 0x39]];
const LETTERS: readonly CodeRange[] = [
  [0x61, 0x7a],
  [0x41, 0x5a],
];
const WORD: readonly CodeRange[] = [...LETTERS, ...DIGITS, [0x5f, 0x5f]];
const SPACE: readonly CodeRange[] = [[0x20, 0x20]];
const PUNCTUATION: readonly CodeRange[] = [[0x2d, 0x2d]];

const ESCAPES: Readonly<Record<string, readonly CodeRange[]>> = {
  d: DIGITS,
  D: LETTERS,
  w: WORD,
  W: PUNCTUATION,
  s: SPACE,
  S: LETTERS,
  b: [],
  B: [],
  n: [[0x0a, 0x0a]],
  r: [[0x0d, 0x0d]],
  t: [[0x09, 0x09]],
  f: [[0x0c, 0x0c]],
  v: [[0x0b, 0x0b]],
};

/** What stands after a backslash; no range at all for what has no width. */
function readEscape(reader: Reader): readonly CodeRange[] {
  const rest = reader.pattern.slice(reader.at, reader.at + 40);
  const code = /^(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/i.exec(rest);
  if (code !== null) {
    reader.at += code[0].length;
    const point = Number.parseInt(code[1] ?? code[2] ?? code[3] ?? "20", 16);
    return [[point, point]];
  }
  const property = /^[pP]\{([^}]*)\}/.exec(rest);
  if (property !== null) {
    reader.at += property[0].length;
    if (property[0].startsWith("P")) return PUNCTUATION;
    return propertyRanges(property[1] ?? "");
  }
  const sign = rest[0] ?? " ";
  reader.at += 1;
  if (Object.hasOwn(ESCAPES, sign)) return ESCAPES[sign] ?? [];
  const point = sign.charCodeAt(0);
  return [[point, point]];
}

function propertyRanges(name: string): readonly CodeRange[] {
  if (/^N/i.test(name)) return DIGITS;
  if (/^(Lu|Uppercase)/.test(name)) return [[0x41, 0x5a]];
  if (/^P/i.test(name)) return PUNCTUATION;
  return /^Z/i.test(name) ? SPACE : [[0x61, 0x7a]];
}

function readClass(reader: Reader): readonly CodeRange[] {
  const { pattern } = reader;
  const negated = pattern[reader.at] === "^";
  if (negated) reader.at += 1;
  const ranges: CodeRange[] = [];
  while (reader.at < pattern.length && pattern[reader.at] !== "]") {
    const found = readClassItem(reader);
    const single = found.length === 1 && found[0]?.[0] === found[0]?.[1];
    const next = pattern[reader.at + 1];
    if (single && pattern[reader.at] === "-" && next !== "]" && next !== undefined) {
      reader.at += 1;
      const [to] = readClassItem(reader);
      ranges.push([found[0]?.[0] ?? 0, to?.[1] ?? 0]);
    } else ranges.push(...found);
  }
  reader.at += 1;
  return negated ? complement(ranges) : ranges;
}

function readClassItem(reader: Reader): readonly CodeRange[] {
  const code = reader.pattern.codePointAt(reader.at) ?? 0x20;
  reader.at += code > 0xffff ? 2 : 1;
  if (code !== 0x5c) return [[code, code]];
  const ranges = readEscape(reader);
  return ranges.length === 0 ? [[0x08, 0x08]] : ranges;
}

/** Printable ASCII that is in none of the ranges. */
function complement(ranges: readonly CodeRange[]): readonly CodeRange[] {
  const free: CodeRange[] = [];
  for (const wanted of [...LETTERS, ...DIGITS, [0x20, 0x7e] as const]) {
    for (let code = wanted[0]; code <= wanted[1]; code += 1)
      if (!ranges.some(([from, to]) => code >= from && code <= to)) free.push([code, code]);
  }
  return free;
}

function give(reader: Reader, ranges: readonly CodeRange[]): string {
  reader.room -= 1;
  if (ranges.length === 0) return "";
  const [from, to] = reader.chance.pick(ranges);
  return String.fromCodePoint(reader.chance.between(Math.min(from, to), Math.max(from, to)));
}
