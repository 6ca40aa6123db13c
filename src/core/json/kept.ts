/** Objects that come again with other requests of the same key: what is made of them is made once. */
const kept = new WeakSet<object>();

/** Whether an object comes again. */
export function isKept(object: object): boolean {
  return kept.has(object);
}

/** Says of an object that it comes again. Nobody may change it from now on. */
export function keep<Kept extends object>(object: Kept): Kept {
  kept.add(object);
  return object;
}

/** What is made of objects that come again, by them; it comes again too. */
export interface MadeOnce<Of extends object, Made extends object> {
  get(object: Of): Made | undefined;
  /** Keeps what was made, where its object is kept; gives it back. */
  add(object: Of, made: Made): Made;
}

/** Nothing made yet; for one kind of thing that is made. */
export function createMadeOnce<Of extends object, Made extends object>(): MadeOnce<Of, Made> {
  const made = new WeakMap<Of, Made>();
  return {
    get: (object) => made.get(object),
    add(object, one) {
      if (!kept.has(object)) return one;
      made.set(object, one);
      return keep(one);
    },
  };
}
