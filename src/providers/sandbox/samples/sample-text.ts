import type { Chance } from "../chance.ts";
import type { JsonObject } from "../../../core/json-value.ts";
import { limitOf } from "./json-schema.ts";
import { readPattern } from "./sample-pattern.ts";
import { textOf } from "../members.ts";
import { chooseWords } from "../words.ts";

/** Longer text than this is not made, whatever a schema asks for. */
const LONGEST = 20_000;

/** Text within the limits of a schema, of its format or pattern. */
export function sampleText(flat: JsonObject, chance: Chance): string {
  const least = Math.min(limitOf(flat.minLength) ?? 0, LONGEST);
  const most = Math.max(least, Math.min(limitOf(flat.maxLength) ?? LONGEST, LONGEST));
  if (typeof flat.pattern === "string") {
    const match = readPattern(flat.pattern);
    for (const longer of [0, 1, 3, 8, 20, 60, 200, 1_000, 5_000]) {
      const text = match(chance, longer);
      if (text.length >= least && text.length <= most) return text;
    }
    return match(chance, 0);
  }
  const formatted = FORMATS[textOf(flat.format)]?.(chance);
  if (formatted !== undefined) return formatted;
  let text = chooseWords(chance.between(1, 3), chance);
  while (text.length < least) text += ` ${chooseWords(8, chance)}`;
  return text.slice(0, most).replace(/ $/, "x");
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");
const hex = (length: number, chance: Chance): string =>
  Array.from({ length }, () => chance.between(0, 15).toString(16)).join("");
const date = (chance: Chance): string =>
  `20${chance.between(10, 29)}-${twoDigits(chance.between(1, 12))}-${twoDigits(chance.between(1, 28))}`;
const time = (chance: Chance): string =>
  `${twoDigits(chance.between(0, 23))}:${twoDigits(chance.between(0, 59))}:${twoDigits(chance.between(0, 59))}Z`;
const word = (chance: Chance): string => chooseWords(1, chance);
const host = (chance: Chance): string => `${word(chance)}.example.com`;
const uri = (chance: Chance): string => `https://${host(chance)}/${word(chance)}`;
const email = (chance: Chance): string => `${word(chance)}@example.com`;

/** Formats of https://json-schema.org/draft/2020-12/json-schema-validation#section-7.3 */
const FORMATS: Readonly<Record<string, (chance: Chance) => string>> = {
  "date-time": (chance) => `${date(chance)}T${time(chance)}`,
  date,
  time,
  duration: (chance) => `P${chance.between(1, 30)}D`,
  email,
  "idn-email": email,
  hostname: host,
  "idn-hostname": host,
  ipv4: (chance) => `192.0.2.${chance.between(1, 254)}`,
  ipv6: (chance) => `2001:db8::${hex(4, chance)}`,
  uri,
  "uri-reference": uri,
  iri: uri,
  "iri-reference": uri,
  url: uri,
  uuid: (chance) =>
    `${hex(8, chance)}-${hex(4, chance)}-4${hex(3, chance)}-a${hex(3, chance)}-${hex(12, chance)}`,
  "json-pointer": (chance) => `/${word(chance)}`,
  "relative-json-pointer": () => "0",
  "uri-template": uri,
  regex: (chance) => `^${word(chance)}$`,
  byte: (chance) => btoa(word(chance)),
};
