import type { Turn } from "../../../core/chat.ts";

/** A call under its id in the format, and its place among the calls of its turn. */
interface Call {
  readonly id: string;
  readonly place: number;
}

/** The ids of one request's tool calls as the format takes them. */
export type CallIds = ReturnType<typeof openCallIds>;

/** Source: the provider's refusal, "String should match pattern '^[a-zA-Z0-9_-]+$'". */
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/** The ids of the first turns of a request, all of which stayed as they were. */
export interface SentIds {
  /** With those of turns that came behind them since. */
  readonly ids: Set<string>;
  readonly count: number;
}

/**
 * Ids that the format takes stay; others are spelled with what it takes. Different ids stay different, and an id that
 * a client uses again in a later turn gets another name there: the format wants each once. `earlier` are those of turns
 * that are not written again.
 */
export function openCallIds(turns: readonly Turn[], earlier?: SentIds) {
  let sentIds: ReadonlySet<string> | undefined;
  /** Looked for only where an id cannot stay: nearly all can. */
  const isSent = (id: string): boolean => (sentIds ??= idsIn(turns)).has(id);
  const taken = earlier?.ids ?? new Set<string>();
  /** Every id is the one that was sent. */
  let isSame = true;
  /** The last number that was put behind an id. */
  const numbers = new Map<string, number>();
  /** The calls of the turn by the id that was sent, and how many of them are answered. */
  let open = new Map<string, { readonly calls: Call[]; answered: number }>();
  let count = 0;

  return {
    /** The id for the next call of the turn that is written. */
    call(sent: string): string {
      const wanted = spelled(sent);
      let id = wanted;
      let n = numbers.get(wanted) ?? 1;
      while (taken.has(id) || (id !== sent && isSent(id))) id = `${wanted}_${(n += 1)}`;
      if (n > 1) numbers.set(wanted, n);
      taken.add(id);
      if (id !== sent) isSame = false;
      open.getOrInsertComputed(sent, () => ({ calls: [], answered: 0 })).calls.push({ id, place: count });
      count += 1;
      return id;
    },
    /** The call that a result answers. */
    answered(sent: string): Call {
      const same = open.get(sent);
      // A result of no call is for the provider to refuse.
      if (same === undefined) return { id: spelled(sent), place: count };
      same.answered += 1;
      // One more result than there are calls is a second one of the first.
      return (same.calls[same.answered - 1] ?? same.calls[0]) as Call;
    },
    /** The ids so far, for a request that goes on where this one ends; `undefined` where one was changed. */
    sent: (): SentIds | undefined => (isSame ? { ids: taken, count: taken.size } : undefined),
    /** The next answer begins: its calls are what the results after it refer to. */
    nextTurn(): void {
      open = new Map();
      count = 0;
    },
  };
}

function idsIn(turns: readonly Turn[]): ReadonlySet<string> {
  return new Set(
    turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool_call" ? [part.id] : []))),
  );
}

/** Each character that is not taken as its code, so that ids that differ stay different. */
function spelled(id: string): string {
  if (LEGAL.test(id)) return id;
  if (id === "") return "_";
  return id.replace(/[^a-zA-Z0-9-]/gu, (found) => `_${(found.codePointAt(0) ?? 0).toString(16)}_`);
}
