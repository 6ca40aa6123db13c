// What the tests of the directions between formats ask for, in no format.

/** The formats, by names for sentences. */
export type Format = "chat" | "messages" | "google" | "responses";

export type Medium = "image" | "pdf" | "text file" | "link" | "audio" | "video";

export const SCHEMA = {
  type: "object",
  properties: { n: { type: "integer", minimum: 1 } },
  required: ["n"],
  additionalProperties: false,
};
/** The same where the provider binds by no bounds. */
export const NARROWED = {
  ...SCHEMA,
  properties: { n: { type: "integer", description: "Must hold: minimum: 1" } },
};
export const PNG = `iVBORw0KGgo${"A".repeat(25)}`;
export const PDF = "JVBERi0xLjQK";
export const MP3 = "SUQzBAAAAAAA";
export const MP4 = "AAAAGGZ0eXBpc29t";
export const TEXT = btoa("Hi.");
export const LINK = "https://example.com/a.pdf";
