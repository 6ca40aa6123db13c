import type { Chance } from "../chance.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
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
  const name = textOf(flat.format);
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (format !== undefined)
    return readPattern(format)(chance, 0).replaceAll("~", () => chooseWords(1, chance));
  let text = chooseWords(chance.between(1, 3), chance);
  while (text.length < least) text += ` ${chooseWords(8, chance)}`;
  return text.slice(0, most).replace(/ $/, "x");
}

const DATE = "20[12][0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z";
const EMAIL = "~@example\\.com";
const HOST = "~\\.example\\.com";
const URI = `https://${HOST}/~`;

/** Formats as patterns; `~` is a word: https://json-schema.org/draft/2020-12/json-schema-validation */
const FORMATS: Readonly<Record<string, string>> = {
  "date-time": `${DATE}T${TIME}`,
  date: DATE,
  time: TIME,
  duration: "P[1-9]D",
  email: EMAIL,
  "idn-email": EMAIL,
  hostname: HOST,
  "idn-hostname": HOST,
  ipv4: "192\\.0\\.2\\.[1-9]",
  ipv6: "2001:db8::[1-9a-f]{4}",
  uri: URI,
  "uri-reference": URI,
  iri: URI,
  "iri-reference": URI,
  url: URI,
  uuid: "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}",
  "json-pointer": "/~",
  "relative-json-pointer": "0",
  "uri-template": URI,
  regex: "\\^~\\$",
  byte: "[A-Za-z0-9]{8}",
};
