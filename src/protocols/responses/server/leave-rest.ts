import { fieldOf } from "../../../catalog/parameter-tables/field.ts";
import { RESPONSES } from "../../../catalog/parameter-tables/responses.ts";
import { unknownField } from "../../meant-field.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { RESPONSES_FIELDS, type ResponsesRequestBody } from "../schema.ts";

/** What clients ask to be given beside the answer that has no place here or is there by itself. */
const INCLUDED =
  /^(reasoning\.encrypted_content|(web_search|file_search|code_interpreter|computer)_call.*|message\.(input_image\.image_url|output_text\.logprobs))$/;

/** Values that ask for nothing, of fields that have no place. */
const SILENT: Readonly<Record<string, unknown>> = { truncation: "disabled" };

/** Goes over the fields that have no place: those that change the answer or its price are refused. */
export function leaveRest(body: ResponsesRequestBody, warn: Warn): void {
  for (const [name, value] of Object.entries(body)) {
    const field = fieldOf(RESPONSES, name);
    if (field === undefined) warn(unknownField(name, RESPONSES_FIELDS.format, RESPONSES_FIELDS.meant(name)));
    else if (field.place !== undefined || value === SILENT[name]) continue;
    else warn(`${name} was left out: this model's provider has no such field`);
  }
  if (body.reasoning?.mode === "pro")
    throw wrong("reasoning.mode", "changes the price, and this model has no price for it: leave it out");
  if (body.service_tier !== undefined && body.service_tier !== "auto" && body.service_tier !== "default")
    warn("service_tier became default: another one has no price here");
  for (const asked of body.include ?? [])
    if (!INCLUDED.test(asked))
      warn(`include ${printable(asked)} was left out: this model's provider does not give it`);
}
