import type { Search } from "../../lists/search.ts";
import type { Model } from "./reads.ts";
import type { MODELS_SEARCH } from "./search.ts";

type Filterable = Pick<
  Model,
  | "id"
  | "display_name"
  | "vendor"
  | "category"
  | "input_modalities"
  | "output_modalities"
  | "formats"
  | "total_context"
>;

/** Whether the address asks for a model. `usd` is what it is ranked by price with, where that is known. */
export function isChosen(
  model: Filterable,
  usd: number | undefined,
  { text = "", category, takes, gives, format, context, price }: Search<(typeof MODELS_SEARCH)[number]>,
): boolean {
  const words = `${model.id} ${model.display_name} ${model.vendor}`.toLowerCase();
  return (
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => words.includes(word)) &&
    (category === undefined || model.category === category) &&
    (takes === undefined || model.input_modalities.some((modality) => modality === takes)) &&
    (gives === undefined || model.output_modalities.some((modality) => modality === gives)) &&
    (format === undefined || Object.hasOwn(model.formats, format)) &&
    (context === undefined || (model.total_context ?? 0) >= Number(context)) &&
    (price === undefined || (usd !== undefined && usd <= Number(price)))
  );
}
