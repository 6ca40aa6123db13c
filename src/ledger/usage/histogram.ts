/** How many durations fell into each bucket, by the bucket's number. */
export type Histogram = Record<number, number>;

/** Buckets for each doubling: the middle of one is within 4.5 % of all that is in it. */
const PER_DOUBLING = 8;

/** Counts a duration. */
export function observe(histogram: Histogram, durationMs: number): void {
  addTo(histogram, bucketOf(durationMs), 1);
}

/** Adds the counts of `other`. */
export function addHistogram(histogram: Histogram, other: Histogram): void {
  for (const bucket in other) addTo(histogram, Number(bucket), other[bucket] ?? 0);
}

/**
 * The duration that a `share` of all is not above, as whole milliseconds; `undefined` where none was counted. It is the
 * middle of its bucket.
 */
export function quantile(histogram: Histogram, share: number): number | undefined {
  // Members whose names are whole numbers come in ascending order.
  const buckets = Object.entries(histogram);
  const rank = Math.ceil(buckets.reduce((sum, [, count]) => sum + count, 0) * share);
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= rank) return middleOf(Number(bucket));
  }
  return undefined;
}

function addTo(histogram: Histogram, bucket: number, count: number): void {
  histogram[bucket] = (histogram[bucket] ?? 0) + count;
}

/** Bucket 0 has what is shorter than a millisecond, also what the clock was set back in. */
function bucketOf(durationMs: number): number {
  return durationMs < 1 ? 0 : 1 + Math.floor(Math.log2(durationMs) * PER_DOUBLING);
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / PER_DOUBLING));
}
