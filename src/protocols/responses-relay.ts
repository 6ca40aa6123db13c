import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";
import type { AnswerContext, RelayProtocol, RelayRequest, RelayTarget } from "./protocol.ts";
import { responsesClient } from "./responses/client/index.ts";
import { isHosted } from "./responses/hosted-tools.ts";
import { responses } from "./responses/index.ts";
import type { ResponsesRequest } from "./responses/request.ts";
import type { ResponsesItem } from "./responses/schema.ts";
import { asksToCompact } from "./responses/server/compaction.ts";
import { responsesServer } from "./responses/server/index.ts";
import { takesAllTools } from "./responses/target.ts";
import { translate } from "./translate.ts";

/** The format in fewer of its own words: tools of the caller's are functions, and items those that every server knows. */
const narrowed = translate(responsesServer, responsesClient);

/**
 * Responses for a provider that speaks it. Requests are relayed, but for those with tools or items that the provider
 * would refuse and agents send to every model. Those go through the translation as they would to another format.
 */
export const responsesRelay: RelayProtocol = {
  ...responses,
  demandAt: (request, target) => wayFor(request, target).demandAt?.(request, target) ?? request.demand,
  upstreamBody: (request, target, names) => wayFor(request, target).upstreamBody(request, target, names),
  readAnswer: (received, context) => wayOf(context).readAnswer(received, context),
  openStream: (context) => wayOf(context).openStream(context),
};

// A request only ever comes back to the protocol that read it.
function wayFor(request: RelayRequest, target: RelayTarget): RelayProtocol {
  return isTaken((request as ResponsesRequest).body, target) ? responses : narrowed;
}

/** The way that the request went; only the translation tells its answer's writer of calls. */
function wayOf({ echo }: AnswerContext): RelayProtocol {
  return echo !== undefined && "calls" in echo ? narrowed : responses;
}

/** Whether the provider knows every type of tool and item in a request. */
function isTaken({ tools = [], tool_choice: choice, input }: ResponsesRequest["body"], target: RelayTarget) {
  const items = typeof input === "string" ? [] : input;
  if (target.compacts !== true && asksToCompact(items)) return false;
  if (takesAllTools(target)) return true;
  if (isJsonObject(choice) && choice.type === "allowed_tools") return false;
  return tools.every((tool) => tool.type === "function" || isHosted(tool)) && items.every(isPlain);
}

/** Items that only servers know which know all tools. */
const OWN_ITEMS =
  /^(additional_tools|configuration_update|(custom_tool|tool_search|shell|local_shell|apply_patch)_call(_output)?|tool_search_output|image_generation_call|compaction_trigger)$/;

function isPlain(item: ResponsesItem): boolean {
  const { namespace }: Readonly<JsonObject> = item;
  return !OWN_ITEMS.test(item.type ?? "") && typeof namespace !== "string";
}
