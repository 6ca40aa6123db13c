import { type Static, Type } from "typebox";

/** The section `responses` of the settings file. */
export const ResponseSection = Type.Object(
  {
    kept_hours: Type.Optional(Type.Number({ minimum: 0, maximum: 24 * 365 })),
    kept_mib_per_account: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })),
  },
  { additionalProperties: false },
);

/** Settings of answers that are kept. */
export interface ResponseSettings {
  /** How long an answer can be named by later requests; 0: nothing is kept. */
  readonly keptMs: number;
  /** Bytes that are kept of one account. */
  readonly mostBytes: number;
}

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

/** Reads the section. */
export function readResponseSection({
  kept_hours: hours = 24,
  kept_mib_per_account: mib = 256,
}: Static<typeof ResponseSection>): ResponseSettings {
  return { keptMs: Math.round(hours * HOUR_MS), mostBytes: mib * MIB };
}
