declare const made: unique symbol;

/**
 * Permits one call to a provider without a hold, which is free: counting the tokens of a request. Only the counting
 * routes have one made (`test/tidy.test.ts` looks).
 */
export interface CountPermit {
  readonly [made]: true;
}

/** The calls by which providers count tokens, and do nothing else that could cost anything. */
const COUNTING_PATH =
  /^(?:\/v1\/messages\/count_tokens|\/v1beta\/models\/[^?#]+:countTokens|\/responses\/input_tokens)$/;

/** What was permitted, and whether that call was made; nothing else is a permit. */
const permits = new WeakMap<object, { readonly path: string; isSpent: boolean }>();

/** Permits one call of this path. Throws for one at which a provider does anything but count. */
export function permitCount(path: string): CountPermit {
  if (!COUNTING_PATH.test(path)) throw new Error(`${path} is not a path at which tokens are counted.`);
  const permit = Object.freeze({}) as CountPermit;
  permits.set(permit, { path, isSpent: false });
  return permit;
}

/** Takes `by` for this call, if it is a permit. Throws for a call that it does not permit, and for a second one. */
export function spendPermit(
  by: object,
  call: { readonly method?: string; readonly path: string; readonly stream: boolean },
): void {
  const permit = permits.get(by);
  if (permit === undefined) return;
  const isPermitted = call.path === permit.path && !call.stream && (call.method ?? "POST") === "POST";
  if (!isPermitted || permit.isSpent) throw new Error(`${call.path} was called without a hold.`);
  permit.isSpent = true;
}
