// `npm run bench`: runs the benchmark in the environment that the gateway runs in; arguments are the benchmark's.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const args = [...BUN_FLAGS, "bench/main.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
