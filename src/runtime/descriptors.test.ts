import { expect, test } from "bun:test";
import { join } from "node:path";
import { descriptorLimit } from "./descriptors.ts";

const SCRIPT = join(import.meta.dirname, "../../test/gateway/out-of-descriptors.ts");

// Only Linux says how many descriptors there are.
test.skipIf(descriptorLimit() === undefined)(
  "without descriptors calls and threads come out of the reserve, or fail; the process lives",
  async () => {
    const command = `ulimit -n 64; exec "${process.execPath}" --no-install "${SCRIPT}"`;
    const child = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "pipe" });
    const [said, complained] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect([await child.exited, complained]).toEqual([0, ""]);
    expect(JSON.parse(said)).toEqual({
      counted: 10,
      countedAfter: 0,
      full: true,
      callWithoutReserve: expect.stringContaining("EMFILE"),
      threadWithoutReserve: "The process has run out of descriptors.",
      callWithReserve: "hi",
      threadWithReserve: "started",
      relieved: 2,
      refusal: "refused",
      ensured: "undefined",
      brokenOff: "reset",
      tries: 2,
    });
  },
);
