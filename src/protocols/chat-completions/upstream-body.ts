import { openScan, readMembers, type Member } from "../../core/json-scan.ts";
import { spliceObject } from "../../core/json-splice.ts";
import type { RelayTarget, UpstreamBody } from "../protocol.ts";
import { indexMembers, invalid } from "../request-json.ts";
import { checkFields, ignores, openRewrite, type Rewrite, rewritten } from "../rewrite.ts";
import { CHAT_FIELDS } from "./fields.ts";
import { type ChatRequest, unknownPart } from "./request.ts";

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others: the model's upstream id,
 * the bound on output under the name the target knows, `stream_options.include_usage`, fields that the model
 * ignores or that nobody knows taken out with a warning, `reasoning` and `thinking` in the target's own words.
 * Throws a 400 that names a field which the target cannot express.
 */
export function upstreamBody(request: ChatRequest, target: RelayTarget): UpstreamBody {
  const rewrite = openRewrite();
  rewrite.replace.set(member(request, "model"), JSON.stringify(target.upstreamId));
  checkFields(request.json, target, CHAT_FIELDS, rewrite, (name, at) =>
    inTargetsWords(request, target, name, at, rewrite),
  );
  checkParts(request, target);
  boundOutput(request, target, rewrite);
  if (request.stream && target.streamUsageOption) askForUsage(request, rewrite);
  return { body: rewritten(request.json, rewrite), warnings: rewrite.warnings };
}

function member(request: ChatRequest, name: string): Member {
  const found = request.json.byName.get(name);
  if (found === undefined) throw new Error(`The request has no ${name}.`);
  return found;
}

function valueOf(request: ChatRequest, name: string): unknown {
  return (request.body as Readonly<Record<string, unknown>>)[name];
}

/** `reasoning`, `thinking` and `image_config` for a target that has only `reasoning_effort`. */
function inTargetsWords(
  request: ChatRequest,
  target: RelayTarget,
  name: string,
  at: Member,
  rewrite: Rewrite,
): void {
  rewrite.remove.add(at);
  const effort = name === "reasoning" ? request.body.reasoning?.effort : undefined;
  if (
    typeof effort === "string" &&
    !request.json.byName.has("reasoning_effort") &&
    !ignores(target, "reasoning_effort")
  ) {
    rewrite.append.push(`"reasoning_effort":${JSON.stringify(effort)}`);
    return;
  }
  rewrite.warnings.push(`${name} was left out: this model's provider has no such field`);
}

function checkParts(request: ChatRequest, target: RelayTarget): void {
  if (target.unknownFields === "pass") return;
  const path = unknownPart(request.body);
  if (path !== undefined) {
    throw invalid(`${path} must be one of text, image_url, video_url, audio_url, input_audio, file.`, path);
  }
}

function boundOutput(request: ChatRequest, target: RelayTarget, rewrite: Rewrite): void {
  const field = target.model.maxTokensField;
  const name = MAX_FIELDS.find((candidate) => valueOf(request, candidate) !== undefined);
  const others = MAX_FIELDS.filter((candidate) => candidate !== name).map((other) =>
    request.json.byName.get(other),
  );
  if (name === undefined) {
    if (target.outputBound === undefined) return;
    removeAll(others, rewrite);
    rewrite.append.push(`"${field}":${target.outputBound}`);
    return;
  }
  // One bound goes up: the alias, and one that was null, would stand beside it under the same name.
  removeAll(others, rewrite);
  const asked = member(request, name);
  if (name !== field) rewrite.rename.set(asked, `"${field}"`);
  const most = target.model.maxOutput;
  if (most !== null && (valueOf(request, name) as number) > most) {
    rewrite.replace.set(asked, String(most));
    rewrite.warnings.push(`${name} was lowered to ${most}: ${target.model.id} puts out no more`);
  }
}

/** The first that is set counts. */
const MAX_FIELDS = ["max_completion_tokens", "max_tokens"] as const;

function removeAll(members: readonly (Member | undefined)[], rewrite: Rewrite): void {
  for (const at of members) if (at !== undefined) rewrite.remove.add(at);
}

/** Without usage in the stream there would be nothing to bill by. */
function askForUsage(request: ChatRequest, rewrite: Rewrite): void {
  const options = request.json.byName.get("stream_options");
  if (options === undefined) {
    rewrite.append.push('"stream_options":{"include_usage":true}');
    return;
  }
  if (request.body.stream_options === undefined) {
    rewrite.replace.set(options, '{"include_usage":true}');
    return;
  }
  const bytes = request.json.bytes.subarray(options.valueStart, options.valueEnd);
  const members = readMembers(openScan(bytes)) ?? [];
  const byName = indexMembers(bytes, members);
  if (request.body.stream_options?.include_usage === true) return;
  const include = byName.get("include_usage");
  const changes =
    include === undefined ? { append: ['"include_usage":true'] } : { replace: new Map([[include, "true"]]) };
  const spliced = spliceObject(bytes, members, changes);
  rewrite.replace.set(options, new TextDecoder().decode(spliced));
}
