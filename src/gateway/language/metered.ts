import { inputTokens, outputTokens, type UsageFlag } from "../../core/money/usage.ts";
import type { UsedTokens } from "../../limits/limiter.ts";
import type { Metered } from "../../protocols/protocol.ts";
import type { Admission } from "./admit.ts";

/** Counts somewhat above a bound happen: vendors end a word, and count their own marks. */
const SLACK = 1.25;

/** What a provider was asked for. */
interface Asked {
  readonly admission: Pick<
    Admission,
    "mostOutput" | "mostReasoning" | "mostSearches" | "choices" | "model" | "inputReads"
  >;
  /** The output for each choice that the hold has room for. */
  readonly outputTokens: number | undefined;
}

/** Whether a count can be true: no number was bent, no more output than was asked for, no more input than fits. */
export function isPlausible(metered: Metered, { admission, outputTokens: room = Infinity }: Asked): boolean {
  if (metered.flags.includes("clamped")) return false;
  const asked = admission.mostOutput ?? room * admission.choices;
  const { tokens, asCounted } = admission.mostReasoning;
  const onTop = asCounted ? Math.min(metered.usage.reasoning, tokens) : tokens;
  if (outputTokens(metered.usage) > (asked + onTop) * SLACK + 256) return false;
  if ((metered.usage.webSearches ?? 0) > admission.mostSearches) return false;
  const context = (admission.model.totalContext ?? Infinity) * admission.inputReads;
  return inputTokens(metered.usage) <= context * SLACK;
}

/** What counts against a limit on tokens. Counts that cannot be true could lock a key out: the guess stands then. */
export function tokensOf(metered: Metered | undefined): UsedTokens | "as_guessed" {
  if (metered === undefined) return { input: 0, output: 0 };
  if (metered.flags.includes("clamped")) return "as_guessed";
  return { input: inputTokens(metered.usage), output: outputTokens(metered.usage) };
}

/** The count with one more flag. */
export function withFlag(metered: Metered, flag: UsageFlag): Metered {
  return metered.flags.includes(flag) ? metered : { ...metered, flags: [...metered.flags, flag] };
}
