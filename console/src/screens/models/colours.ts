import { useQuery } from "@tanstack/solid-query";
import { createMemo } from "solid-js";
import { colourIn } from "../../design/series.ts";
import { known } from "../../design/states.tsx";
import { modelsQuery } from "./reads.ts";

/** The colours of models, which are the same in all charts: each by its place among those that are served. */
export function useModelColours() {
  const models = useQuery(() => modelsQuery);
  const ids = createMemo(() => [...new Set((known(models)?.data ?? []).map(({ id }) => id))]);
  return { models, colourOf: (id: string): string => colourIn(ids(), id) };
}
