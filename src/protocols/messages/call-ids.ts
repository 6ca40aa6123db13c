import type { Turn } from "../../core/chat.ts";

/** The ids of one request's tool calls as the format takes them. */
export interface CallIds {
  /** The id for the next call of the turn that is written. */
  call(id: string): string;
  /** The id of the call that a result answers, and its place among the calls of its turn. */
  answered(id: string): { readonly id: string; readonly place: number };
  /** The next answer begins: its calls are what the results after it refer to. */
  nextTurn(): void;
}

/** Calls of one turn that were sent with one id. */
interface OpenCalls {
  readonly calls: { readonly id: string; readonly place: number }[];
  answered: number;
}

/** Source: the provider's refusal, "String should match pattern '^[a-zA-Z0-9_-]+$'". */
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/**
 * Ids that the format takes stay; others are spelled with what it takes. Different ids stay different, and an id that
 * a client uses again in a later turn gets another name there: the format wants each once.
 */
export function openCallIds(turns: readonly Turn[]): CallIds {
  const kept = new Set(turns.flatMap(({ parts }) => parts.flatMap(callId)).filter((id) => LEGAL.test(id)));
  const taken = new Set<string>();
  /** The last number that was put behind an id. */
  const numbers = new Map<string, number>();
  /** The calls of the turn by the id that was sent, and how many of them are answered. */
  let open = new Map<string, OpenCalls>();
  let count = 0;

  const free = (wanted: string): string => {
    let id = wanted;
    let n = numbers.get(wanted) ?? 1;
    while (taken.has(id) || kept.has(id)) id = `${wanted}_${(n += 1)}`;
    numbers.set(wanted, n);
    return id;
  };

  return {
    call(sent) {
      const isFirst = LEGAL.test(sent) && !taken.has(sent);
      const id = isFirst ? sent : free(LEGAL.test(sent) ? sent : spelled(sent));
      taken.add(id);
      const same = open.get(sent) ?? { calls: [], answered: 0 };
      same.calls.push({ id, place: count });
      open.set(sent, same);
      count += 1;
      return id;
    },
    answered(sent) {
      const same = open.get(sent);
      // One more result than there are calls is a second one of the first.
      const call = same?.calls[same.answered] ?? same?.calls[0];
      // A result of no call is for the provider to refuse.
      if (same === undefined || call === undefined)
        return { id: LEGAL.test(sent) ? sent : spelled(sent), place: count };
      same.answered += 1;
      return call;
    },
    nextTurn() {
      open = new Map();
      count = 0;
    },
  };
}

/** Each character that is not taken as its code, so that ids that differ stay different. */
function spelled(id: string): string {
  return id === ""
    ? "_"
    : id.replace(/[^a-zA-Z0-9-]/gu, (found) => `_${(found.codePointAt(0) ?? 0).toString(16)}_`);
}

function callId(part: Turn["parts"][number]): string[] {
  return part.type === "tool_call" ? [part.id] : [];
}
