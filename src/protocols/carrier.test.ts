import { expect, test } from "bun:test";
import { type Carried, isCarrier, openCarrier, sealCarrier } from "./carrier.ts";

const KEY = { secret: "a secret", account: "acct_1" };

const CARRIED: readonly Carried[] = [
  { kind: "thinking", issuer: "anthropic", text: "Träume 🌙", signature: "EqQB+/==" },
  { kind: "thinking", text: "" },
  { kind: "redacted", issuer: "anthropic", data: "AAA" },
  { kind: "signature", issuer: "google", signature: "c2ln", of: "next" },
  { kind: "compaction", text: "They sort a list." },
];

test("a carrier gives back to its account what was put in, and is printable ASCII without padding", () => {
  for (const carried of CARRIED) {
    const text = sealCarrier(carried, KEY);
    expect(text).toMatch(/^sw1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{22}$/);
    expect(isCarrier(text)).toBe(true);
    expect(openCarrier(text, KEY)).toEqual(carried);
  }
});

test("nothing comes out of a carrier that was changed, or that another account or installation was given", () => {
  const text = sealCarrier(CARRIED[0] as Carried, KEY);
  for (const key of [{ ...KEY, account: "acct_2" }, { ...KEY, secret: "another" }, undefined])
    expect(openCarrier(text, key)).toBeUndefined();
  for (let at = 0; at < text.length; at += 1) {
    const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
    expect(openCarrier(changed, KEY)).toBeUndefined();
  }
  for (const other of ["", "sw1.", "sw1..", `${text}.`, text.slice(0, -1), "gAAAAABn"])
    expect(openCarrier(other, KEY)).toBeUndefined();
});
