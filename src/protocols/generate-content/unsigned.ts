import type { RelayProtocol } from "../protocol.ts";
import { eachObject, unsignedBody } from "../unsigned.ts";
import { NO_SIGNATURE } from "./signatures.ts";

/** How clients spell it. */
const SIGNATURES = ["thoughtSignature", "thought_signature"] as const;

/** Gemini refuses calls without any signature, so these get the vendor's own text for what has none. */
export const unsigned: NonNullable<RelayProtocol["unsigned"]> = (body) =>
  unsignedBody(body, ({ contents }, changes) =>
    eachObject(contents, ({ role, parts }, i) => {
      if (role !== "model") return;
      eachObject(parts, (part, j) => {
        const at = ["contents", i, "parts", j];
        const isCall = part.functionCall !== undefined || part.function_call !== undefined;
        const name = SIGNATURES.find((spelled) => part[spelled] !== undefined);
        if (isCall && part[name ?? SIGNATURES[0]] !== NO_SIGNATURE)
          changes.set([...at, name ?? SIGNATURES[0]], NO_SIGNATURE);
        else if (!isCall && name !== undefined) changes.remove([...at, name]);
      });
    }),
  );
