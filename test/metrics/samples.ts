import { ADMIN_TOKEN, type TestGateway } from "../gateway/gateway.ts";

/** The samples of a text for Prometheus: numbers by name and labels, as the text has them. */
export type Samples = ReadonlyMap<string, number>;

/** Reads a text line by line, strictly. */
export function readSamples(text: string): Samples {
  const samples = new Map<string, number>();
  for (const line of text.split("\n").slice(0, -1)) {
    if (line.startsWith("# ")) continue;
    const [, name, value] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || samples.has(name))
      throw new Error(`This is no sample, or stands twice: ${line}`);
    samples.set(name, Number(value));
  }
  return samples;
}

/** What the gateway's own listener answers to Prometheus. */
export async function scrape({ url }: Pick<TestGateway, "url">): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  if (response.status !== 200) throw new Error(`/metrics is ${response.status}.`);
  return response.text();
}

/** The samples whose names begin so, without what their names have in common. */
export function those(samples: Samples, begin: string): Record<string, number> {
  const found = [...samples].filter(([name]) => name.startsWith(begin));
  return Object.fromEntries(found.map(([name, value]) => [name.slice(begin.length), value]));
}
