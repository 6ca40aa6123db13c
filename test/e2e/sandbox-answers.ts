import { expect } from "bun:test";
import { systemClock } from "../../src/core/time/clock.ts";

import { encodePng } from "../../src/runtime/images/encode-png.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// What tests of the sandbox share: models with their prices, a schema, and what an answer begins with.

export const GPT = "openai/gpt-5.6-luna";
export const KIMI = "moonshotai/kimi-k3";
export const HAIKU = "anthropic/claude-haiku-4.5";
export const FLASH = "google/gemini-3.8-flash";
export const IMAGES = "google/gemini-3-pro-image";
export const SAYS_SO = /^This is the Switchyard sandbox/;
export const CITY = {
  type: "object" as const,
  properties: {
    city: { type: "string" as const },
    days: { type: "integer" as const, minimum: 1, maximum: 7 },
  },
  required: ["city", "days"],
  additionalProperties: false,
};

/** A small image, in base64. */
export const IMAGE = encodePng({ width: 96, height: 96, pixels: new Uint8Array(96 * 96 * 4) }).toBase64();
/** The smallest document, in base64. */
export const PDF = btoa("%PDF-1.4\n%%EOF\n");

/** A gateway without a provider. */
export function startSandbox(): Promise<TestGateway> {
  // A price of the catalogue changes with the year.
  return startGateway({ clock: { ...systemClock, nowMs: () => Date.UTC(2026, 10, 21, 12) } });
}

/** USD per million tokens, as the catalogue states them. */
const USD: Readonly<
  Record<string, { readonly input: number; readonly output: number; readonly image?: number }>
> = {
  [GPT]: { input: 0.2, output: 1.2 },
  [HAIKU]: { input: 1, output: 5 },
  [FLASH]: { input: 0.75, output: 3.75 },
  [IMAGES]: { input: 2, output: 12, image: 120 },
};

/** The charge of a call, in credits. */
export function priceOf(model: string, used: { input: number; output: number; image?: number }): number {
  const { input, output, image = 0 } = USD[model]!;
  const micro = (used.input * input + used.output * output + (used.image ?? 0) * image) * 10_000;
  return Math.round(micro) / 1_000_000;
}

/** The value satisfies `CITY`. */
export function expectCity(value: unknown): void {
  const { city, days, ...rest } = value as Json;
  expect(rest).toEqual({});
  expect(typeof city).toBe("string");
  expect(days >= 1 && days <= 7 && Number.isInteger(days)).toBe(true);
}

/** Another character in its middle. */
export function changed(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}
