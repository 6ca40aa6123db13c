import type { Chance } from "../chance.ts";

/** A longer one is none that people write. */
const LONGEST_PATTERN = 4_000;

/** Characters and repetitions that one text may come to. */
const MOST_WORK = 40_000;

interface Making {
  readonly chance: Chance;
  /** How many repetitions more than the least are made where there is room. */
  readonly longer: number;
  work: number;
}

type Make = (making: Making) => string;

/**
 * Makes texts that a regular expression matches, for the patterns that schemas have: literals, classes, groups,
 * alternatives and counts. Of the pattern only single characters are run, so that none can be slow; looking around and
 * back is not done.
 */
export function readPattern(pattern: string): (chance: Chance, longer: number) => string {
  const make = readAlternatives({ text: pattern.slice(0, LONGEST_PATTERN), at: 0 });
  return (chance, longer) => make({ chance, longer, work: MOST_WORK });
}

interface Reader {
  readonly text: string;
  at: number;
}

/** Takes what stands next where it is so; `undefined` where it is not. */
function take(reader: Reader, what: RegExp): RegExpExecArray | undefined {
  what.lastIndex = reader.at;
  const found = what.exec(reader.text) ?? undefined;
  reader.at += found?.[0].length ?? 0;
  return found;
}

function readAlternatives(reader: Reader): Make {
  const alternatives = [readSequence(reader)];
  while (take(reader, /\|/y) !== undefined) alternatives.push(readSequence(reader));
  return (making) => making.chance.pick(alternatives)(making);
}

function readSequence(reader: Reader): Make {
  const makes: Make[] = [];
  while (/[^|)]/.test(reader.text[reader.at] ?? "|")) makes.push(readRepeated(reader));
  return (making) => makes.map((make) => make(making)).join("");
}

function readRepeated(reader: Reader): Make {
  const make = readAtom(reader);
  const [, sign, from, comma, to] = take(reader, /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y) ?? [];
  const least = from === undefined ? Number(sign === undefined || sign === "+") : Number(from);
  const isOpen = sign === "*" || sign === "+" || (comma === "," && to === "");
  const most = isOpen ? Infinity : Number(sign === "?" || to || (from ?? 1));
  return (making) => {
    let text = "";
    for (let left = Math.min(most, least + making.longer); left > 0 && making.work > 0; left -= 1) {
      making.work -= 1;
      text += make(making);
    }
    return text;
  };
}

const GROUP = /\((\?(?:[:=!]|<[=!]|<[^>]{0,80}>))?/y;
const ESCAPE = /\\(?:u\{[0-9a-f]{1,6}\}|u[0-9a-f]{4}|x[0-9a-f]{2}|p\{[^}]*\}|.)/isuy;
const SIGN = new RegExp(`\\[(?:\\\\.|[^\\\\\\]])*\\]?|${ESCAPE.source}|.`, "isuy");

function readAtom(reader: Reader): Make {
  const group = take(reader, GROUP);
  if (group !== undefined) {
    const make = readAlternatives(reader);
    take(reader, /\)/y);
    // What only looks around gives nothing of its own.
    return /[=!]$/.test(group[0]) ? () => "" : make;
  }
  const sign = take(reader, SIGN)?.[0] ?? "";
  const fit = /^(?:[$^]|\\b)$/i.test(sign) ? [""] : charactersOf(sign);
  return ({ chance }) => (fit.length === 0 ? "" : chance.pick(fit));
}

const range = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i));

/** Characters that are tried, the plainest first: where one of a row fits, those of later rows are not tried. */
const TRIED: readonly (readonly string[])[] = [
  [...range(0x61, 0x7a), ...range(0x41, 0x5a), ...range(0x30, 0x39)],
  range(0x20, 0x7e),
  [...range(0x08, 0x0d), ...range(0xa1, 0x17f), ...range(0x370, 0x5ff), ...range(0x4e00, 0x4e20)],
];

/** Characters of the signs that were looked at last. */
const kept = new Map<string, readonly string[]>();

/** Characters that a class, an escape or a single sign stands for, as far as they are worth having. */
function charactersOf(sign: string): readonly string[] {
  const known = kept.get(sign) ?? findCharacters(sign);
  if (kept.size > 500) kept.clear();
  kept.set(sign, known);
  return known;
}

function findCharacters(sign: string): readonly string[] {
  const named = (sign.match(new RegExp(`${ESCAPE.source}|.`, "gisu")) ?? []).map(characterOf);
  // It may be written for either way of reading; if it is broken, it stands for itself.
  for (const flags of ["u", ""])
    try {
      const one = new RegExp(`^(?:${sign})$`, flags);
      const rows = [...TRIED, named].map((tried) => tried.filter((character) => one.test(character)));
      return rows.find((row) => row.length > 0) ?? [];
    } catch {
      // The other way is tried.
    }
  return named.slice(0, 1);
}

function characterOf(sign: string): string {
  const code = /^\\[ux]\{?([0-9a-f]+)/i.exec(sign)?.[1];
  const point = Number.parseInt(code ?? "", 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : sign.replace(/^\\(?=.)/s, "");
}
