import { Type, type Static } from "typebox";

/** The section `limits` of the settings. */
export const LimitSection = Type.Object(
  { count_tokens_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })) },
  { additionalProperties: false },
);

/** Limits that hold for every key. */
export interface LimitSettings {
  /** Counts of tokens that providers are asked for in a minute. */
  readonly countTokensPerMinute: number;
}

/** Agents ask for 40 to 50 when they start. */
const DEFAULT_COUNTS_PER_MINUTE = 300;

/** Reads the section. */
export function readLimitSection(data: Static<typeof LimitSection>): LimitSettings {
  return { countTokensPerMinute: data.count_tokens_per_minute ?? DEFAULT_COUNTS_PER_MINUTE };
}
