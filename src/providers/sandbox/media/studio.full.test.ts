import { afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createFakeClock } from "../../../../test/gateway/fake-clock.ts";
import { makeImage } from "../draw/poster.ts";
import type { ImageOrder } from "./image-order.ts";
import { openStudio } from "./studio.ts";

const IMAGE: ImageOrder = {
  size: { width: 64, height: 64 },
  format: "png",
  seed: "1",
  model: "acme/one",
  prompt: "a red fox",
  facts: [["seed", "1"]],
  references: [],
};
const LARGE: ImageOrder = { ...IMAGE, size: { width: 1024, height: 768 } };

const signal = new AbortController().signal;
const clock = createFakeClock();
// An idle thread ends after a while of the clock.
afterEach(() => clock.advance(60_000));

test("what comes from the thread is what is drawn here, in the order in which it was ordered", async () => {
  const studio = openStudio(clock);
  const ended: string[] = [];
  const order = async (name: string, made: Promise<Uint8Array>): Promise<Uint8Array> => {
    const bytes = await made;
    ended.push(name);
    return bytes;
  };
  const made = await Promise.all([
    order("image", studio.draw(IMAGE, signal)),
    order("large", studio.draw(LARGE, signal)),
    order("other", studio.draw({ ...IMAGE, seed: "2" }, signal)),
  ]);
  expect(ended).toEqual(["image", "large", "other"]);
  const here = [await makeImage(IMAGE), await makeImage(LARGE), await makeImage({ ...IMAGE, seed: "2" })];
  made.forEach((bytes, i) => expect(bytes.toBase64()).toBe(here[i]!.toBase64()));
});

test("a large image holds nobody up", async () => {
  let isDrawn = false;
  const drawn = openStudio(clock)
    .draw({ ...IMAGE, size: { width: 5504, height: 3072 } }, signal)
    .then(() => (isDrawn = true));
  let turns = 0;
  for (; !isDrawn; turns += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  await drawn;
  // Drawn here, it would be done after the first.
  expect(turns).toBeGreaterThan(20);
});

test("an order whose client has gone is not waited for, and one that waits is not made", async () => {
  const studio = openStudio(clock);
  const stop = new AbortController();
  const [first, second] = [IMAGE, { ...IMAGE, size: { width: 5_000, height: 5_000 } }].map((order) =>
    studio.draw(order, stop.signal),
  );
  const third = studio.draw(IMAGE, signal);
  stop.abort(new Error("gone"));
  expect(first).rejects.toThrow("gone");
  expect(second).rejects.toThrow("gone");
  expect(await third).toEqual(await makeImage(IMAGE));
  expect(studio.draw(IMAGE, stop.signal)).rejects.toThrow("gone");
});

test("an order that cannot be drawn is said to be so, and the next is drawn", async () => {
  const studio = openStudio(clock);
  expect(studio.draw({ ...IMAGE, size: { width: -1, height: 9 } }, signal)).rejects.toThrow(
    "The sandbox could not draw",
  );
  expect((await studio.draw(IMAGE, signal)).length).toBeGreaterThan(100);
});

test("the thread ends when it has been idle, and starts again with the next order", async () => {
  const studio = openStudio(clock);
  for (let i = 0; i < 2; i += 1) {
    expect((await studio.draw(IMAGE, signal)).length).toBeGreaterThan(100);
    await clock.advance(10_000);
  }
});

test("a gateway that starts loads nothing of what draws", () => {
  const root = join(import.meta.dir, "../../..");
  const seen = new Set<string>();
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const visit = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    for (const { path, kind } of transpiler.scanImports(readFileSync(file, "utf8"))) {
      if (kind !== "import-statement") continue;
      expect(path).not.toContain("@jsquash");
      if (path.startsWith(".")) visit(join(dirname(file), path));
    }
  };
  visit(join(root, "main.ts"));
  const loaded = [...seen].map((file) => file.slice(root.length + 1));
  expect(loaded).toContain("providers/sandbox/media/studio.ts");
  expect(loaded.filter((file) => file.includes("sandbox/draw/") || file.includes("studio-thread"))).toEqual(
    [],
  );
});
