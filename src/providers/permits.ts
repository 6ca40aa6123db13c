import type { ProtocolId } from "../core/model.ts";
import type { Pieces } from "../core/bytes/bytes.ts";
import type { Handover } from "../core/handover.ts";

declare const made: unique symbol;

/**
 * Permits one call to a provider without a hold, which is free: counting the tokens of a request. Only the counting
 * routes have one made (`test/tidy.test.ts` looks).
 */
export interface CountPermit {
  readonly [made]: "count";
}

/** The same for the list of a provider's models. Only the prober has one made. */
export interface ListPermit {
  readonly [made]: "list";
}

/** The calls by which providers count tokens, and do nothing else that could cost anything. */
const COUNTING_PATH =
  /^(?:\/v1\/messages\/count_tokens|\/v1beta\/models\/[^?#]+:countTokens|\/responses\/input_tokens)$/;

/** Where each format lists its models: one of them, where that can be asked for. */
const LISTS: Readonly<Record<ProtocolId, string>> = {
  compat_chat_completions: "/models",
  compat_responses: "/models",
  compat_messages: "/v1/models?limit=1",
  compat_generate_content: "/v1beta/models?pageSize=1",
};

/** A call as far as a permit is for it. */
interface PermittedCall {
  readonly method?: string;
  readonly path: string;
  readonly stream: boolean;
  readonly body?: Handover<Pieces>;
}

/** What was permitted, and whether that call was made; nothing else is a permit. */
const permits = new WeakMap<
  object,
  { readonly kind: "count" | "list"; readonly path: string; isSpent: boolean }
>();

/** Permits one call of this path. Throws for one at which a provider does anything but count. */
export function permitCount(path: string): CountPermit {
  if (!COUNTING_PATH.test(path)) throw new Error(`${path} is not a path at which tokens are counted.`);
  const permit = Object.freeze({}) as CountPermit;
  permits.set(permit, { kind: "count", path, isSpent: false });
  return permit;
}

/** Permits one call of the list of a format's models, and says where that is. */
export function permitList(format: ProtocolId): { readonly permit: ListPermit; readonly path: string } {
  const path = LISTS[format];
  const permit = Object.freeze({}) as ListPermit;
  permits.set(permit, { kind: "list", path, isSpent: false });
  return { permit, path };
}

/** Takes `by` for this call, if it is a permit. Throws for a call that it does not permit, and for a second one. */
export function spendPermit(by: object, call: PermittedCall): void {
  const permit = permits.get(by);
  if (permit === undefined) return;
  const { kind, path, isSpent } = permit;
  const method = call.method ?? "POST";
  const isOfKind = kind === "count" ? method === "POST" : method === "GET" && call.body === undefined;
  if (call.path !== path || call.stream || !isOfKind || isSpent)
    throw new Error(`${call.path} was called without a hold.`);
  permit.isSpent = true;
}
