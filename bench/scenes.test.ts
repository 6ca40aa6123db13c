import { expect, test } from "bun:test";
import { requestOf, scenesNamed } from "./scenes.ts";

for (const scene of scenesNamed([])) {
  test(`${scene.name}: a body of its size, and the one that goes upstream for it`, () => {
    const { clientBodies, upstreamBodies } = requestOf(scene);
    const bytes = (scene.agent?.kilobytes ?? 1) * 1_000;
    for (const body of [...clientBodies, ...upstreamBodies]) {
      expect(body.length).toBeGreaterThan(bytes * 0.75);
      expect(body.length).toBeLessThan(bytes * 1.2);
    }
    const sent = upstreamBodies.map((body) => Buffer.from(body).toString());
    expect(sent.join()).not.toContain(scene.spoken.modelId);
    // What a gateway has kept of other sessions must not help it where each is to be new.
    if (scene.agent?.isNew === true) expect(sent[0]?.split("00session00").length).toBeGreaterThan(25);
  });
}

test("scenes are all for no text, those whose names have it otherwise, and an error where none has", () => {
  const names = scenesNamed([]).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(scenesNamed(["messages plain", "125"]).map(({ name }) => name)).toEqual([
    "messages plain",
    "chat agent 125 KB",
    "messages agent 125 KB",
    "chat → messages agent 125 KB",
    "chat agent 125 KB, each new",
    "messages agent 125 KB, each new",
    "chat → messages agent 125 KB, each new",
  ]);
  expect(() => scenesNamed(["gemini"])).toThrow("chat plain, messages plain");
});
