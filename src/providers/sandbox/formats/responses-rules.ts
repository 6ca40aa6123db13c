import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { numberOf, objectOf, textOf } from "../members.ts";
import { type AskContext, type Fault, refuseFirst } from "./ask.ts";
import { base64In, canBeFollowed, isBase64 } from "./given-media.ts";

/** The least that may be asked for. */
const LEAST_OUTPUT = 16;

/**
 * Refuses what OpenAI's servers refuse of Responses and the gateway lets up to them, in their words. Also refuses
 * reasoning that is not the sandbox's or was changed. Sources: recorded errors and
 * https://platform.openai.com/docs/api-reference/responses.
 */
export function checkResponses(body: JsonObject, items: readonly JsonObject[], context: AskContext): void {
  refuseFirst(faultsOf(body, items, context));
}

function* faultsOf(body: JsonObject, items: readonly JsonObject[], { seal }: AskContext): Iterable<Fault> {
  const most = numberOf(body.max_output_tokens) ?? LEAST_OUTPUT;
  if (most < LEAST_OUTPUT)
    yield [
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${LEAST_OUTPUT}, but got ${most} instead.`,
      "max_output_tokens",
    ];
  for (const [i, item] of items.entries()) {
    for (const part of [...objectsIn(item.content), ...objectsIn(item.output)])
      yield* faultsOfMedia(part, `input[${i}]`);
    const sealed = item.type === "reasoning" ? item.encrypted_content : undefined;
    if (typeof sealed === "string" && !seal.isToken(sealed))
      yield [
        "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        `input[${i}].encrypted_content`,
      ];
  }
  yield* faultsOfCalls(items);
  const told = [body.instructions, ...items.map(({ content }) => content)];
  if (
    objectOf(objectOf(body.text).format).type === "json_object" &&
    !told.some((text) => /json/i.test(JSON.stringify(text) ?? ""))
  )
    yield [
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
      "input",
    ];
}

function* faultsOfMedia(part: JsonObject, path: string): Iterable<Fault> {
  const url = textOf(part.image_url);
  if (!canBeFollowed(url)) yield [`Error while downloading ${url.slice(0, 100)}.`, `${path}.image_url`];
  if (/^data:/i.test(url) && !isBase64(base64In(url) ?? ""))
    yield ["Invalid base64 image_url.", `${path}.image_url`];
  const { file_data: file, input_audio: audio } = part;
  if (typeof file === "string" && !isBase64(base64In(file) ?? file))
    yield ["Invalid file data: expected base64-encoded data.", `${path}.file_data`];
  if (audio !== undefined && !isBase64(textOf(objectOf(audio).data)))
    yield ["Invalid base64 input_audio.", `${path}.input_audio.data`];
}

/** Every call has its output behind it, and every output its call before it. */
function* faultsOfCalls(items: readonly JsonObject[]): Iterable<Fault> {
  const idsOf = (types: RegExp): ReadonlySet<string> =>
    new Set(items.filter(({ type }) => types.test(textOf(type))).map((item) => textOf(item.call_id)));
  const [called, answered] = [idsOf(/^(function|custom_tool)_call$/), idsOf(/_call_output$/)];
  for (const { type, call_id: id } of items) {
    const isCall = type === "function_call" || type === "custom_tool_call";
    const isOutput = type === "function_call_output" || type === "custom_tool_call_output";
    const kind = textOf(type).startsWith("custom") ? "custom tool call" : "function call";
    if (isCall && !answered.has(textOf(id)))
      yield [`No tool output found for ${kind} ${textOf(id).slice(0, 100)}.`, "input"];
    if (isOutput && !called.has(textOf(id)))
      yield [`No tool call found for ${kind} output with call_id ${textOf(id).slice(0, 100)}.`, "input"];
  }
}
