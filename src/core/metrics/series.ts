/** A number that only grows. */
export interface Counter {
  add(amount: number): void;
}

/** How many values came into each bucket, and their sum. */
export interface Histogram {
  observe(value: number): void;
}

/** What a family of series is called, what it means, and the labels that tell its series apart. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A series that writes itself. */
export interface Sampled {
  /** Its lines as they stand now. */
  text(): string;
}

/** A counter at 0. */
export function createCounted(
  family: Family,
  values: readonly string[],
  written: (value: number) => string,
): Counter & Sampled {
  return new Counted(sampleName(family, values), written);
}

/** A histogram that has seen nothing. */
export function createDistribution(
  family: Family,
  values: readonly string[],
  bounds: readonly number[],
): Histogram & Sampled {
  return new Distribution(family, values, bounds);
}

/** The name of a sample with its labels, as a line begins. */
export function sampleName(
  { name, labels }: Family,
  values: readonly string[],
  ending = "",
  more = "",
): string {
  const pairs = labels.map((label, i) => `${label}="${escaped(values[i] ?? "")}"`);
  if (more !== "") pairs.push(more);
  return pairs.length === 0 ? name + ending : `${name + ending}{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

class Counted implements Counter, Sampled {
  readonly #name: string;
  readonly #written: (value: number) => string;
  #value = 0;

  constructor(name: string, written: (value: number) => string) {
    this.#name = name;
    this.#written = written;
  }

  add(amount: number): void {
    this.#value += amount;
  }

  text(): string {
    return `${this.#name} ${this.#written(this.#value)}\n`;
  }
}

class Distribution implements Histogram, Sampled {
  readonly #bounds: readonly number[];
  /** The beginning of each line: that of each bucket, of the sum and of the count. */
  readonly #names: readonly string[];
  /** By bucket, without those of lower ones. */
  readonly #counts: number[];
  #sum = 0;

  constructor(family: Family, values: readonly string[], bounds: readonly number[]) {
    const named = (ending: string, more?: string): string => sampleName(family, values, ending, more);
    const ends = [...bounds.map(String), "+Inf"];
    this.#bounds = bounds;
    this.#names = [...ends.map((le) => named("_bucket", `le="${le}"`)), named("_sum"), named("_count")];
    this.#counts = ends.map(() => 0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
  }

  text(): string {
    const names = this.#names;
    let [lines, count] = ["", 0];
    for (let i = 0; i < this.#counts.length; i += 1) {
      count += this.#counts[i] as number;
      lines += `${names[i]} ${count}\n`;
    }
    const at = this.#counts.length;
    return `${lines}${names[at]} ${this.#sum}\n${names[at + 1]} ${count}\n`;
  }
}
