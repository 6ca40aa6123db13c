import { type Static, Type } from "typebox";

/** The section `memory` of the settings file. */
export const MemorySection = Type.Object(
  { bodies_mib: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })) },
  { additionalProperties: false },
);

/** What the operator sets of memory. */
export interface MemorySettings {
  /** What requests and their answers may take at a time, in bytes. */
  readonly bodiesBytes: number;
}

const MIB = 1024 * 1024;

/** The part of the machine's memory that bodies get: what they leave behind until it is collected can come to more than that. */
const PART = 0.25;

/** Enough for the largest body, and some small ones. */
const LEAST_BYTES = 320 * MIB;

/** What a section comes to on a machine with so much memory. */
export function readMemorySection(
  { bodies_mib: mib }: Static<typeof MemorySection>,
  machineBytes: number,
): MemorySettings {
  return { bodiesBytes: mib === undefined ? Math.max(LEAST_BYTES, machineBytes * PART) : mib * MIB };
}
