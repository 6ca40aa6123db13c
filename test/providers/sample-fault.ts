import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { createChance } from "../../src/providers/sandbox/chance.ts";
import { sampleValue } from "../../src/providers/sandbox/samples/sample.ts";

const options = { strict: false, logger: false, validateSchema: false } as const;
const validators = { "2020": new Ajv2020(options), "7": new Ajv(options) };
for (const validator of Object.values(validators)) addFormats.default(validator);

/** What an independent validator says against the value that was made of a schema; null where it accepts it. */
export function faultOf(schema: object, seed: string, draft: "2020" | "7" = "2020"): string | null {
  const ajv = validators[draft];
  const value = sampleValue(schema, createChance(seed));
  const accepts = ajv.compile(schema);
  ajv.removeSchema(schema);
  return accepts(value)
    ? null
    : `${JSON.stringify(value)} by ${JSON.stringify(schema)}: ${ajv.errorsText(accepts.errors)}`;
}
