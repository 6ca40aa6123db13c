/** As many as a reader reads: what one body does wrong can be very much. */
export const MOST_WARNINGS = 16;

/** Told of what is left out or said otherwise. */
export type Warn = (sentence: string) => void;

/** Sentences for the `warning` header, each once and in their order; those beyond the most that is told are not kept. */
export function createWarnings(): Set<string> {
  const warnings = new Set<string>();
  const add = warnings.add.bind(warnings);
  warnings.add = (sentence) => (warnings.size < MOST_WARNINGS ? add(sentence) : warnings);
  return warnings;
}
