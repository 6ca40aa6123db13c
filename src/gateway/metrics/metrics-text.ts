import type { Registry } from "../../core/metrics/registry.ts";

/** The media type of the text. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Writes the text of a registry, and lets others have their turns meanwhile. Whoever asks while it is being written gets
 * the same text.
 */
export function createMetricsText(registry: Registry): () => Promise<string> {
  let writing: Promise<string> | undefined;
  const write = async (): Promise<string> => {
    const parts: string[] = [];
    for await (const part of registry.text()) {
      parts.push(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return parts.join("");
  };
  return () => (writing ??= write().finally(() => (writing = undefined)));
}
