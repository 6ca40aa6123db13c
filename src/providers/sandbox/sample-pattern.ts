import type { Chance } from "./chance.ts";

/**
 * Text that a regular expression matches, for the patterns that schemas have: literals, classes, groups, alternatives and
 * counts. Of the pattern only single characters are run, so that none can be slow; looking around and back is not done.
 * `longer` is how many repetitions more than the least are made where there is room.
 */
export function matchPattern(pattern: string, chance: Chance, longer: number): string {
  if (pattern.length > LONGEST_PATTERN) return "";
  return readAlternatives({ pattern, at: 0, chance, longer, room: 40_000 })();
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

/** Takes what stands next where it is so; `undefined` where it is not. */
function take(reader: Reader, what: RegExp): RegExpExecArray | undefined {
  what.lastIndex = reader.at;
  const found = what.exec(reader.pattern) ?? undefined;
  reader.at += found?.[0].length ?? 0;
  return found;
}

function readAlternatives(reader: Reader): Make {
  const alternatives = [readSequence(reader)];
  while (take(reader, /\|/y) !== undefined) alternatives.push(readSequence(reader));
  return () => reader.chance.pick(alternatives)();
}

function readSequence(reader: Reader): Make {
  const makes: Make[] = [];
  while (/[^|)]/.test(reader.pattern[reader.at] ?? "|")) {
    const make = readAtom(reader);
    const [least, most] = readCount(reader);
    makes.push(() => {
      let text = "";
      for (let left = Math.min(most, least + reader.longer); left > 0 && reader.room > 0; left -= 1) {
        reader.room -= 1;
        text += make();
      }
      return text;
    });
  }
  return () => makes.map((make) => make()).join("");
}

const GROUP = /\((\?(?:[:=!]|<[=!]|<[^>]{0,80}>))?/y;
const CLASS = /\[(?:\\.|[^\\\]])*\]?/suy;
const ESCAPE = /\\(?:u\{[0-9a-f]{1,6}\}|u[0-9a-f]{4}|x[0-9a-f]{2}|p\{[^}]*\}|.)/isuy;
const ANY = /./suy;

function readAtom(reader: Reader): Make {
  const group = take(reader, GROUP);
  if (group !== undefined) {
    const make = readAlternatives(reader);
    take(reader, /\)/y);
    // What only looks around gives nothing of its own.
    return /[=!]$/.test(group[0]) ? () => "" : make;
  }
  const sign = (take(reader, CLASS) ?? take(reader, ESCAPE) ?? take(reader, ANY))?.[0] ?? "";
  if (/^(?:[$^]|\\b)$/i.test(sign)) return () => "";
  const fit = charactersOf(sign);
  return () => {
    reader.room -= 1;
    return fit.length === 0 ? "" : reader.chance.pick(fit);
  };
}

function readCount(reader: Reader): readonly [number, number] {
  const found = take(reader, /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y);
  if (found === undefined) return [1, 1];
  const [, sign, least = "0", comma, most = ""] = found;
  if (sign !== undefined) return [sign === "+" ? 1 : 0, sign === "?" ? 1 : Infinity];
  return [Number(least), comma === "" ? Number(least) : most === "" ? Infinity : Number(most)];
}

const range = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i));

/** Characters that are tried, the plainest first: where one of a row fits, those of later rows are not tried. */
const TRIED: readonly (readonly string[])[] = [
  [...range(0x61, 0x7a), ...range(0x41, 0x5a), ...range(0x30, 0x39)],
  range(0x20, 0x7e),
  [...range(0x08, 0x0d), ...range(0xa1, 0x17f), ...range(0x370, 0x5ff), ...range(0x4e00, 0x4e20)],
];

/** Characters that a class, an escape or a single sign stands for, as far as they are worth having. */
function charactersOf(sign: string): readonly string[] {
  const known = kept.get(sign);
  if (known !== undefined) return known;
  const fits = tester(sign);
  const named = [...sign.matchAll(new RegExp(`${ESCAPE.source}|.`, "gisu"))].map(([one]) => characterOf(one));
  const fit = [...TRIED, named].map((tried) => tried.filter(fits)).find((found) => found.length > 0) ?? [];
  if (kept.size > 500) kept.clear();
  kept.set(sign, fit);
  return fit;
}

const kept = new Map<string, readonly string[]>();

function characterOf(sign: string): string {
  const code = /^\\[ux]\{?([0-9a-f]+)/i.exec(sign)?.[1];
  const point = Number.parseInt(code ?? "", 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : sign.replace(/^\\(?=.)/s, "");
}

/** Whether a character is one of a sign's; a sign that is none of a regular expression's stands for itself. */
function tester(sign: string): (character: string) => boolean {
  for (const flags of ["u", ""])
    try {
      const one = new RegExp(`^(?:${sign})$`, flags);
      return (character) => one.test(character);
    } catch {
      // It is written for the other way of reading, or it is broken.
    }
  return (character) => character === characterOf(sign);
}
