import { type KeptRequest, openKeptClient } from "./kept-client.ts";

/** What became of requests that were sent one after the other on connections that are kept. */
export interface Repeated {
  readonly answers: number;
  readonly seconds: number;
  readonly times: readonly number[];
  /** How many answers had each status; `broken` for a connection that ended. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** Sends a request `count` times, as many at once, each when one before was answered. */
export async function repeat(
  url: string,
  request: KeptRequest,
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
): Promise<Repeated> {
  const client = openKeptClient(url, request);
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  let asked = 0;
  const ask = async (): Promise<void> => {
    while (asked < count) {
      asked += 1;
      const askedAt = performance.now();
      const status = await client.send().then(
        (answer) => `${answer.status}`,
        () => "broken",
      );
      times.push(performance.now() - askedAt);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, ask));
  client.close();
  return { answers: times.length, seconds: (performance.now() - startedAt) / 1_000, times, statuses };
}
