/** How many durations fell into each bucket, by the bucket's number, up to the last that has any. */
export type Histogram = number[];

/** Buckets for each doubling: the middle of one is within 4.5 % of all that is in it. */
const PER_DOUBLING = 8;

/** Counts a duration. */
export function observe(histogram: Histogram, durationMs: number): void {
  addTo(histogram, bucketOf(durationMs), 1);
}

/** Adds the counts of `other`. */
export function addHistogram(histogram: Histogram, other: Histogram): void {
  for (let bucket = 0; bucket < other.length; bucket += 1) {
    const count = other[bucket] as number;
    if (count > 0) addTo(histogram, bucket, count);
  }
}

/**
 * The durations that these shares of all are not above, each as whole milliseconds, for shares in ascending order;
 * `undefined` where none was counted. A duration is the middle of its bucket.
 */
export function quantiles(histogram: Histogram, shares: readonly number[]): readonly number[] | undefined {
  let all = 0;
  for (const count of histogram) all += count;
  if (all === 0) return undefined;
  const found: number[] = [];
  let [bucket, seen] = [-1, 0];
  for (const share of shares) {
    while (seen < Math.ceil(all * share)) seen += histogram[(bucket += 1)] as number;
    found.push(middleOf(bucket));
  }
  return found;
}

/** How many durations were below so many milliseconds and not below the half of that. */
export interface Doubling {
  readonly belowMs: number;
  readonly count: number;
}

/** Counts durations by their doublings, from 1 ms on, the shortest first; leaves out a doubling that none fell into. */
export function doublings(histogram: Histogram): readonly Doubling[] {
  const counts: number[] = [];
  for (const [bucket, count] of histogram.entries()) addTo(counts, Math.ceil(bucket / PER_DOUBLING), count);
  return counts.flatMap((count, power) => (count === 0 ? [] : [{ belowMs: 2 ** power, count }]));
}

/** The buckets that have any, each with its count behind it, as JSON. */
export function histogramText(histogram: Histogram): string {
  const pairs: number[] = [];
  for (const [bucket, count] of histogram.entries()) if (count > 0) pairs.push(bucket, count);
  return JSON.stringify(pairs);
}

/** Reads that text. */
export function readHistogram(text: string): Histogram {
  return ofPairs([JSON.parse(text) as number[]]);
}

/** Reads several such texts, with commas between them, as the sum of what they tell. */
export function readHistograms(texts: string): Histogram {
  return ofPairs(JSON.parse(`[${texts}]`) as number[][]);
}

function ofPairs(all: readonly (readonly number[])[]): Histogram {
  const histogram: Histogram = [];
  for (const pairs of all)
    for (let i = 0; i < pairs.length; i += 2) addTo(histogram, pairs[i] as number, pairs[i + 1] as number);
  return histogram;
}

function addTo(histogram: Histogram, bucket: number, count: number): void {
  while (histogram.length <= bucket) histogram.push(0);
  histogram[bucket] = (histogram[bucket] as number) + count;
}

/** Bucket 0 has what is shorter than a millisecond, also what the clock was set back in. */
function bucketOf(durationMs: number): number {
  return durationMs < 1 ? 0 : 1 + Math.floor(Math.log2(durationMs) * PER_DOUBLING);
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / PER_DOUBLING));
}
