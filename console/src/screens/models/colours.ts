import { useQuery } from "@tanstack/solid-query";
import { createMemo } from "solid-js";
import type { Series } from "../../design/chart.tsx";
import { colourIn } from "../../design/series.ts";
import { known } from "../../design/states.tsx";
import { modelsQuery } from "./reads.ts";

/** Gives the series of models their colours. All charts give a model the same one: by its place among those served. */
export function useModelColours() {
  const models = useQuery(() => modelsQuery);
  const ids = createMemo(() => [...new Set((known(models)?.data ?? []).map(({ id }) => id))]);
  const coloured = (series: readonly Series[]): readonly Series[] =>
    series.map((one) => ({ ...one, colour: colourIn(ids(), one.name) }));
  return { models, coloured };
}
