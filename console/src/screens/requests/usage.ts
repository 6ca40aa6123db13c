/** Buckets of usage by their names in rows of requests, with the names that lines of charges have. */
export const USAGE_BUCKETS = {
  input: "input",
  cacheRead: "cache_read",
  cacheWrite5m: "cache_write_5m",
  cacheWrite1h: "cache_write_1h",
  imageInput: "image_input",
  audioInput: "audio_input",
  output: "output",
  reasoning: "reasoning",
  imageOutput: "image_output",
  audioOutput: "audio_output",
  seconds: "second",
  images: "image",
  webSearches: "web_search",
} as const;

type Counts = Readonly<Record<string, number>>;

const INPUTS = ["input", "cacheRead", "cacheWrite5m", "cacheWrite1h", "imageInput", "audioInput"];
const OUTPUTS = ["output", "reasoning", "imageOutput", "audioOutput"];

/** All tokens in, cached or not. */
export function tokensIn(usage: Counts): number {
  return sumOf(usage, INPUTS);
}

/** All tokens out, reasoning included. */
export function tokensOut(usage: Counts): number {
  return sumOf(usage, OUTPUTS);
}

/** Counts that are tokens, by the name of their bucket, without empty ones. */
export function tokenBuckets(usage: Counts): readonly { readonly bucket: string; readonly tokens: number }[] {
  return [...INPUTS, ...OUTPUTS]
    .map((field) => ({
      bucket: USAGE_BUCKETS[field as keyof typeof USAGE_BUCKETS],
      tokens: usage[field] ?? 0,
    }))
    .filter(({ tokens }) => tokens > 0);
}

/** Counts that are pieces, as they are read: `2 images`, `5 s of video`, `3 searches`. */
export function pieces(usage: Counts): readonly string[] {
  const { images = 0, seconds = 0, webSearches = 0 } = usage;
  return [
    ...(images > 0 ? [`${images} ${images === 1 ? "image" : "images"}`] : []),
    ...(seconds > 0 ? [`${seconds} s of video`] : []),
    ...(webSearches > 0 ? [`${webSearches} ${webSearches === 1 ? "search" : "searches"}`] : []),
  ];
}

function sumOf(usage: Counts, fields: readonly string[]): number {
  return fields.reduce((sum, field) => sum + (usage[field] ?? 0), 0);
}
