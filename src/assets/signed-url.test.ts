import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createUrlSigner, LIFETIME_SEC } from "./signed-url.ts";

const PATH = `/assets/img_${"0a".repeat(16)}/${"b1".repeat(16)}.png`;
const SECRET = "5e".repeat(32);
const NOW_MS = Date.UTC(2026, 10, 21, 12);
const signer = createUrlSigner(SECRET, createFakeClock(NOW_MS));
const query = signer.sign(PATH);
const expires = String(NOW_MS / 1000 + LIFETIME_SEC);
const signature = query.slice(query.indexOf("signature=") + 10);

const at = (offsetMs: number) =>
  createUrlSigner(SECRET, createFakeClock(NOW_MS + offsetMs)).check(PATH, query);

describe("a URL", () => {
  test("is good for an hour, and for a minute more or less where clocks differ", () => {
    expect(query).toMatch(/^expires=\d{10}&signature=1\.[A-Za-z0-9_-]{43}$/);
    expect(at(0)).toBe(LIFETIME_SEC);
    expect(at(1_000)).toBe(LIFETIME_SEC - 1);
    expect(at(3_600_000)).toBe(0);
    expect(at(3_660_999)).toBe(0);
    expect(at(3_661_000)).toBeUndefined();
    expect(at(-60_000)).toBe(LIFETIME_SEC + 60);
    expect(at(-61_000)).toBeUndefined();
  });

  test("that is signed for longer than an hour is refused, though the signature is right", () => {
    const ahead = createUrlSigner(SECRET, createFakeClock(NOW_MS + 24 * 3_600_000));
    expect(ahead.check(PATH, ahead.sign(PATH))).toBe(LIFETIME_SEC);
    expect(signer.check(PATH, ahead.sign(PATH))).toBeUndefined();
  });

  test("that another secret has signed is refused", () => {
    const other = createUrlSigner("5f".repeat(32), createFakeClock(NOW_MS));
    expect(other.check(PATH, query)).toBeUndefined();
    expect(signer.check(PATH, other.sign(PATH))).toBeUndefined();
  });

  test("is signed for its path alone", () => {
    for (const path of [
      PATH.replace("b1", "b2"),
      PATH.replace("img", "vid"),
      PATH.replace(".png", ".jpg"),
      PATH.toUpperCase(),
      `${PATH}/`,
      `/${PATH}`,
      "",
    ])
      expect(signer.check(path, query)).toBeUndefined();
  });

  const wrong: readonly (readonly [string, string])[] = [
    ["no query", ""],
    ["no expiry", `signature=${signature}`],
    ["an empty expiry", `expires=&signature=${signature}`],
    ["words for an expiry", `expires=tomorrow&signature=${signature}`],
    ["an expiry like 1e99", `expires=1e99&signature=${signature}`],
    ["a negative expiry", `expires=-${expires}&signature=${signature}`],
    ["an expiry with a sign", `expires=+${expires}&signature=${signature}`],
    ["an expiry with a fraction", `expires=${expires}.0&signature=${signature}`],
    ["an expiry that begins with 0", `expires=0${expires}&signature=${signature}`],
    ["an expiry in other digits", `expires=${expires.replace("1", "١")}&signature=${signature}`],
    ["an expiry beyond all numbers", `expires=${"9".repeat(400)}&signature=${signature}`],
    ["a later expiry", `expires=${Number(expires) + 1}&signature=${signature}`],
    ["an earlier expiry", `expires=${Number(expires) - 1}&signature=${signature}`],
    ["no signature", `expires=${expires}`],
    ["an empty signature", `expires=${expires}&signature=`],
    ["a short signature", query.slice(0, -1)],
    ["a long signature", `${query}A`],
    ["a signature in capitals", `expires=${expires}&signature=${signature.toUpperCase()}`],
    ["a padded signature", `${query}=`],
    ["an encoded signature", `expires=${expires}&signature=${signature.replace(".", "%2E")}`],
    ["the signature of another key", query.replace("signature=1.", "signature=2.")],
    ["a signature without its key", query.replace("signature=1.", "signature=")],
    ["a parameter too many", `${query}&x=1`],
    ["a parameter before", `x=1&${query}`],
    ["a parameter twice", `${query}&signature=${signature}`],
    ["the other parameter twice", `expires=${expires}&${query}`],
    ["the parameters in another order", `signature=${signature}&expires=${expires}`],
    ["a name in capitals", query.replace("expires", "Expires")],
    ["an empty parameter behind", `${query}&`],
    ["a line break behind", `${query}\n`],
    ["a second line", `${query}\nexpires=1`],
  ];
  for (const [name, changed] of wrong) {
    test(`with ${name} is refused`, () => expect(signer.check(PATH, changed)).toBeUndefined());
  }
});
