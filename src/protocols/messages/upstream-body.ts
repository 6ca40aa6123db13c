import { eachItem, type Member, openScan } from "../../core/json-scan.ts";
import { objectEdits } from "../../core/json-splice.ts";
import type { RelayTarget, UpstreamBody } from "../protocol.ts";
import { invalid, membersAt } from "../request-json.ts";
import { checkFields, type FieldTable, openRewrite, type Rewrite, rewritten } from "../rewrite.ts";
import { betaName, relayedBetas } from "./betas.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";
import { rewriteSampling } from "./sampling.ts";
import { COUNT_FIELDS, MESSAGES_FIELDS } from "./schema.ts";
import { rewriteThinking } from "./thinking.ts";
import { boundsOf, toolKind } from "./tools.ts";

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others: the model's upstream id, a
 * bound on output that the model keeps to, `thinking` in the words that the model knows, sampling that it takes, a
 * bound on searches where there is none, and fields out that nobody knows or that need a preview which was not asked
 * for. Each is named in a warning, the id aside. Throws a 400 for a field that changes the price, and for one of a
 * preview that was not asked for where the answer would be another one.
 */
export function upstreamBody(request: MessagesRequest, target: RelayTarget): UpstreamBody {
  return rewriteBody(request, target, MESSAGES_FIELDS, (rewrite) => {
    const maxTokens = boundOutput(request, target, rewrite);
    const thinks = rewriteThinking(request, target.model, maxTokens, rewrite);
    rewriteSampling(request, target.model, thinks, rewrite);
    boundUses(request, rewrite);
  });
}

/** The same for a request to count: what is said of an answer is left out, nothing is bounded. */
export function countBody(request: CountRequest, target: RelayTarget): UpstreamBody {
  return rewriteBody(request, target, COUNT_FIELDS, (rewrite) => {
    rewriteThinking(request, target.model, Infinity, rewrite);
  });
}

function rewriteBody(
  request: CountRequest,
  target: RelayTarget,
  fields: FieldTable,
  more: (rewrite: Rewrite) => void,
): UpstreamBody {
  const rewrite = openRewrite();
  const { relayed, warnings } = relayedBetas(request.betas);
  rewrite.warnings.push(...warnings);
  rewrite.replace.set(member(request, "model"), JSON.stringify(target.upstreamId));
  checkFields(request.json, target, fields, rewrite, (name, at) =>
    judgePreview(request, relayed, name, at, rewrite),
  );
  more(rewrite);
  return {
    body: rewritten(request.json, rewrite),
    ...(relayed.length === 0 ? {} : { headers: { "anthropic-beta": relayed.join(",") } }),
    warnings: rewrite.warnings,
  };
}

function member(request: CountRequest, name: string): Member {
  const found = request.json.byName.get(name);
  if (found === undefined) throw new Error(`The request has no ${name}.`);
  return found;
}

/** A field of a preview goes up with its preview only: without it the provider refuses the whole request. */
function judgePreview(
  request: CountRequest,
  relayed: readonly string[],
  name: string,
  at: Member,
  rewrite: Rewrite,
): void {
  const field = MESSAGES_FIELDS.fields[name];
  if (field?.rule !== "preview") return;
  const asked = relayed.some((value) => betaName(value) === field.preview);
  // Other edits write a summary, by a call of their own that no bound of this request covers.
  const edits = name === "context_management" ? (request.body.context_management?.edits ?? []) : [];
  const other = edits.find(({ type }) => !type.startsWith("clear_"));
  if (asked && other === undefined) return;
  if (field.needed !== undefined && request.json.value[name] !== null) throw invalid(field.needed, name);
  rewrite.remove.add(at);
  rewrite.warnings.push(
    asked
      ? `${name} was left out: of its edits only those that clear are relayed`
      : `${name} was left out: it needs the preview ${field.preview}, which was not asked for or is not relayed`,
  );
}

function boundOutput(request: MessagesRequest, { model }: RelayTarget, rewrite: Rewrite): number {
  const asked = request.body.max_tokens;
  if (model.maxOutput === null || asked <= model.maxOutput) return asked;
  rewrite.replace.set(member(request, "max_tokens"), String(model.maxOutput));
  rewrite.warnings.push(`max_tokens was lowered to ${model.maxOutput}: ${model.id} puts out no more`);
  return model.maxOutput;
}

/** Without a bound of its own a tool that searches or reads could do so more often than was held for. */
function boundUses(request: MessagesRequest, rewrite: Rewrite): void {
  const { json, body } = request;
  const at = json.byName.get("tools");
  if (at === undefined || body.tools === undefined || rewrite.remove.has(at)) return;
  const { tools } = body;
  let i = -1;
  eachItem(openScan(json.bytes, at.valueEnd), at.valueStart, (valueStart, valueEnd) => {
    i += 1;
    const tool = tools[i];
    if (tool === undefined) return;
    const missing = Object.entries(boundsOf(toolKind(tool, i))).filter(
      ([name]) => typeof (tool as Readonly<Record<string, unknown>>)[name] !== "number",
    );
    if (missing.length === 0) return;
    const members = membersAt(json, valueStart, valueEnd);
    const replace = new Map<Member, string>();
    const append: string[] = [];
    for (const [name, bound] of missing) {
      const nulled = members.byName.get(name);
      if (nulled === undefined) append.push(`"${name}":${bound}`);
      else replace.set(nulled, String(bound));
      rewrite.warnings.push(`tools[${i}].${name} was set to ${bound}: it had no bound`);
    }
    rewrite.within.push(...objectEdits(json.bytes, members.members, { append, replace }, valueStart));
  });
}
