import type { Installation } from "./installation.ts";

/** When the sandbox serves models. */
export const SANDBOX_MODES = ["auto", "on", "off"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** Decides whether the sandbox may serve models that no live provider serves. */
export interface SandboxRule {
  /** Called for every provider that is set; from then on, and after every restart, `auto` is off. */
  sawProvider(): void;
  serves(): boolean;
}

/** What the rule depends on. */
export interface SandboxRuleParts {
  readonly mode: SandboxMode;
  /** Whether the books are in the home folder. With a shared store `auto` is off. */
  readonly onSqlite: boolean;
  readonly installation: Pick<Installation, "hadProvider" | "hasProvider">;
  /** Whether a provider is set now. */
  readonly hasProvider: boolean;
  /** Called when the store did not take the note that a provider is set. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The rule of this installation. Once a provider was set, `auto` is off for good. A key that is mistyped or lost later
 * must not have invented answers billed in place of real ones.
 */
export async function createSandboxRule(parts: SandboxRuleParts): Promise<SandboxRule> {
  const { mode, onSqlite, installation, hasProvider, onFailure } = parts;
  let known = await installation.hadProvider();
  if (hasProvider && !known) await installation.hasProvider();
  known ||= hasProvider;
  return {
    sawProvider() {
      if (known) return;
      known = true;
      installation.hasProvider().catch(onFailure);
    },
    serves: () => mode === "on" || (mode === "auto" && onSqlite && !known),
  };
}
