// `npm run test:mutate`: changes the source at random, in a copy, and lists the changes that no test sees; arguments
// are those of test/mutate/main.ts.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  const args = [...BUN_FLAGS, "test/mutate/main.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
