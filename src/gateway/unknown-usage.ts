import type { Log } from "../core/log/log.ts";

/** Hears of counts of tokens that a provider tells, and that no price here is for. */
export interface UnknownUsage {
  /** `names` are the members of the provider's usage, as paths. */
  seen(provider: string, names: readonly string[]): void;
}

/** The names are a provider's own text: after so many the log is full enough. */
const MOST_TOLD = 100;

/** Tells the operator of each once, as an error line: the charge may lack what the provider bills for. */
export function createUnknownUsage(log: Pick<Log, "error">): UnknownUsage {
  const told = new Set<string>();
  return {
    seen(provider, names) {
      const unknown_usage = names.filter((name) => !told.has(`${provider} ${name}`));
      if (unknown_usage.length === 0 || told.size >= MOST_TOLD) return;
      for (const name of unknown_usage) told.add(`${provider} ${name}`);
      log.error("a provider counts tokens that have no price here", { provider, unknown_usage });
    },
  };
}
