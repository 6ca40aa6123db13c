/** What is counted, by the number that a counter calls it. */
export const KINDS = { call: 0, async: 1, await: 2, promise: 3 } as const;

/** What one request came to. */
export interface Counted {
  readonly name: string;
  /** Functions entered, async ones among them. */
  readonly calls: number;
  /** How many of them are different ones. */
  readonly functions: number;
  readonly asyncs: number;
  readonly awaits: number;
  /** Promises that the source makes by `new Promise`, by `Promise.all` and its like, by `then`, `catch` and `finally`. */
  readonly promises: number;
}
