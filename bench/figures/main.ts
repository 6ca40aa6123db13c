import { parseArgs } from "node:util";
import { callTables } from "./calls.ts";
import { readingTables } from "./reading.ts";
import { sizeTables } from "./sizes.ts";
import { structureTables } from "./structure.ts";

const PARTS = ["size", "structure", "calls", "reading"] as const;

const { values } = parseArgs({
  options: {
    /** Shorter measurements: good to a tenth or so. */
    quick: { type: "boolean", default: false },
    /** Only these parts. */
    only: { type: "string", multiple: true, default: [] },
  },
});

const unknown = values.only.find((name) => !(PARTS as readonly string[]).includes(name));
if (unknown !== undefined) throw new Error(`--only must be one of ${PARTS.join(", ")}, got ${unknown}`);

const TABLES: Readonly<Record<(typeof PARTS)[number], () => string | Promise<string>>> = {
  size: sizeTables,
  structure: structureTables,
  calls: callTables,
  reading: () => readingTables(values.quick ? "quick" : "full"),
};

for (const part of PARTS) {
  if (values.only.length > 0 && !values.only.includes(part)) continue;
  console.log(`## ${part}\n\n${await TABLES[part]()}\n`);
}
