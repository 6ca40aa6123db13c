import { EFFORTS, type Effort } from "../core/model.ts";

/**
 * Thinking tokens that stand for an effort, by who is told them; a smaller budget than `below` means the effort.
 *
 * - `chat`: vendors of chat completions that have a `thinking_budget`.
 * - `messages`: its models take 1,024 at the least, and a part of `max_tokens`.
 * - `content`: https://ai.google.dev/gemini-api/docs/openai#thinking
 */
const BUDGETS = [
  { effort: "minimal", below: 0, chat: 1_024, content: 512 },
  { effort: "low", below: 4_000, chat: 3_072, messages: 2_048, content: 1_024 },
  { effort: "medium", below: 16_000, chat: 12_288, messages: 8_192, content: 8_192 },
  { effort: "high", below: 48_000, chat: 32_768, messages: 24_576, content: 24_576 },
] as const;

/** For efforts above these; without an end a model is told no number. */
const MOST = { chat: Infinity, messages: 48_000, content: 24_576 } as const;

/** The budget that stands for an effort; the most for one that has no number of its own. */
export function budgetOf(effort: unknown, vendors: keyof typeof MOST): number {
  const known: Partial<Record<keyof typeof MOST, number>> | undefined = BUDGETS.find(
    (row) => row.effort === effort,
  );
  return known?.[vendors] ?? MOST[vendors];
}

/** The effort that a budget means. */
export function effortOf(budget: number): Effort {
  return BUDGETS.find(({ below }) => budget < below)?.effort ?? "max";
}

/**
 * The effort that is nearest to a word, by their order; `tie` says which of two as near. `undefined` for a word that
 * nobody knows, and where there is no effort.
 */
export function nearestEffort(
  wanted: string,
  efforts: readonly Effort[],
  tie: "lower" | "higher",
): Effort | undefined {
  const place = EFFORTS.findIndex((effort) => effort === wanted);
  if (place === -1) return undefined;
  const rank = (effort: Effort): number => {
    const distance = EFFORTS.indexOf(effort) - place;
    const isPreferred = tie === "higher" ? distance > 0 : distance < 0;
    return Math.abs(distance) * 2 - (isPreferred ? 1 : 0);
  };
  return efforts.toSorted((a, b) => rank(a) - rank(b))[0];
}
