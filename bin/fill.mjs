// `npm run fill -- <folder>`: fills a new home in that folder with a year of requests, for measuring; see bench/fill.ts.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const args = [...BUN_FLAGS, "bench/fill.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
