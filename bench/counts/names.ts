/** What is counted inside of the gateway's process; the order is that of the mapped file. */
export const COUNTERS = ["statements", "messages", "read", "searched", "turns", "objects"] as const;
export type Counter = (typeof COUNTERS)[number];

/** What a plain request is counted by. */
export const COUNTED = {
  syncs: "synced writes",
  statements: "statements to the store",
  messages: "messages between threads",
  objects: "objects of JavaScript on the main thread",
  reads: "full reads of the body by the runtime (decode, parse, write)",
  scans: "full reads of the body by our own loops and searches",
} as const;
export type Counted = keyof typeof COUNTED;
