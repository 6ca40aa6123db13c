import type { RelayTarget } from "../protocol.ts";

/** Whether a provider knows all types of tools that run at the caller's; others refuse a request that has one. */
export function takesAllTools({
  native,
  functionsOnly,
}: Pick<RelayTarget, "native" | "functionsOnly">): boolean {
  return native && functionsOnly !== true;
}
