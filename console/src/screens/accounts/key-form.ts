import type { Key } from "./types.ts";

/** Limits of a key, by their names in the API. */
export const LIMITS = ["requests_per_minute", "tokens_per_minute", "concurrency"] as const;

/** What a form of a key has in its controls; an empty text is no bound. */
export interface KeyValues {
  readonly name: string;
  /** `null`: all models. */
  readonly models: readonly string[] | null;
  readonly budget: string;
  readonly requests_per_minute: string;
  readonly tokens_per_minute: string;
  readonly concurrency: string;
  readonly routes: boolean;
  /** Local time, as an input of the type `datetime-local` has it. */
  readonly expires_at: string;
}

/** The form of a key that is still to be made. */
export const NEW_KEY: KeyValues = {
  name: "",
  models: null,
  budget: "",
  requests_per_minute: "",
  tokens_per_minute: "",
  concurrency: "",
  routes: false,
  expires_at: "",
};

/** What can be changed of a key. */
export type Changeable = Pick<Key, "name" | "models" | "budget" | "limits" | "routes" | "expires_at">;

/** The controls' values for a key. */
export function valuesOf({ name, models, budget, limits, routes, expires_at }: Changeable): KeyValues {
  return {
    name,
    models,
    budget: textOf(budget),
    requests_per_minute: textOf(limits.requests_per_minute),
    tokens_per_minute: textOf(limits.tokens_per_minute),
    concurrency: textOf(limits.concurrency),
    routes,
    expires_at: expires_at === null ? "" : localTime(expires_at),
  };
}

/** The members of a body that makes a key, beside its account. */
export function bodyOf(values: KeyValues): Changeable {
  return {
    name: values.name.trim(),
    models: values.models === null ? null : [...values.models],
    budget: numberOf(values.budget),
    limits: {
      requests_per_minute: numberOf(values.requests_per_minute),
      tokens_per_minute: numberOf(values.tokens_per_minute),
      concurrency: numberOf(values.concurrency),
    },
    routes: values.routes,
    expires_at: values.expires_at === "" ? null : Math.floor(new Date(values.expires_at).getTime() / 1_000),
  };
}

/** A body that changes a key: what differs, and nothing else. */
export type KeyChange = Partial<Omit<Changeable, "limits">> & {
  readonly limits?: Partial<Changeable["limits"]>;
};

/** The body that makes `key` what the controls say. Only what the reader has changed is in it. */
export function changesOf(key: Changeable, values: KeyValues): KeyChange {
  const before = valuesOf(key);
  const after = bodyOf(values);
  const isChanged = (name: keyof KeyValues): boolean =>
    JSON.stringify(before[name]) !== JSON.stringify(values[name]);
  const limits = LIMITS.filter(isChanged).map((name) => [name, after.limits[name]] as const);
  const others = (["name", "models", "budget", "routes", "expires_at"] as const)
    .filter(isChanged)
    .map((name) => [name, after[name]] as const);
  return {
    ...Object.fromEntries(others),
    ...(limits.length === 0 ? {} : { limits: Object.fromEntries(limits) }),
  };
}

/** What is wrong with the controls, before they are sent. An expiry that the reader has not changed may have passed. */
export function faultsOf(
  values: KeyValues,
  nowSec: number,
  before: KeyValues = NEW_KEY,
): Partial<Record<keyof KeyValues, string>> {
  const at = values.expires_at === before.expires_at ? null : bodyOf(values).expires_at;
  if (at === null || at > nowSec) return {};
  return {
    expires_at:
      "The time under Expires is in the past. Choose a later one, or leave the field empty for never.",
  };
}

/** The control that a fault of the API is about: `limits.concurrency`, `models[0]`. */
export function controlOf(field: string | undefined): string | undefined {
  return field?.replace(/^limits\./, "").replace(/\[\d+\].*$/, "");
}

function textOf(value: number | null): string {
  return value === null ? "" : String(value);
}

function numberOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

function localTime(seconds: number): string {
  const at = new Date(seconds * 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
