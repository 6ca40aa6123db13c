// `npm start`: installs what is missing and runs the gateway; further arguments are the gateway's.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: false });
  const args = [...BUN_FLAGS, "src/main.ts", ...process.argv.slice(2)];
  return await run(bunBinary(), args, { env: runtimeEnvironment() });
});
