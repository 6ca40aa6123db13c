import { expect, test } from "bun:test";
import { isChosen } from "./filter.ts";

const MODEL: Parameters<typeof isChosen>[0] = {
  id: "acme/talk-2",
  display_name: "Talk Two",
  vendor: "acme",
  category: "language",
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
  formats: { compat_messages: "relay" },
  total_context: 200_000,
};

test("each filter takes what fits it", () => {
  const fits = [
    {},
    { text: "two ACME" },
    { category: "language" },
    { takes: "image" },
    { gives: "text" },
    { format: "compat_messages" },
    { context: "200000" },
    { price: "2" },
  ];
  expect(fits.map((search) => isChosen(MODEL, 2, search))).toEqual(fits.map(() => true));
});

test("each filter leaves out what does not fit it", () => {
  const others = [
    { text: "two other" },
    { category: "image" },
    { takes: "audio" },
    { gives: "image" },
    { format: "compat_responses" },
    { context: "200001" },
    { price: "1.99" },
  ];
  expect(others.map((search) => isChosen(MODEL, 2, search))).toEqual(others.map(() => false));
  expect(isChosen(MODEL, undefined, { price: "2" })).toBe(false);
});
