import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { numberOf, objectOf, textOf } from "../members.ts";
import { type AskContext, refuse } from "./ask.ts";
import { checkAudio, checkFile, checkUrl } from "./openai.ts";

/** The least that may be asked for. */
const LEAST_OUTPUT = 16;

/**
 * Refuses what OpenAI's servers refuse of Responses and the gateway lets up to them, in their words. Also refuses
 * reasoning that is not the sandbox's or was changed. Sources: recorded errors and
 * https://platform.openai.com/docs/api-reference/responses.
 */
export function checkResponses(body: JsonObject, items: readonly JsonObject[], { seal }: AskContext): void {
  const most = numberOf(body.max_output_tokens) ?? LEAST_OUTPUT;
  if (most < LEAST_OUTPUT)
    refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${LEAST_OUTPUT}, but got ${most} instead.`,
      "max_output_tokens",
    );
  for (const [i, item] of items.entries()) {
    const path = `input[${i}]`;
    for (const part of [...objectsIn(item.content), ...objectsIn(item.output)]) checkMedia(part, path);
    const sealed = item.type === "reasoning" ? item.encrypted_content : undefined;
    if (typeof sealed === "string" && !seal.isToken(sealed))
      refuse(
        "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        `${path}.encrypted_content`,
      );
  }
  checkCalls(items);
  const told = JSON.stringify([body.instructions, items.map(({ content }) => content)]);
  if (objectOf(objectOf(body.text).format).type === "json_object" && !/json/i.test(told))
    refuse(
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
      "input",
    );
}

function checkMedia({ image_url, file_data: file, input_audio: audio }: JsonObject, path: string): void {
  const url = textOf(image_url);
  checkUrl(url, "image_url", `${path}.image_url`, url.slice(0, 100));
  if (typeof file === "string") checkFile(file, `${path}.file_data`);
  if (audio !== undefined) checkAudio(objectOf(audio).data, `${path}.input_audio.data`);
}

/** Every call has its output behind it, and every output its call before it. */
function checkCalls(items: readonly JsonObject[]): void {
  const idsOf = (types: RegExp): ReadonlySet<string> =>
    new Set(items.filter(({ type }) => types.test(textOf(type))).map((item) => textOf(item.call_id)));
  const [called, answered] = [idsOf(/^(function|custom_tool)_call$/), idsOf(/_call_output$/)];
  for (const { type, call_id: id } of items) {
    const [, of, isOutput] = /^(function|custom_tool)_call(_output)?$/.exec(textOf(type)) ?? [];
    if (of === undefined) continue;
    const kind = `${of.replace("_", " ")} call`;
    if (isOutput === undefined && !answered.has(textOf(id)))
      refuse(`No tool output found for ${kind} ${textOf(id).slice(0, 100)}.`, "input");
    if (isOutput !== undefined && !called.has(textOf(id)))
      refuse(`No tool call found for ${kind} output with call_id ${textOf(id).slice(0, 100)}.`, "input");
  }
}
