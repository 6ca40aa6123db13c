import { readSettings } from "../../../src/config.ts";
import type { MediaProvider } from "../../../src/providers/provider.ts";
import { PROVIDERS } from "../../../src/providers/registry.ts";
import { startArkDouble } from "./ark-double.ts";
import { startDashscopeDouble } from "./dashscope-double.ts";
import { startFalDouble } from "./fal-double.ts";
import { startGoogleDouble } from "./google-double.ts";
import type { MediaDouble } from "./media-double.ts";
import { startMidjourneyDouble } from "./midjourney-double.ts";
import { startOpenaiDouble } from "./openai-double.ts";
import { startWavespeedDouble } from "./wavespeed-double.ts";

/** The strict double of each vendor of images and videos, by the id of its provider. */
export const DOUBLES = {
  openai: startOpenaiDouble,
  google: startGoogleDouble,
  dashscope: startDashscopeDouble,
  ark: startArkDouble,
  midjourney: startMidjourneyDouble,
  fal: startFalDouble,
  wavespeed: startWavespeedDouble,
} as const;
export type Vendor = keyof typeof DOUBLES;

export const VENDORS: readonly Vendor[] = PROVIDERS.flatMap(({ id }) => (isVendor(id) ? [id] : []));

function isVendor(id: string): id is Vendor {
  return Object.hasOwn(DOUBLES, id);
}

/** The environment in which a vendor's provider is live, at its double. */
export function environmentOf(vendor: Vendor, { baseUrl }: MediaDouble, key: string): Record<string, string> {
  const definition = PROVIDERS.find(({ id }) => id === vendor);
  if (definition === undefined) throw new Error(`${vendor} is no provider.`);
  return { [definition.keyVariable]: key, [definition.baseUrlVariable]: baseUrl };
}

/** A vendor's provider at its double. */
export function providerOf(vendor: Vendor, double: MediaDouble, key: string): MediaProvider {
  const settings = readSettings("", environmentOf(vendor, double, key), PROVIDERS);
  const provider = settings.mediaProviders.get(vendor);
  if (provider === undefined) throw new Error(`${vendor} makes nothing.`);
  return provider;
}
