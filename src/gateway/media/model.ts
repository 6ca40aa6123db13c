import { fieldsOf, type MediaTable } from "../../catalog/parameter-tables/media-table.ts";
import type { Caller } from "../../core/caller.ts";
import { isDataUri } from "../../core/data-uri.ts";
import { GatewayError } from "../../core/errors.ts";
import type { MediaFacts } from "../../core/media-model.ts";
import type { Model } from "../../core/model.ts";
import { faultSentence } from "../../core/schema.ts";
import type { TaskKind } from "../../core/task.ts";
import { inlineBytes } from "../../protocols/media-inputs.ts";
import type { Offer } from "../offer.ts";

/** An image or video model. */
export type MediaModel = Model & { readonly media: MediaFacts };

/** Where each kind of work is asked for. */
const PATHS: Readonly<Record<Model["category"], string | undefined>> = {
  image: "/api/v1/images/generations",
  video: "/api/v1/videos",
  language: "/api/v1/chat/completions",
  audio: undefined,
  embedding: undefined,
};

/** The model that a request names. Throws a 400 that names those that would do, or a 503 while nobody serves it. */
export function findMediaModel(offer: Offer, caller: Caller, kind: TaskKind, id: string): MediaModel {
  const mayUse = (model: Model): boolean => caller.models === null || caller.models.has(model.id);
  const isServed = (model: Model): model is MediaModel =>
    model.category === kind && model.media !== undefined && mayUse(model);
  const model = offer.catalog.byId(id).find(isServed);
  if (model === undefined) throw notServed(offer, kind, id, mayUse);
  const isLive = model.routes.some(
    (route) => offer.mediaProviders.get(route.provider)?.adapters[kind] !== undefined,
  );
  if (isLive) return model;
  throw new GatewayError("overloaded_error", `No provider of ${model.id} is live now.`, {
    retryAfterSec: 30,
  });
}

function notServed(
  { catalog }: Offer,
  kind: TaskKind,
  id: string,
  mayUse: (model: Model) => boolean,
): GatewayError {
  const elsewhere = catalog.byId(id).find(mayUse);
  const path = elsewhere === undefined ? undefined : PATHS[elsewhere.category];
  const others = catalog.models.filter((model) => model.category === kind && mayUse(model));
  const hint = [
    ...(path === undefined ? [] : [`It is served at ${path}.`]),
    others.length === 0
      ? `No ${kind} model is served now: no provider has a credential that serves one.`
      : `Models that are: ${others.map((model) => model.id).join(", ")}.`,
  ].join(" ");
  return new GatewayError(
    "invalid_request_error",
    `The model ${JSON.stringify(id.slice(0, 100))} is not served here. ${hint}`,
    { param: "model" },
  );
}

/** A 400 about a field that this model does not take as it was given. */
export function notTaken(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}

/** Text whose only fault can be its length. */
const TEXTS: ReadonlySet<string> = new Set(["prompt", "negative_prompt"]);

/** Checks the fields that the model takes as it narrows them. Throws a 400 that names field and model. */
export function checkTaken({ id, media }: MediaModel, fields: Readonly<Record<string, unknown>>): void {
  if (media.checker.accepts(fields)) return;
  const fault = media.checker.faultOf(fields);
  throw new GatewayError(
    TEXTS.has(fault.path) ? "input_too_large" : "invalid_request_error",
    `${faultSentence(fault).replace(/\.$/, "")} on ${id}.`,
    { param: fault.path },
  );
}

/** Checks the media of a field against what the model takes of it. Throws a 400 that names the one at fault. */
export function checkInputs({ id, media }: MediaModel, name: string, inputs: readonly string[]): void {
  const limits = media.parameters[name];
  for (const [i, input] of inputs.entries()) {
    const path = inputs.length === 1 && name === "mask" ? name : `${name}[${i}]`;
    if (limits?.linksOnly === true && isDataUri(input))
      throw notTaken(`${path} must be a link (http, https) on ${id}.`, path);
    const bytes = inlineBytes(input);
    if (limits?.maxBytes !== undefined && bytes > limits.maxBytes)
      throw new GatewayError(
        "input_too_large",
        `${path} has ${bytes} bytes; ${limits.maxBytes} are the most on ${id}.`,
        { param: path },
      );
  }
}

/** The interface's default of a field; `undefined` where it has none. */
export function defaultOf(table: MediaTable, name: string): unknown {
  return fieldsOf(table)[name]?.default;
}
