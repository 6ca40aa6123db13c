import { queryOptions } from "@tanstack/solid-query";
import { type Answer, ApiError, type Entry, Offline, read, refusalOf } from "../../api/client.ts";
import { type PriceRow, rowsOf } from "./prices.ts";

/** A model. */
export type Model = Entry<"/api/v1/models">;

/** The address of a model's page for language models, below the gateway that serves the console. */
export function docsPath(unique: string): string {
  return `/docs/${unique.split("/").map(encodeURIComponent).join("/")}/llms.txt`;
}

/** That page. */
export function docsQuery(unique: string) {
  return queryOptions({
    queryKey: ["docs", unique],
    staleTime: 600_000,
    queryFn: ({ signal }) => readDocs(unique, signal),
  });
}

type PriceLists = Answer<"/admin/v1/prices">;

/** What jobs of an image or video model cost, by their parameters. */
export type JobCosts = NonNullable<PriceLists["data"][number]["jobs"]>;

const PRICE_LISTS = {
  queryKey: ["prices"],
  staleTime: 60_000,
  queryFn: ({ signal }: { signal: AbortSignal }) => read("/admin/v1/prices", { signal }),
} as const;

/** The price lists of the models by their unique ids. */
export const pricesQuery = queryOptions({
  ...PRICE_LISTS,
  select: ({ data }: PriceLists): ReadonlyMap<string, readonly PriceRow[]> =>
    new Map(data.map(({ unique_id, prices }) => [unique_id, rowsOf(prices)])),
});

/** What jobs cost, by the unique ids of the models that make images or videos. */
export const jobCostsQuery = queryOptions({
  ...PRICE_LISTS,
  select: ({ data }: PriceLists): ReadonlyMap<string, JobCosts> =>
    new Map(data.flatMap(({ unique_id, jobs }) => (jobs === null ? [] : [[unique_id, jobs] as const]))),
});

async function readDocs(unique: string, signal: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await fetch(docsPath(unique), { signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Offline("The gateway cannot be reached.", { cause: error });
  }
  if (!response.ok) throw new ApiError(refusalOf(response), "");
  return response.text();
}
