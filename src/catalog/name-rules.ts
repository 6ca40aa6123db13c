import { readFileSync } from "node:fs";
import { Type } from "typebox";
import { parse as parseYaml } from "yaml";
import { compileSchema, faultSentence } from "../core/schema.ts";

/** What the catalogue knows of names beside what its models say themselves. */
export interface NameRules {
  /**
   * A name without the longest of its endings that mark a date or a stage of the same model. `undefined` where it has
   * none of them.
   */
  withoutEnding(name: string): string | undefined;
  /** Names that clients send by themselves for models that are not in the catalogue, and the id that serves instead. */
  readonly aliases: ReadonlyMap<string, string>;
}

/** No ending, no alias. */
export const NO_NAME_RULES: NameRules = { withoutEnding: () => undefined, aliases: new Map() };

const NameFileSchema = Type.Object(
  {
    endings: Type.Array(Type.String({ pattern: "^[a-zA-Z0-9-]+$" }), { minItems: 1, uniqueItems: true }),
    // Null is what YAML makes of it when every line below it was deleted.
    aliases: Type.Union([
      Type.Record(Type.String({ minLength: 1 }), Type.String({ minLength: 1 })),
      Type.Null(),
    ]),
  },
  { additionalProperties: false },
);

const nameFile = compileSchema(NameFileSchema);

/** Reads the file of names. Throws a sentence that names it when it cannot be used. */
export function loadNameRules(file: string): NameRules {
  const data: unknown = parseYaml(readFileSync(file, "utf8"), { strict: true, uniqueKeys: true });
  if (!nameFile.accepts(data))
    throw new Error(`The file of names ${file} cannot be used: ${faultSentence(nameFile.faultOf(data))}`);
  return nameRules(data.endings, Object.entries(data.aliases ?? {}));
}

/** Rules of endings as the file writes them, and of aliases. */
export function nameRules(
  endings: readonly string[],
  aliases: Iterable<readonly [string, string]>,
): NameRules {
  // The shortest beginning has the longest ending: of 2025-08-07 nothing is left over.
  const ending = new RegExp(`^(.+?)-(?:${endings.map(digits).join("|")})$`);
  return { withoutEnding: (name) => ending.exec(name)?.[1], aliases: new Map(aliases) };
}

/** The parts of a date, each as the digits that it can have. */
const DATE_PARTS: Readonly<Record<string, string>> = {
  YYYY: "20\\d\\d",
  YY: "2\\d",
  MM: "(?:0[1-9]|1[0-2])",
  DD: "(?:0[1-9]|[12]\\d|3[01])",
};

function digits(ending: string): string {
  return ending.replaceAll(/YYYY|YY|MM|DD/g, (part) => DATE_PARTS[part] ?? part);
}
