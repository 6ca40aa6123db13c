// `npm run smoke -- <provider>`: makes one cheap image or video at a provider, with the key of the environment.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const args = [...BUN_FLAGS, "bench/smoke-main.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
