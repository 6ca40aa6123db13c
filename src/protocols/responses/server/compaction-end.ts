import { GatewayError } from "../../../core/errors.ts";
import { isJsonObject, objectsIn } from "../../../core/json/json-value.ts";
import type { ServerEnd } from "../../translate.ts";
import { compaction } from "../compaction.ts";
import { itemType, listedItem } from "../kept.ts";
import type { ResponsesRequest } from "../request.ts";
import { decodeRequest, itemsIn } from "./decode-request.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { openEncoder } from "./encode-events.ts";
import { mintId } from "./ids.ts";

/**
 * A conversation made shorter here: the model writes a hand-over summary, which goes out sealed behind all that the user
 * said.
 */
export const compactionServer: ServerEnd = {
  protocol: compaction,
  decodeRequest(request) {
    const { body, ...rest } = request as ResponsesRequest;
    const input = itemsIn(body.input);
    const asked = { ...body, input: [...input, { type: "compaction_trigger" }] };
    const decoded = decodeRequest({ ...rest, body: asked });
    const users = input.filter((item) => itemType(item) === "message" && item.role === "user");
    return { ...decoded, echo: { ...decoded.echo, users } };
  },
  encodeAnswer(events, metered, context) {
    const { status, output, created_at, usage } = encodeAnswer(events, metered, context);
    // The answer has no place for how it ended: half a summary would pass for the whole conversation.
    if (status !== "completed")
      throw new GatewayError("upstream_error", "The model did not write its summary to the end.");
    const users = objectsIn(isJsonObject(context.echo) ? context.echo.users : undefined);
    const id = mintId("resp", context.requestId);
    const told = users.map((item, place) => listedItem(item, place, id));
    return { id, object: "response.compaction", created_at, output: [...told, ...objectsIn(output)], usage };
  },
  openEncoder,
};
