/** What a request of the load asks its provider for. */
export interface Plan {
  readonly words: number;
  /** Between two words of a stream; before a plain answer. */
  readonly everyMs: number;
  /** A stream ends when the provider is told to release it. */
  readonly holds: boolean;
  readonly fault: "500" | "reset" | "cut" | undefined;
}

const NONE: Plan = { words: 5, everyMs: 0, holds: false, fault: undefined };

/** The plan as the text of a request. */
export function planText(plan: Partial<Plan>): string {
  const { words, everyMs, holds, fault } = { ...NONE, ...plan };
  return `plan ${words} ${everyMs} ${holds ? "holds" : "ends"} ${fault ?? "whole"}.`;
}

/** The plan in the text of a request; the default where there is none. */
export function readPlan(body: string): Plan {
  const found = /plan (\d+) (\d+) (holds|ends) (500|reset|cut|whole)\./.exec(body);
  if (found === null) return NONE;
  const [, words, everyMs, holds, fault] = found;
  return {
    words: Number(words),
    everyMs: Number(everyMs),
    holds: holds === "holds",
    fault: fault === "whole" ? undefined : (fault as Plan["fault"]),
  };
}
