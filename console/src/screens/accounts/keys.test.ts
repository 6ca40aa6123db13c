import { expect, test } from "bun:test";
import { keyState } from "./keys.ts";

const LIVE = { revoked_at: null, expires_at: null, budget: null, spent: 5, held: 1 };

test.each([
  ["live", {}],
  ["live", { budget: 7 }],
  ["used up", { budget: 6 }],
  ["expired", { expires_at: 100, budget: 6 }],
  ["live", { expires_at: 101 }],
  ["revoked", { revoked_at: 1, expires_at: 100 }],
] as const)("a key is %s: %j", (state, part) => {
  expect(keyState({ ...LIVE, ...part }, 100)).toBe(state);
});
