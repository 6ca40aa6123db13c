import { expect, test } from "bun:test";
import { base64In, canBeFollowed, isBase64 } from "./given-media.ts";

test("base64 is of whole bytes, in either alphabet, padded rightly or not at all", () => {
  for (const text of ["AA==", "AA", "AAA=", "AAA", "AAAA", "+/+/", "-_-_", "AAAAAA"])
    expect([text, isBase64(text)]).toEqual([text, true]);
  for (const text of [
    "",
    "A",
    "AAAAA",
    "A===",
    "AA=",
    "AAAA=",
    "=",
    "AA==AA==",
    "AA AA",
    "AA\nAA",
    "%%%%",
    "ä===",
  ])
    expect([text, isBase64(text)]).toEqual([text, false]);
});

test("a data URL of base64 says so right before its comma", () => {
  expect(base64In("data:image/png;base64,AAAA")).toBe("AAAA");
  expect(base64In("data:image/png;thought_signature=QUJD;BASE64,AA,")).toBe("AA,");
  for (const url of ["data:image/png,AAAA", "data:;base64", "data:image/png;base64;x=1,AAAA"])
    expect([url, base64In(url)]).toEqual([url, undefined]);
});

test("a link can be followed to the public Internet alone; other addresses are the vendor's own", () => {
  for (const link of ["https://example.com/a.png", "http://1.1.1.1", "gs://bucket/a", "files/abc"])
    expect([link, canBeFollowed(link)]).toEqual([link, true]);
  for (const link of [
    "http://localhost:9",
    "http://127.1/",
    "http://0x7f000001/",
    "https://[::1]/",
    "https://[fd00::1]/",
    "https://intranet/",
    "https://a.internal/",
    "HTTPS://192.168.1.1",
    "http://",
  ])
    expect([link, canBeFollowed(link)]).toEqual([link, false]);
});
