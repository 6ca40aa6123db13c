import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import { mapToolIds } from "./tool-ids.ts";
import type { ChatRequestBody } from "./schema.ts";

const RUNS = runsOf(300, 5_000);

function bodyOf(ids: readonly string[]): ChatRequestBody {
  return {
    model: "m",
    messages: [
      { role: "assistant", tool_calls: ids.map((id) => ({ id })) },
      ...ids.map((id) => ({ role: "tool" as const, content: "x", tool_call_id: id })),
    ],
  };
}

describe("ids of tool calls that a vendor does not take", () => {
  test("are made anew one for one, fit its rule, and never meet one that is there", () => {
    const id = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^[a-zA-Z0-9]{9}$/));
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 20 }), (ids) => {
        const map = mapToolIds(bodyOf(ids), "nine");
        const sent = ids.map((each) => map.get(each) ?? each);
        for (const each of sent) expect(each).toMatch(/^[a-zA-Z0-9]{9}$/);
        expect(new Set(sent).size).toBe(ids.length);
        for (const each of ids) if (/^[a-zA-Z0-9]{9}$/.test(each)) expect(map.has(each)).toBe(false);
      }),
      RUNS,
    );
  });

  test("are the same in the next turn, so that prompts are cached", () => {
    const first = mapToolIds(bodyOf(["call_a"]), "nine").get("call_a");
    expect(mapToolIds(bodyOf(["call_a", "call_b"]), "nine").get("call_a")).toBe(first as string);
  });

  test("are the same in every version, so that prompts stay cached", () => {
    const map = mapToolIds(bodyOf(["call_a", "functions.weather:0", "ü".repeat(50)]), "nine");
    expect([...map.values()]).toEqual(["PegSLLKwK", "O18x5kY8D", "j0XirU3ka"]);
  });

  test("that a made one would meet, are gone around", () => {
    const made = mapToolIds(bodyOf(["call_a"]), "nine").get("call_a") as string;
    expect(mapToolIds(bodyOf(["call_a", made]), "nine").get("call_a")).not.toBe(made);
  });

  test("are left alone up to 40 characters, or where there is no rule", () => {
    const ids = ["x".repeat(40), "x".repeat(41), "functions.f:0"];
    expect([...mapToolIds(bodyOf(ids), "forty").keys()]).toEqual(["x".repeat(41)]);
    expect(mapToolIds(bodyOf(ids), "any").size).toBe(0);
  });
});
