import { systemClock } from "../../src/core/time/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { openDiskAssets } from "../../src/assets/disk.ts";
import { mp4File } from "./media-files.ts";

// A process that stores videos of one task in a folder until it dies. When it cannot store one, it says why and ends.
// Arguments: the folder, the task, the bytes of the first video, and how many more each next one has.

const [folder = "", task = "", bytes = "0", step = "1"] = process.argv.slice(2);
const assets = await openDiskAssets({
  folder,
  publicUrl: () => "http://gateway",
  signingSecret: "5e".repeat(32),
  clock: systemClock,
  random: systemRandom,
});
console.log("begun");
try {
  for (let i = 0; ; i += 1) {
    const file = await assets.store(task, mp4File({ dataBytes: Number(bytes) + i * Number(step) }), "video");
    console.log("notStored" in file ? file.notStored : file.name);
  }
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  console.log(`failed: ${String(error)} ${cause !== undefined && "code" in cause ? String(cause.code) : ""}`);
}
