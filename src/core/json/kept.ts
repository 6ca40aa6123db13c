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

/** The items that a list begins with: those that an earlier list began with. */
export interface Beginning {
  readonly list: readonly unknown[];
  readonly count: number;
}

const beginnings = new WeakMap<readonly unknown[], Beginning>();

/** Says of a list that it comes again, and with which items of an earlier list that came it begins. */
export function keepList(list: readonly unknown[], beginning: Beginning | undefined): void {
  kept.add(list);
  if (beginning === undefined) return;
  beginnings.set(list, beginning);
  // What was found out about the earlier one is there by now; without this the whole session would stay in memory.
  beginnings.delete(beginning.list);
}

/** What is known about the first so many items of a list. */
export interface Known<Fact> {
  readonly count: number;
  readonly fact: Fact;
}

/** What was found out about lists that come again, going over their items from the first to the last. */
export interface ListFacts<Fact> {
  /** What is known about as many of the list's first items as there is something known about. */
  of(list: readonly unknown[]): Known<Fact> | undefined;
  /** Notes what is known about some of the first items; the same list is given with more items each time. */
  add(list: readonly unknown[], count: number, fact: () => Fact): void;
}

/** For so many of a list's last items it is kept what is known up to them: clients write the last ones anew. */
const LAST_ITEMS = 4;

/** Nothing found out yet; for one kind of fact. */
export function createListFacts<Fact>(): ListFacts<Fact> {
  const facts = new WeakMap<readonly unknown[], Known<Fact>[]>();
  return {
    of(list) {
      const own = facts.get(list)?.at(-1);
      const { list: earlier, count = 0 } = beginnings.get(list) ?? {};
      return own ?? (earlier && facts.get(earlier)?.findLast((known) => known.count <= count));
    },
    add(list, count, fact) {
      if (count <= list.length - LAST_ITEMS || !kept.has(list)) return;
      const known = facts.getOrInsertComputed(list, () => []);
      if (count > (known.at(-1)?.count ?? 0)) known.push({ count, fact: fact() });
    },
  };
}

/** Lists that come again and were looked at from the first item to the last, without finding anything. */
export interface SeenLists {
  /** How many of the list's first items need no other look; 0 for what is no list. */
  count(list: unknown): number;
  add(list: readonly unknown[]): void;
}

/** None seen yet. */
export function createSeenLists(): SeenLists {
  const seen = new WeakSet<readonly unknown[]>();
  return {
    count(list) {
      if (!Array.isArray(list)) return 0;
      if (seen.has(list)) return list.length;
      const { list: earlier, count = 0 } = beginnings.get(list) ?? {};
      return earlier !== undefined && seen.has(earlier) ? count : 0;
    },
    add: (list) => void (kept.has(list) && seen.add(list)),
  };
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

/** `make`, which runs once for an object that comes again. */
export function makeOnce<Of extends object, Made extends object>(
  make: (object: Of) => Made,
): (object: Of) => Made {
  const made = createMadeOnce<Of, Made>();
  return (object) => made.get(object) ?? made.add(object, make(object));
}
