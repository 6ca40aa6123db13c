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

/** Source: the provider's refusal, "String should match pattern '^[a-zA-Z0-9_-]+$'". */
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/**
 * Ids that the format takes stay; others are spelled with what it takes. Different ids stay different, and an id that
 * a client uses again in a later turn gets another name there: the format wants each once.
 */
export function openCallIds(turns: readonly Turn[]): CallIds {
  const kept = new Set(turns.flatMap(({ parts }) => parts.flatMap(callId)).filter((id) => LEGAL.test(id)));
  const taken = new Set<string>();
  let open: { readonly sent: string; readonly id: string; isAnswered: boolean }[] = [];

  const free = (wanted: string): string => {
    let id = wanted;
    for (let n = 2; taken.has(id) || kept.has(id); n += 1) id = `${wanted}_${n}`;
    return id;
  };

  return {
    call(sent) {
      const isFirst = LEGAL.test(sent) && !taken.has(sent);
      const id = isFirst ? sent : free(LEGAL.test(sent) ? sent : spelled(sent));
      taken.add(id);
      open.push({ sent, id, isAnswered: false });
      return id;
    },
    answered(sent) {
      const same = open.filter((call) => call.sent === sent);
      const call = same.find(({ isAnswered }) => !isAnswered) ?? same[0];
      // A result of no call is for the provider to refuse.
      if (call === undefined) return { id: LEGAL.test(sent) ? sent : spelled(sent), place: open.length };
      call.isAnswered = true;
      return { id: call.id, place: open.indexOf(call) };
    },
    nextTurn() {
      open = [];
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
