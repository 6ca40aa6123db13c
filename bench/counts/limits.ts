import type { Counted } from "./names.ts";

/** Counts of one plain request that must not rise, while so many are under way in a scene. */
export interface Limit {
  readonly scene: string;
  readonly atOnce: 1 | 64;
  readonly most: Readonly<Partial<Record<Counted, number>>>;
}

/**
 * What each came to when it was last lowered, and a little more for what the gateway does by itself, as its timers. At
 * 64 at once batches gather by chance, and fewer on a slow machine. Those limits are far above what they came to, and
 * far below one for each request. What comes into the tables gathers by time: on a slow machine each request goes there
 * alone, which is a message and its answer. So do the looks of the roll-ups, once a second: a slow machine has fewer
 * requests for each of them.
 */
export const LIMITS: readonly Limit[] = [
  { scene: "chat plain", atOnce: 1, most: { syncs: 1.05, statements: 5, messages: 0.6, objects: 1100 } },
  { scene: "chat plain", atOnce: 64, most: { syncs: 0.2, statements: 4, messages: 0.2, objects: 900 } },
  { scene: "chat agent 125 KB", atOnce: 1, most: { reads: 0.35, scans: 0.2 } },
  { scene: "chat agent 125 KB, each new", atOnce: 1, most: { reads: 2.3, scans: 1.3 } },
  { scene: "messages agent 125 KB", atOnce: 1, most: { reads: 0.4, scans: 0.2 } },
  { scene: "messages agent 125 KB, each new", atOnce: 1, most: { reads: 2.4, scans: 1.3 } },
  { scene: "chat → messages agent 125 KB", atOnce: 1, most: { reads: 0.55, scans: 0.25 } },
  { scene: "chat → messages agent 125 KB, each new", atOnce: 1, most: { reads: 4.3, scans: 1.4 } },
];
