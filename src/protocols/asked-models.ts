import { MOST_MODELS } from "../catalog/parameter-tables/shared-fields.ts";
import { joinBytes } from "../core/bytes/bytes.ts";
import { openChanges } from "./changes.ts";
import type { AskedModel, WireRequest } from "./protocol.ts";
import { readRequestJson, type RequestJson, wrong } from "./request-json.ts";

/** The header that names them where a body has no place for them. */
const MODELS_HEADER = "x-switchyard-models";

/** A body as its format has it, and the models that its caller would have instead of the first. */
export interface AskedJson {
  readonly json: RequestJson;
  /** All models that may serve, the first of them is the body's `model`; absent where the body names one alone. */
  readonly models?: readonly [AskedModel, ...AskedModel[]];
}

/**
 * Reads a body in which `models` may stand beside or in the place of `model`. No format has the field, so the gateway
 * takes it out of the bytes before any check. It writes the first of them as `model`. Throws as `readRequestJson` does,
 * and a 400 for a list that is none.
 */
export function readAskedJson(wire: Pick<WireRequest, "body" | "asked" | "known">): AskedJson {
  const json = readRequestJson(wire);
  if (!Object.hasOwn(json.value, "models")) return { json };
  const { model, models } = json.value;
  const changes = openChanges(() => "");
  changes.remove(["models"]);
  if (models === null) return { json: reread(json, changes) };
  const named = checkModels(models);
  if (model !== undefined && model !== null) {
    const first = reread(json, changes);
    // What is no text is refused by the format.
    return typeof model === "string" ? { json: first, models: besideModel(model, named) } : { json: first };
  }
  const [first] = named;
  changes.set(["model"], first.name);
  const alone = reread(json, changes);
  wire.asked?.(first.name);
  return { json: alone, models: eachOnce(named) };
}

/** `model` and the models named beside it, in that order, each once. */
export function besideModel(
  model: string,
  named: readonly AskedModel[],
): readonly [AskedModel, ...AskedModel[]] {
  return eachOnce([{ name: model, field: "model" }, ...named]);
}

/** Each name by the first place that has it. */
function eachOnce([first, ...others]: readonly [AskedModel, ...AskedModel[]]): readonly [
  AskedModel,
  ...AskedModel[],
] {
  if (others.length === 0) return [first];
  const seen = new Set([first.name]);
  const fresh = ({ name }: AskedModel): boolean => !seen.has(name) && seen.add(name) !== undefined;
  return [first, ...others.filter(fresh)];
}

function reread(json: RequestJson, changes: ReturnType<typeof openChanges>): RequestJson {
  return readRequestJson({ body: joinBytes(changes.splice(json)) });
}

function checkModels(models: unknown): readonly [AskedModel, ...AskedModel[]] {
  const isList = Array.isArray(models) && models.length > 0 && models.length <= MOST_MODELS;
  if (!isList) throw wrong("models", `must be a list of 1 to ${MOST_MODELS} models`);
  const bad = models.findIndex((name) => typeof name !== "string" || name === "");
  if (bad !== -1) throw wrong(`models[${bad}]`, "must be the name of a model");
  const named = (models as readonly string[]).map((name, i) => ({ name, field: `models[${i}]` }));
  return named as readonly AskedModel[] as readonly [AskedModel, ...AskedModel[]];
}

/** The models that the header names; `undefined` where it is not there. Throws a 400 for a list that is none. */
export function modelsInHeader(headers: Headers): readonly AskedModel[] | undefined {
  const text = headers.get(MODELS_HEADER);
  if (text === null) return undefined;
  const names = text.split(",").map((name) => name.trim());
  if (names.length <= MOST_MODELS && names.every((name) => name !== ""))
    return names.map((name) => ({ name, field: MODELS_HEADER }));
  throw wrong(MODELS_HEADER, `must have 1 to ${MOST_MODELS} models with commas between them`);
}
