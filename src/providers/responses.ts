import type { ProtocolDefinition } from "./provider.ts";

/** Responses, as all vendors that have it speak it; what they add are members that clients skip. */
export const RESPONSES: ProtocolDefinition = {
  id: "compat_responses",
  dialect: { kind: "native", unknownFields: "remove", streamUsageOption: false, padding: [] },
};

/** The same of a vendor that refuses a request for a type of tool which it does not know. */
export const RESPONSES_OF_FUNCTIONS: ProtocolDefinition = {
  ...RESPONSES,
  dialect: { ...RESPONSES.dialect, functionsOnly: true },
};
