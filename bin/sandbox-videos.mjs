// `npm run sandbox:videos`: makes the samples of the sandbox's videos anew, with Chromium.
import { run } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

await main(async () => {
  await ensureInstalled({ dev: true });
  return await run(bunBinary(), [...BUN_FLAGS, "test/browser/sandbox-videos.ts"], {
    env: runtimeEnvironment(),
  });
});
