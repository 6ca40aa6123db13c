import { type Changes, openChanges } from "../changes.ts";
import { type TargetLoss, targetSentences } from "../losses.ts";
import type { PlaceNames, RelayTarget, UpstreamBody } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import { checkFields, type FieldTable } from "../field-table.ts";
import { betaName, relayedBetas } from "./betas.ts";
import { leaveForeignThinking } from "./foreign-thinking.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";
import { COUNT_FIELDS, MESSAGES_FIELDS } from "./schema.ts";
import { changeThinking, MAX_TOKENS } from "./thinking.ts";
import { BOUNDS, toolKind } from "./tools.ts";

/**
 * The request as the target takes it: its own bytes, with these rewrites and no others:
 * - The model's id becomes the upstream id.
 * - The bound on output is one that the model keeps to.
 * - `thinking` is put in the words that the model knows.
 * - Sampling is what the model takes.
 * - Searches get a bound where there is none.
 * - Thinking that the target's vendor did not sign is taken out.
 * - Fields that nobody knows, or that need a preview which was not asked for, are taken out.
 *
 * A warning names each, the id aside. Throws a 400 for a field that changes the price. Throws one also for a field of a
 * preview that was not asked for, where the answer would be another one.
 */
export function upstreamBody(
  request: MessagesRequest,
  target: RelayTarget,
  names?: PlaceNames,
): UpstreamBody {
  return rewriteBody(request, target, { fields: MESSAGES_FIELDS, names }, (changes) => {
    const maxTokens = boundOutput(request, target, changes);
    const thinks = changeThinking(request, target.model, maxTokens, changes);
    changeSampling(request, target.model, thinks, changes);
    boundUses(request, changes);
  });
}

/** The same for a request to count: what is said of an answer is left out, nothing is bounded. */
export function countBody(request: CountRequest, target: RelayTarget): UpstreamBody {
  return rewriteBody(request, target, { fields: COUNT_FIELDS }, (changes) => {
    changeThinking(request, target.model, Infinity, changes);
  });
}

function rewriteBody(
  request: CountRequest,
  target: RelayTarget,
  { fields, names }: { readonly fields: FieldTable; readonly names?: PlaceNames | undefined },
  more: (changes: Changes) => void,
): UpstreamBody {
  const changes = openChanges(targetSentences(target.model.id, names));
  const relayed = relayedBetas(request.betas, (loss) => changes.warn(loss));
  const previews = new Set([...relayed].map(betaName));
  changes.set(["model"], target.upstreamId);
  checkFields(Object.entries(request.json.value), target, fields, changes, (name) =>
    judgePreview(request, previews, name, changes),
  );
  leaveForeignThinking(request, target, changes);
  more(changes);
  return {
    body: changes.splice(request.json),
    ...(relayed.size === 0 ? {} : { headers: { "anthropic-beta": [...relayed].join(",") } }),
    warnings: changes.warnings,
  };
}

/** A field of a preview goes up with its preview only: without it the provider refuses the whole request. */
function judgePreview(
  request: CountRequest,
  previews: ReadonlySet<string>,
  name: string,
  changes: Changes,
): void {
  const field = MESSAGES_FIELDS.fields[name];
  if (field?.rule !== "preview") return;
  const asked = previews.has(field.preview);
  // Other edits write a summary, by a call of their own that no bound of this request covers.
  const edits = name === "context_management" ? (request.body.context_management?.edits ?? []) : [];
  if (asked && edits.every(({ type }) => type.startsWith("clear_"))) return;
  if (field.needed !== undefined && request.json.value[name] !== null) throw invalid(field.needed, name);
  changes.remove([name]);
  changes.warn(
    asked
      ? `${name} was left out: of its edits only those that clear are relayed`
      : `${name} was left out: it needs the preview ${field.preview}, which was not asked for or is not relayed`,
  );
}

function boundOutput(request: MessagesRequest, { model }: RelayTarget, changes: Changes): number {
  const asked = request.body.max_tokens;
  if (model.maxOutput === null || asked <= model.maxOutput) return asked;
  changes.set(["max_tokens"], model.maxOutput);
  changes.warn({ ...MAX_TOKENS, why: "most_output", most: model.maxOutput });
  return model.maxOutput;
}

/** The least `top_p` that a model takes while it thinks. */
const LEAST_THINKING_TOP_P = 0.95;

const TEMPERATURE = { field: "temperature", place: "temperature" } as const;
const TOP_K = { field: "top_k", place: "topK" } as const;
const TOP_P = { field: "top_p", place: "topP" } as const;

/**
 * Sampling as the model takes it, by its data. Fields that it refuses together, or beside thinking, are left out. A
 * temperature above its own range is lowered. `thinks` says whether it will think by a budget.
 */
function changeSampling(
  request: MessagesRequest,
  { sampling }: RelayTarget["model"],
  thinks: boolean,
  changes: Changes,
): void {
  if (sampling === undefined) return;
  const { temperature, top_p } = request.body;
  const leaveOut = (loss: TargetLoss): void => {
    if (changes.removes([loss.field])) return;
    changes.remove([loss.field]);
    changes.warn(loss);
  };
  if (thinks && sampling.fixedWhileThinking) {
    const why = "not_while_thinking";
    if (temperature !== undefined && temperature !== 1) leaveOut({ ...TEMPERATURE, why });
    if (top_p !== undefined && top_p < LEAST_THINKING_TOP_P) leaveOut({ ...TOP_P, why });
    if (request.body.top_k !== undefined) leaveOut({ ...TOP_K, why });
  }
  if (temperature === undefined || changes.removes(["temperature"])) return;
  const most = sampling.maxTemperature;
  if (most !== undefined && temperature > most) {
    changes.set(["temperature"], most);
    changes.warn({ ...TEMPERATURE, why: "most_taken", most });
  }
  if (sampling.eitherTemperatureOrTopP && top_p !== undefined)
    leaveOut({ ...TOP_P, why: "not_together", other: TEMPERATURE });
}

/** Without a bound of its own a tool that searches or reads could do so more often than was held for. */
function boundUses({ body: { tools } }: MessagesRequest, changes: Changes): void {
  if (tools === undefined || changes.removes(["tools"])) return;
  tools.forEach((tool, i) => {
    for (const [name, bound] of Object.entries(BOUNDS[toolKind(tool, i)])) {
      if (typeof (tool as Readonly<Record<string, unknown>>)[name] === "number") continue;
      changes.set(["tools", i, name], bound);
      changes.warn(`tools[${i}].${name} was set to ${bound}: it had no bound`);
    }
  });
}
