import type { RelayProtocol } from "../protocol.ts";
import { eachObject, unsignedBody } from "../unsigned.ts";

/** Routers sign what they call details of reasoning; their texts stand in members of their own, too. */
export const unsigned: NonNullable<RelayProtocol["unsigned"]> = (body) =>
  unsignedBody(body, ({ messages }, changes) =>
    eachObject(messages, ({ reasoning_details: details }, i) => {
      if (details !== undefined) changes.remove(["messages", i, "reasoning_details"]);
    }),
  );
