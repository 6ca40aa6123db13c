import { fieldsOf, type MediaTable } from "../../../catalog/parameter-tables/media-table.ts";
import type { Caller } from "../../../core/caller.ts";
import { isDataUri } from "../../../core/media/data-uri.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { MediaFacts } from "../../../core/media/media-model.ts";
import type { Model } from "../../../core/model.ts";
import { faultSentence } from "../../../core/schema.ts";
import type { TaskKind } from "../../../core/task.ts";
import { inlineBytes } from "../../../protocols/media-inputs.ts";
import { findModel, type FoundModel, noLiveProvider } from "../../find-model.ts";
import type { Offer } from "../../offer.ts";

/** An image or video model. */
export type MediaModel = Model & { readonly media: MediaFacts };

/** The model that a request for images or a video names; throws the 400s of `findModel`. */
export function findMediaModel(
  { catalog, mediaProviders }: Offer,
  caller: Caller,
  name: string,
  kind: TaskKind,
): FoundModel<MediaModel> {
  const { model, warnings } = findModel(catalog, caller, name, kind);
  const isLive = (found: Model): found is MediaModel =>
    found.media !== undefined &&
    found.routes.some((route) => mediaProviders.get(route.provider)?.adapters[kind] !== undefined);
  if (!isLive(model)) throw noLiveProvider(catalog, model.id, kind);
  return { model, warnings };
}

/** A 400 about a field that this model does not take, or not with this value. */
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

/** Checks the media of a field against the model's limits. Throws a 400 that names the one at fault. */
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
