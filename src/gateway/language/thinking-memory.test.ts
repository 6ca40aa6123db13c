import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { createThinkingMemory } from "./thinking-memory.ts";

const calls = (key: string, text = "Hm.") => [
  { key, thinking: { before: [{ type: "thinking", text } as const] } },
];

describe("what models thought before calls", () => {
  test("is remembered by account, family and call, and by nothing else", () => {
    const memory = createThinkingMemory(createFakeClock());
    expect(memory.has("a", "anthropic")).toBe(false);
    memory.remember("a", "anthropic", calls("k1"));
    expect(memory.has("a", "anthropic")).toBe(true);
    expect(memory.recall("a", "anthropic", ["k1", "k2"])).toEqual({ k1: calls("k1")[0]!.thinking });
    for (const [account, family, key] of [
      ["b", "anthropic", "k1"],
      ["a", "google", "k1"],
      ["a", "anthropic", "k2"],
    ] as const)
      expect(memory.recall(account, family, [key])).toEqual({});
    expect(memory.has("b", "anthropic")).toBe(false);
  });

  test("is nothing where one call stands for several thoughts", () => {
    const memory = createThinkingMemory(createFakeClock());
    memory.remember("a", "f", calls("k"));
    memory.remember("a", "f", calls("k"));
    expect(memory.recall("a", "f", ["k"])).toEqual({ k: calls("k")[0]!.thinking });
    memory.remember("a", "f", calls("k", "Other."));
    expect(memory.recall("a", "f", ["k"])).toEqual({});
    memory.remember("a", "f", calls("k"));
    expect(memory.recall("a", "f", ["k"])).toEqual({});
  });

  test("is forgotten after six hours", async () => {
    const clock = createFakeClock();
    const memory = createThinkingMemory(clock);
    memory.remember("a", "f", calls("k"));
    await clock.advance(6 * 3_600_000 - 1);
    expect(memory.recall("a", "f", ["k"])).not.toEqual({});
    await clock.advance(1);
    expect(memory.recall("a", "f", ["k"])).toEqual({});
    memory.remember("b", "f", calls("k"));
    expect(memory.has("a", "f")).toBe(false);
  });

  test("is forgotten whole, however often the same call came", async () => {
    const clock = createFakeClock();
    const memory = createThinkingMemory(clock);
    for (const key of ["k", "k", "l"]) memory.remember("a", "f", calls(key));
    await clock.advance(6 * 3_600_000);
    memory.remember("b", "f", calls("k"));
    expect([memory.has("a", "f"), memory.has("b", "f")]).toEqual([false, true]);
  });

  test("takes no more than its bound, and the oldest goes first", () => {
    const memory = createThinkingMemory(createFakeClock(), 1_000);
    for (let i = 0; i < 10; i += 1) memory.remember("a", "f", calls(`k${i}`, "x".repeat(150)));
    const kept = Object.keys(
      memory.recall(
        "a",
        "f",
        Array.from({ length: 10 }, (_, i) => `k${i}`),
      ),
    );
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.length).toBeLessThan(6);
    expect(kept.at(-1)).toBe("k9");
    expect(kept).not.toContain("k0");
  });

  test("takes 16 Mi characters where nothing else is said, keys and all, and not one more", () => {
    const memory = createThinkingMemory(createFakeClock());
    const MI = 1024 * 1024;
    const around = "a f k00".length + JSON.stringify(calls("k", "")[0]!.thinking).length;
    const remember = (key: string, size: number) =>
      memory.remember("a", "f", calls(key, "x".repeat(size - around)));
    const keys = Array.from({ length: 17 }, (_, i) => `k${String(i).padStart(2, "0")}`);
    const kept = () => Object.keys(memory.recall("a", "f", keys)).length;
    for (const key of keys.slice(0, 16)) remember(key, MI);
    expect(kept()).toBe(16);
    remember("k16", 1 + around);
    expect(kept()).toBe(16);
    expect(memory.recall("a", "f", ["k00"])).toEqual({});
  });
});
