// A process that takes videos from a server into its store, as a task does, and prints how much memory that took.
import { join } from "node:path";
import { openDiskAssets } from "../../src/assets/disk.ts";
import { readS3Address } from "../../src/assets/s3-address.ts";
import { openS3Assets } from "../../src/assets/s3.ts";
import { createByteBudget } from "../../src/core/bytes/byte-budget.ts";
import { systemClock } from "../../src/core/time/clock.ts";
import { noFailpoint } from "../../src/core/failpoint.ts";
import { systemRandom } from "../../src/core/random.ts";
import { createGuardedFetch } from "../../src/gateway/fetch/guarded-fetch.ts";
import { createLongTexts } from "../../src/gateway/media/job/long-texts.ts";
import { keepOutputs } from "../../src/gateway/media/job/outputs.ts";
import { createGridCutter } from "../../src/runtime/images/grid-cutter.ts";

const [folder = "", from = "", videos = "", bucket = ""] = process.argv.slice(2);
const clock = systemClock;
const random = systemRandom;
const log = { info() {}, warn() {}, error() {} };

const s3 = (name: string): string | undefined => ({ AWS_REGION: undefined })[name] ?? "id";
const assets =
  bucket === ""
    ? await openDiskAssets({ folder, publicUrl: () => "", signingSecret: "5e".repeat(32), clock, random })
    : await openS3Assets({
        address: readS3Address(`s3://results/x?region=us-east-1&endpoint=${bucket}`, s3),
        spoolFolder: join(folder, "spool"),
        clock,
        random,
      });
const fetch = createGuardedFetch({ allowedHosts: () => [new URL(from).host], clock, log });
const memory = createByteBudget(() => 1024 ** 2);

const take = (place: number) =>
  keepOutputs(
    {
      run: { id: `vid_${place.toString(16).padStart(32, "0")}`, kind: "video" },
      asked: 1,
      signal: new AbortController().signal,
      assets,
      fetch,
      texts: createLongTexts(),
      memory: memory.open(),
      cutGrid: createGridCutter().cut,
      ownHosts: [],
      clock,
      random,
      failpoint: noFailpoint,
      onTrouble: (what, error) => console.error(what, error),
    },
    [{ url: `${from}/${place}` }],
  );

const rss = (): number => process.memoryUsage.rss();
Bun.gc(true);
const before = rss();
let most = before;
let longestMs = 0;
let last = performance.now();
const watch = setInterval(() => {
  most = Math.max(most, rss());
  longestMs = Math.max(longestMs, performance.now() - last);
  last = performance.now();
}, 2);
const kept = await Promise.all(Array.from({ length: Number(videos) }, (_, i) => take(i)));
clearInterval(watch);
const files = kept.flat().map(({ bytes, sha256 }) => ({ bytes, sha256 }));
console.log(JSON.stringify({ files, grownBytes: most - before, longestMs: Math.round(longestMs) }));
process.exit(0);
