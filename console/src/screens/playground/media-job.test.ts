import { expect, test } from "bun:test";
import { curlOf, type Draft, faultOf, formFields, jobOf, readable, slotsOf } from "./media-job.ts";

const LINKS = { type: "array", items: { type: "string" } };
const VIDEO = {
  required: ["model", "prompt"],
  properties: {
    model: { type: "string" },
    prompt: { type: "string" },
    resolution: { enum: ["720p", "1080p"], type: "string" },
    frame_images: { type: "array", maxItems: 2, description: "links, data URIs or base64" },
    reference_videos: { ...LINKS, maxItems: 3, description: "Videos, as links" },
  },
};
const EDIT = {
  required: ["model", "prompt", "image"],
  properties: {
    image: { ...LINKS, description: "links or base64" },
    mask: { type: "string", description: "a link or a data URI" },
    n: { type: "integer", minimum: 1, maximum: 4 },
  },
};
const draft = (over: Partial<Draft> = {}): Draft => ({
  prompt: "A boat",
  values: {},
  references: {},
  links: {},
  isTask: false,
  ...over,
});
const ref = (value: string) => ({ value, name: value });

test("the form leaves out what the page asks for itself", () => {
  expect(formFields(VIDEO).map(({ name }) => name)).toEqual(["resolution"]);
});

test("frames have a place for each end, where the model takes two", () => {
  expect(slotsOf(VIDEO).map(({ title, most, takesFiles }) => [title, most, takesFiles])).toEqual([
    ["First frame", 1, true],
    ["Last frame", 1, true],
    ["Reference videos", 3, false],
  ]);
  const one = { properties: { frame_images: { ...VIDEO.properties.frame_images, maxItems: 1 } } };
  expect(slotsOf(one)).toHaveLength(1);
});

test("references become the members of the body that they are for", () => {
  const references = {
    "frame_images:first_frame": [ref("a")],
    "frame_images:last_frame": [ref("b")],
    reference_videos: [ref("c"), ref("d")],
    image: [ref("of another model")],
  };
  expect(jobOf("video", "m", VIDEO, draft({ references }))).toEqual({
    model: "m",
    prompt: "A boat",
    frame_images: [
      { image_url: "a", frame_type: "first_frame" },
      { image_url: "b", frame_type: "last_frame" },
    ],
    reference_videos: ["c", "d"],
  });
  expect(
    jobOf("image", "m", EDIT, draft({ references: { image: [ref("a")], mask: [ref("b")] } })),
  ).toMatchObject({ image: ["a"], mask: "b" });
});

test("values that the model does not take are left out", () => {
  const values = { resolution: "480p", n: 9, seed: 1 };
  expect(jobOf("video", "m", VIDEO, draft({ values }))).toEqual({ model: "m", prompt: "A boat" });
  expect(jobOf("image", "m", EDIT, draft({ values: { n: 2 } }))).toMatchObject({ n: 2 });
});

test("only images are asked for with `async`", () => {
  expect(jobOf("image", "m", EDIT, draft({ isTask: true })).async).toBe(true);
  expect(jobOf("video", "m", VIDEO, draft({ isTask: true })).async).toBeUndefined();
});

test("a job without its prompt or a reference that it needs is not sent", () => {
  expect(faultOf(VIDEO, draft({ prompt: " " }))).toBe("Write a prompt first.");
  expect(faultOf(EDIT, draft())).toBe("This model needs: images to start from.");
  expect(faultOf(EDIT, draft({ references: { image: [ref("a")] } }))).toBeUndefined();
});

test("a prompt that is too long is not sent", () => {
  const schema = { properties: { prompt: { type: "string", maxLength: 5 } } };
  expect(faultOf(schema, draft())).toBe("Shorten the prompt.");
  expect(faultOf(schema, draft({ prompt: "Boat" }))).toBeUndefined();
});

test("frames are not sent together with references", () => {
  const frame = { "frame_images:first_frame": [ref("a")] };
  expect(faultOf(VIDEO, draft({ references: frame }))).toBeUndefined();
  expect(faultOf(VIDEO, draft({ references: { ...frame, reference_videos: [ref("b")] } }))).toBe(
    "The model takes frames or references, not both.",
  );
});

test("a link that was typed and not added is not left out without a word", () => {
  expect(faultOf(VIDEO, draft({ links: { reference_videos: "https://a.example" } }))).toBe(
    "Add the link under “Reference videos”, or clear it.",
  );
  expect(faultOf(VIDEO, draft({ links: { image: "https://a.example" } }))).toBeUndefined();
});

test("a call for a shell keeps quotes of the prompt", () => {
  const call = curlOf("video", "https://gateway.example/", { model: "m", prompt: `it's "red"` });
  expect(call).toStartWith("curl https://gateway.example/api/v1/videos ");
  expect(call).toContain(String.raw`"prompt": "it's \"red\""`);
  expect(call).toEndWith("\nJSON");
});

test("bytes within JSON are shortened, other text is not touched", () => {
  const shown = readable(JSON.stringify({ image: "a".repeat(1_000), n: 1 }));
  expect(shown).toContain("… (1000 characters)");
  expect(shown.length).toBeLessThan(200);
  expect(readable("<html>")).toBe("<html>");
});
