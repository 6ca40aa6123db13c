import type { ChatEvent } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import { encodeUsage } from "../usage.ts";
import { endMembers, openPartWriter } from "./encode-parts.ts";

/** The id that an answer is known by here, from its provider's where there is one. */
export function answerId(providerId: string | undefined, { requestId }: AnswerContext): string {
  return providerId === undefined || providerId === "" ? requestId : providerId;
}

/** The error of an answer that its model broke off: clients of the format take any reason to stop for an answer. */
export function brokenOff(): GatewayError {
  return new GatewayError("upstream_error", "The model broke off its answer with an error of its own.");
}

/**
 * A whole answer from its events, up to the charge: what a client makes of the same events in a stream. Throws for one
 * that the model broke off.
 */
export function encodeAnswer(
  events: readonly ChatEvent[],
  { usage }: Metered,
  context: AnswerContext,
): JsonObject {
  const said = new Map<number, JsonObject[]>();
  const sink = {
    part: (candidate: number, part: JsonObject) =>
      addPart(
        said.getOrInsertComputed(candidate, () => []),
        part,
      ),
  };
  const writer = openPartWriter(sink, context);
  for (const event of events) writer.push(event);
  const candidates = [...writer.ends]
    .toSorted(([a], [b]) => a - b)
    .map(([index, end]) => {
      const members = endMembers(end);
      if (members === undefined) throw brokenOff();
      const content = { parts: said.get(index) ?? [{ text: "" }], role: "model" };
      return Object.assign({ content }, members, { index });
    });
  const start = events.find((event) => event.type === "start");
  return {
    candidates,
    usageMetadata: encodeUsage(usage),
    modelVersion: context.model,
    responseId: answerId(start?.id, context),
  };
}

/** More of a text is the same part, as long as nothing is signed. */
function addPart(parts: JsonObject[], part: JsonObject): void {
  const last = parts.at(-1);
  const isMore =
    typeof part.text === "string" &&
    typeof last?.text === "string" &&
    part.thought === last.thought &&
    part.thoughtSignature === undefined;
  if (isMore) last.text = `${String(last.text)}${String(part.text)}`;
  else parts.push({ ...part });
}
