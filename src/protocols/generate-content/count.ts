import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { InputCount, RelayTarget, TokenCounter, UpstreamBody, WireRequest } from "../protocol.ts";
import { bodyWithin, invalid, readRequestJson } from "../request-json.ts";
import { generateContent } from "./index.ts";
import { type GenerateContentRequest, readChecked } from "./request.ts";
import { COUNT_FIELDS } from "./schema.ts";
import { fieldName } from "./spelling.ts";
import { changeFields } from "./upstream-body.ts";

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

function readRequest(wire: WireRequest): CountRequest {
  const json = readRequestJson({ body: wire.body });
  const given = Object.keys(json.value).filter((name) => json.value[name] !== null);
  const whole = given.find((name) => fieldName(name) === "generateContentRequest");
  if (whole === undefined) return { ...readChecked(json, wire), wrapped: false };
  if (given.length > 1) throw invalid(`${whole} holds the whole request: all else goes within it.`, whole);
  if (!isJsonObject(json.value[whole])) throw invalid(`${whole} must be an object.`, whole);
  return { ...readChecked(bodyWithin(json, whole), wire), wrapped: true };
}

/**
 * The request's own bytes with what nobody counts taken out. `contents` alone go up as they came; the reference takes
 * all else within `generateContentRequest` only, where the model is named.
 */
function upstreamBody(request: CountRequest, target: RelayTarget): UpstreamBody {
  const { json, wrapped } = request;
  const changes = changeFields(request, target, COUNT_FIELDS);
  const { warnings } = changes;
  const kept = Object.keys(json.value).filter((name) => !changes.removes([name]));
  if (!wrapped && kept.every((name) => fieldName(name) === "contents"))
    return { body: changes.splice(json), warnings };
  changes.set(["model"], `models/${target.upstreamId}`);
  return { body: [OPEN, ...changes.splice(json), CLOSE], warnings };
}

const OPEN = new TextEncoder().encode('{"generateContentRequest":');
const CLOSE = new TextEncoder().encode("}");

function encodeCount({ total, byKind }: InputCount): JsonObject {
  const promptTokensDetails = Object.entries(byKind).map(([kind, tokenCount]) => ({
    modality: kind === "pdf" ? "DOCUMENT" : kind.toUpperCase(),
    tokenCount,
  }));
  return { totalTokens: total, promptTokensDetails };
}
