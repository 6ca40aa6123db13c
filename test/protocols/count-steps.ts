/**
 * Counts the items of lists that are visited while `run` is at work. Every method that goes over a list or copies it
 * visits them, as do loops over lists and spreading them. Loops that count by themselves and what the runtime does
 * within (parsing, regular expressions) are not seen.
 */
export async function countSteps(run: () => unknown): Promise<number> {
  let steps = 0;
  const list = Array.prototype as unknown as Record<string | symbol, unknown>;
  const kept = new Map<string | symbol, PropertyDescriptor>();
  const put = (name: string | symbol, method: unknown): void => {
    kept.set(name, Object.getOwnPropertyDescriptor(Array.prototype, name) as PropertyDescriptor);
    // oxlint-disable-next-line no-extend-native -- what is counted is what all code calls; it is put back below
    Object.defineProperty(Array.prototype, name, { value: method, configurable: true, writable: true });
  };
  for (const name of VISITING) {
    const method = list[name] as (this: unknown, ...args: unknown[]) => unknown;
    put(name, function (this: unknown, visit: unknown, ...rest: unknown[]) {
      if (typeof visit !== "function") return method.call(this, visit, ...rest);
      const counted = function (this: unknown, ...args: unknown[]): unknown {
        steps += 1;
        return visit.apply(this, args);
      };
      return method.call(this, counted, ...rest);
    });
  }
  for (const name of WHOLE) {
    const method = list[name] as (this: unknown, ...args: unknown[]) => unknown;
    put(name, function (this: { readonly length: number }, ...args: unknown[]) {
      steps += this.length;
      return method.apply(this, args);
    });
  }
  const iterate = list[Symbol.iterator] as (this: unknown) => Iterator<unknown>;
  put(Symbol.iterator, function (this: { readonly length: number }) {
    steps += this.length;
    return iterate.call(this);
  });
  try {
    await run();
    return steps;
  } finally {
    // oxlint-disable-next-line no-extend-native -- it is what stood there
    for (const [name, descriptor] of kept) Object.defineProperty(Array.prototype, name, descriptor);
  }
}

const VISITING = [
  "every",
  "filter",
  "find",
  "findIndex",
  "findLast",
  "findLastIndex",
  "flatMap",
  "forEach",
  "map",
  "reduce",
  "some",
] as const;

/** Methods that go over all of a list, or may. */
const WHOLE = [
  "concat",
  "flat",
  "includes",
  "indexOf",
  "join",
  "lastIndexOf",
  "shift",
  "slice",
  "splice",
  "toReversed",
  "unshift",
] as const;
