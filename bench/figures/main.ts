import { parseArgs } from "node:util";
import { readingTables } from "./reading.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });

console.log(`## Reading\n\n${readingTables(values.quick ? "quick" : "full")}`);
