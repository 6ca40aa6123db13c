import { contentHash } from "../../runtime/hash.ts";
import type { CarrierKey } from "../carrier.ts";

/**
 * A name of the caller's, of a user or a cache, that no other account shares. One account at the provider serves all
 * accounts, and the provider would take two alike for one.
 */
export function ownName(carrier: CarrierKey | undefined, name: unknown): string {
  return contentHash(`${carrier?.account ?? ""} ${String(name)}`).slice(0, 40);
}
