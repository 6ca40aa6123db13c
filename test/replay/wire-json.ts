import { seededRandom } from "../upstream/cuts.ts";

/** JSON of a test: read by path, so not typed further. */
// oxlint-disable-next-line typescript/no-explicit-any -- recorded traffic has no type
export type Json = any;

/** One member of an object as it is written, so that an expected text can be put together from the same pieces. */
export interface WrittenMember {
  readonly name: string;
  /** White space between the `{` or `,` and the key. */
  readonly before: string;
  /** The key with its quotes, as it is spelled. */
  readonly key: string;
  /** The colon and the white space around it. */
  readonly colon: string;
  readonly value: string;
  /** White space between the value and the `,` or `}`. */
  readonly after: string;
}

/** An object as it is written. */
export interface WrittenObject {
  readonly lead: string;
  readonly members: readonly WrittenMember[];
  readonly trail: string;
}

/** How to spell JSON: what is the same value may be written in many ways. */
export interface Spelling {
  space(): string;
  string(value: string): string;
  number(value: number): string;
}

/** As `JSON.stringify` writes. */
export const COMPACT: Spelling = {
  space: () => "",
  string: (value) => JSON.stringify(value),
  number: (value) => JSON.stringify(value),
};

/** Random white space, `\u` escapes, and numbers with zeros and exponents; the same for the same seed. */
export function hostileSpelling(seed: number): Spelling {
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  return {
    space: () => (random() < 0.6 ? "" : pick([" ", "\n", "\t", "\r\n", "  ", "\n\t "])),
    string: (value) => escapedText(value, random),
    number(value) {
      const text = JSON.stringify(value);
      const others = [text, `${value}e0`, `${value}E+0`, `${value}0e-1`, `${value}.0`, `${value}.000e00`];
      return Number.isSafeInteger(value) && value !== 0 ? pick(others) : text;
    },
  };
}

function escapedText(value: string, random: () => number): string {
  // Few escapes in long texts: a document in base64 shall not grow sixfold.
  const rate = value.length > 2_000 ? 0.001 : 0.05;
  let text = "";
  for (let i = 0; i < value.length; i += 1) {
    const unit = value[i] as string;
    if (random() < rate) text += escapeOf(unit, random);
    else if (unit === "/" && random() < rate * 4) text += "\\/";
    else text += isPlain(unit) ? unit : pieceOf(value, i, unit);
  }
  return `"${text}"`;
}

function escapeOf(unit: string, random: () => number): string {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${random() < 0.5 ? hex : hex.toUpperCase()}`;
}

/** Most are: printable ASCII that JSON has no escape for. */
function isPlain(unit: string): boolean {
  return unit >= " " && unit <= "~" && unit !== '"' && unit !== "\\";
}

/** A code unit as `JSON.stringify` would write it: half a surrogate pair is escaped only where it stands alone. */
function pieceOf(value: string, i: number, unit: string): string {
  const code = unit.charCodeAt(0);
  if (code < 0xd800 || code > 0xdfff) return JSON.stringify(unit).slice(1, -1);
  return `\\u${value.charCodeAt(i).toString(16)}`;
}

/** Any JSON value, spelled. */
export function writeValue(value: Json, spelling: Spelling): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return spelling.string(value);
  if (typeof value === "number") return spelling.number(value);
  if (!Array.isArray(value)) return objectText(writeObject(value, spelling));
  const items = value.map(
    (item: Json) => `${spelling.space()}${writeValue(item, spelling)}${spelling.space()}`,
  );
  return `[${items.length === 0 ? spelling.space() : items.join(",")}]`;
}

/** An object, spelled, its members apart. */
export function writeObject(value: Json, spelling: Spelling): WrittenObject {
  const members = Object.entries(value as object).map(([name, member]: [string, Json]) => ({
    name,
    before: spelling.space(),
    key: spelling.string(name),
    colon: `${spelling.space()}:${spelling.space()}`,
    value: writeValue(member, spelling),
    after: spelling.space(),
  }));
  return { lead: spelling.space(), members, trail: spelling.space() };
}

/** The text of an object. */
export function textOf(written: WrittenObject): string {
  return `${written.lead}${objectText(written)}${written.trail}`;
}

function objectText({ members }: WrittenObject): string {
  return `{${members.map(memberText).join(",")}}`;
}

function memberText({ before, key, colon, value, after }: WrittenMember): string {
  return `${before}${key}${colon}${value}${after}`;
}

/** What may be changed in an object that else keeps its bytes. */
export interface Rewrites {
  /** New value texts by name. */
  readonly replace: Readonly<Record<string, string>>;
  /** Members added right after the last value, each `"name":value`. */
  readonly append: readonly string[];
}

/** The text of an object after the rewrites. */
export function rewrittenText(written: WrittenObject, { replace, append }: Rewrites): string {
  const members = written.members.map((member, i) => {
    const value = replace[member.name] ?? member.value;
    const added = i === written.members.length - 1 ? append.map((text) => `,${text}`).join("") : "";
    return { ...member, value: `${value}${added}` };
  });
  return textOf({ ...written, members });
}

/** The object without some members; the white space around a member that goes is nobody's. */
export function withoutMembers(written: WrittenObject, names: readonly string[]): WrittenObject {
  return { ...written, members: written.members.filter((member) => !names.includes(member.name)) };
}

/** White space outside of strings taken out of JSON text; all else stays as it is spelled. */
export function squeezed(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|[ \t\r\n]+/g, (part) => (part.startsWith('"') ? part : ""));
}
