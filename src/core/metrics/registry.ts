import {
  type Counter,
  createCounted,
  createDistribution,
  type Family,
  type Histogram,
  type Sampled,
  sampleName,
} from "./series.ts";

export type { Counter, Histogram };

/** A family whose values stand elsewhere: they are read whenever the text is written. */
export interface ReadFamily extends Family {
  readonly type: "gauge" | "counter";
  /** Where this throws or rejects, the text has no series of the family. */
  read(): Iterable<Reading> | Promise<Iterable<Reading>>;
}

/** The values of the labels, in their order, and the number. */
export type Reading = readonly [labels: readonly string[], value: number];

/** The series of a family by the values of its labels; made when it is first asked for, so whoever counts keeps it. */
export type SeriesOf<Kind> = (...values: readonly string[]) => Kind;

/**
 * Families of series, and their text in the format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
export interface Registry {
  /** `written` writes the numbers of counters that are kept in a smaller unit than they are shown in. */
  counters(family: Family, written?: (value: number) => string): SeriesOf<Counter>;
  /** `bounds` rise; the bucket above the last one is there by itself. */
  histograms(family: Family, bounds: readonly number[]): SeriesOf<Histogram>;
  readings(family: ReadFamily): void;
  /** The text in parts, each of which is made when it is asked for. */
  text(): AsyncGenerator<string>;
}

/** Series in one part of the text: of histograms, which have some fifteen lines each, 0.2 ms of work. */
const SERIES_IN_PART = 64;

/** A registry without any family. */
export function createRegistry(): Registry {
  const families: (() => AsyncGenerator<string> | Generator<string>)[] = [];

  const keep = <Kind>(
    family: Family,
    type: string,
    make: (values: readonly string[]) => Kind & Sampled,
  ): SeriesOf<Kind> => {
    const all = new Map<string, Kind & Sampled>();
    families.push(() => partsOf(headOf(family, type), all.values()));
    return (...values) => {
      const key = values.join("\n");
      let series = all.get(key);
      if (series === undefined) all.set(key, (series = make(values)));
      return series;
    };
  };

  return {
    counters: (family, written = String) =>
      keep(family, "counter", (values) => createCounted(family, values, written)),
    histograms: (family, bounds) =>
      keep(family, "histogram", (values) => createDistribution(family, values, bounds)),
    readings: (family) => void families.push(() => readFamily(family)),
    async *text() {
      for (const write of families) yield* write();
    },
  };
}

function* partsOf(head: string, all: Iterable<Sampled>): Generator<string> {
  let [part, inPart] = [head, 0];
  for (const series of all) {
    part += series.text();
    if ((inPart += 1) < SERIES_IN_PART) continue;
    yield part;
    [part, inPart] = ["", 0];
  }
  yield part;
}

async function* readFamily(family: ReadFamily): AsyncGenerator<string> {
  let readings: Iterable<Reading>;
  try {
    readings = await family.read();
  } catch {
    return;
  }
  let lines = headOf(family, family.type);
  for (const [values, value] of readings) lines += `${sampleName(family, values)} ${value}\n`;
  yield lines;
}

function headOf({ name, help }: Family, type: string): string {
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}
