import { queryOptions } from "@tanstack/solid-query";
import { ApiError, type Entry, Offline, read } from "../../api/client.ts";
import { type PriceRow, pricesOf } from "./prices.ts";

/** A model. */
export type Model = Entry<"/api/v1/models">;

/** Pages that are read at once. */
const AT_ONCE = 4;

/** The models that are served. */
export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => read("/api/v1/models", { signal }),
});

/** The address of a model's page for language models, below the gateway that serves the console. */
export function docsPath(unique: string): string {
  return `/docs/${unique.split("/").map(encodeURIComponent).join("/")}/llms.txt`;
}

/** That page. Its prices are the ones that the gateway charges by. */
export function docsQuery(unique: string) {
  return queryOptions({
    queryKey: ["docs", unique],
    staleTime: 600_000,
    queryFn: ({ signal }) => readDocs(unique, signal),
  });
}

/** The price lists of models by their unique ids; a model whose page cannot be read has none. */
export function pricesQuery(uniques: readonly string[]) {
  return queryOptions({
    queryKey: ["prices", uniques],
    staleTime: 600_000,
    async queryFn({ signal }): Promise<ReadonlyMap<string, readonly PriceRow[]>> {
      const waiting = [...uniques];
      const found = new Map<string, readonly PriceRow[]>();
      const work = async (): Promise<void> => {
        for (let unique = waiting.shift(); unique !== undefined; unique = waiting.shift()) {
          try {
            found.set(unique, pricesOf(await readDocs(unique, signal)));
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return found;
    },
  });
}

async function readDocs(unique: string, signal: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await fetch(docsPath(unique), { signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Offline("The gateway cannot be reached.", { cause: error });
  }
  if (!response.ok) throw new ApiError(response, "");
  return response.text();
}
