import type { Model } from "../../src/core/model.ts";
import type { RelayTarget } from "../../src/protocols/protocol.ts";

/** A model of text without prices, at a provider that takes its format's own fields. */
export const PLAIN_TARGET: RelayTarget = {
  model: {
    id: "v/m",
    maxOutput: 8_000,
    ignoredParameters: [],
    inputModalities: ["text"],
    outputModalities: ["text"],
    prices: {},
  } as unknown as Model,
  upstreamId: "up",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};
