import { type Static, Type } from "typebox";

/** The section `memory` of the settings file. */
export const MemorySection = Type.Object(
  { bodies_mib: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })) },
  { additionalProperties: false },
);

/** Settings of memory. */
export interface MemorySettings {
  /** Bytes that requests, plain answers and streams before their content may take at a time. */
  readonly bodiesBytes: number;
}

const MIB = 1024 * 1024;

/** The part of the machine's memory for bodies: garbage that waits for collection can come to more than they do. */
const PART = 0.25;

/** Enough for the largest body, and some small ones. */
const LEAST_BYTES = 320 * MIB;

/** Reads the section, on a machine with `machineBytes` of memory. */
export function readMemorySection(
  { bodies_mib: mib }: Static<typeof MemorySection>,
  machineBytes: number,
): MemorySettings {
  return { bodiesBytes: mib === undefined ? Math.max(LEAST_BYTES, machineBytes * PART) : mib * MIB };
}
