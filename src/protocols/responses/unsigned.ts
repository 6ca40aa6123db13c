import type { RelayProtocol } from "../protocol.ts";
import { eachObject, unsignedBody } from "../unsigned.ts";

/** Leaves sealed reasoning out, and with it the ids of what followed it in its turn: each is bound to its reasoning. */
export const unsigned: NonNullable<RelayProtocol["unsigned"]> = (body) =>
  unsignedBody(body, ({ input }, changes) => {
    let isBound = false;
    eachObject(input, ({ type, role, id, encrypted_content: sealed }, i) => {
      if (type === "reasoning" && typeof sealed === "string") {
        changes.remove(["input", i]);
        isBound = true;
        return;
      }
      const isOfAnswer = role === "assistant" || (typeof type === "string" && type.endsWith("_call"));
      isBound &&= isOfAnswer;
      if (isBound && id !== undefined) changes.remove(["input", i, "id"]);
    });
  });
