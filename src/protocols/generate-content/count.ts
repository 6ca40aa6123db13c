import { joinBytes } from "../../core/bytes.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { Modality } from "../../core/model.ts";
import type { InputCount, RelayTarget, TokenCounter, UpstreamBody, WireRequest } from "../protocol.ts";
import { bodyWithin, invalid, readRequestJson } from "../request-json.ts";
import { rewritten } from "../rewrite.ts";
import { generateContent } from "./index.ts";
import { type GenerateContentRequest, readChecked } from "./request.ts";
import { COUNT_FIELDS } from "./schema.ts";
import { fieldName } from "./spelling.ts";
import { rewriteFields } from "./upstream-body.ts";

/** A request to count, and whether it came within `generateContentRequest`. */
interface CountRequest extends GenerateContentRequest {
  readonly wrapped: boolean;
}

/** How tokens of generateContent are counted: https://ai.google.dev/api/tokens */
export const generateContentCounter: TokenCounter = {
  protocol: generateContent,
  upstreamPath: (id) => `/v1beta/models/${id}:countTokens`,
  readRequest,
  // A request only ever comes back to the counter that read it.
  upstreamBody: (request, target) => upstreamBody(request as CountRequest, target),
  countIn: (answer) => answer.totalTokens,
  encodeCount,
};

function readRequest({ body, address }: WireRequest): CountRequest {
  if (address === undefined) throw new Error("The route did not say which model it is about.");
  const json = readRequestJson({ body });
  const given = [...json.byName].filter(([name]) => json.value[name] !== null);
  const whole = given.find(([name]) => fieldName(name) === "generateContentRequest");
  if (whole === undefined) return { ...readChecked(json, address), wrapped: false };
  const [name, at] = whole;
  if (given.length > 1) throw invalid(`${name} holds the whole request: all else goes within it.`, name);
  if (!isJsonObject(json.value[name])) throw invalid(`${name} must be an object.`, name);
  return { ...readChecked(bodyWithin(json, name, at), address), wrapped: true };
}

/**
 * The request's own bytes with what nobody counts taken out. `contents` alone go up as they came; the reference takes
 * all else within `generateContentRequest` only, where the model is named.
 */
function upstreamBody(request: CountRequest, target: RelayTarget): UpstreamBody {
  const { json, wrapped } = request;
  const rewrite = rewriteFields(request, target, COUNT_FIELDS);
  const { warnings } = rewrite;
  const kept = [...json.byName].filter(([, at]) => !rewrite.remove.has(at));
  if (!wrapped && kept.every(([name]) => fieldName(name) === "contents"))
    return { body: rewritten(json, rewrite), warnings };
  const model = JSON.stringify(`models/${target.upstreamId}`);
  const at = json.byName.get("model");
  if (at === undefined) rewrite.append.push(`"model":${model}`);
  else rewrite.replace.set(at, model);
  return { body: joinBytes([OPEN, rewritten(json, rewrite), CLOSE]), warnings };
}

const OPEN = new TextEncoder().encode('{"generateContentRequest":');
const CLOSE = new TextEncoder().encode("}");

const MODALITIES: Readonly<Record<Modality, string>> = {
  text: "TEXT",
  image: "IMAGE",
  audio: "AUDIO",
  video: "VIDEO",
  pdf: "DOCUMENT",
};

function encodeCount({ total, byKind }: InputCount) {
  const kinds = Object.entries(byKind) as [Modality, number][];
  return {
    totalTokens: total,
    promptTokensDetails: kinds.map(([kind, tokenCount]) => ({ modality: MODALITIES[kind], tokenCount })),
  };
}
