// `npm run figures`: prints the figures of the source of this checkout; arguments are those of bench/figures/main.ts.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const args = [...BUN_FLAGS, "bench/figures/main.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
