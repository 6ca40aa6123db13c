import { describe, expect, test } from "bun:test";
import {
  type AskOptions,
  askImage,
  askVideo,
  imageBody,
  LINK,
  mediaModels,
  mediaOffer,
  pngBase64,
  pngUri,
  refusalOf,
  videoBody,
} from "../../../../test/gateway/media-offer.ts";
import { createCatalog } from "../../../catalog/catalog.ts";
import type { Caller } from "../../../core/caller.ts";
import type { VideoRequest } from "../../../core/media/media.ts";

const QWEN = "alibaba/qwen-image-2.0";
const GEMINI = "google/gemini-3-pro-image";
const MIDJOURNEY = "midjourney/midjourney";
const GPT = "openai/gpt-image-2";
const EDIT = "openai/gpt-image-2/edit";
const WAN = "alibaba/wan-2.6";
const SEEDANCE = "bytedance/seedance-2.0";

const IMAGES = [QWEN, GEMINI, MIDJOURNEY, GPT, EDIT];
const VIDEOS = [WAN, SEEDANCE, "bytedance/seedance-2.0-fast"];

/** What the list of bad input says of a field: values that every model refuses, naming it. */
const BAD_OF_ALL: Readonly<Record<"image" | "video", Readonly<Record<string, readonly unknown[]>>>> = {
  image: {
    prompt: [undefined, null, "", 1, [], {}, "a\0b", "a\ud800b", "\udc00"],
    n: [0, 5, 1.5, "2", -1, true, [1], 1e300],
    timeout: [29, 1_801, 1e9, "300", 30.5, -300],
    size: ["2048*2049", "99999*99999", "-1*1", "2048＊2048", "2048×2048", "0*0", "", 2_048, "auto"],
    seed: [-2, 2_147_483_648, 1.5, "1"],
    image: ["https://x.example/a", 1, [1], [""], [null], {}],
    image_size: ["8K", "1k", 1, ""],
    aspect_ratio: ["16/9", "1:3", "16:9 ", 1],
    quality: ["ultra", 3, "0.250", "hd", true],
    background: ["transparent", 1],
    output_format: ["jpg", "gif", 1],
    response_format: ["B64", "base64", 1],
    async: ["true", 1, "false", {}],
    chaos: [101, -1, "0", 0.5],
    weird: [3_001, -1, "0"],
    stylize: [1_001, -1, "100"],
    version: ["5", 8, "v7", "7.0", true],
    niji: ["off", 4, "7", true],
    sref: [1, "", "x", "data:image/png;base64,AAAA", "file:///etc/passwd"],
    mask: [1, "", ["https://x.example/a"]],
    stream: [true, "true", "false", 1],
    partial_images: [1, "0", true],
  },
  video: {
    prompt: [undefined, null, "", 1, [], "a\0b", "a\ud800b"],
    timeout: [59, 3_601, 1e9, "600", 60.5],
    seed: [-2, 2_147_483_648, 1.5, "1"],
    duration: ["6", 6, "05", "5s", -5, 0, "", 5.5, true, ["5"]],
    shot_type: ["double", 1, ""],
    resolution: ["2160p", "720", 720, "720P"],
    aspect_ratio: ["16/9", "1:1", "16:9 ", 1],
    frame_images: [
      LINK,
      [1],
      [""],
      [null],
      [{}],
      [{ image_url: 1 }],
      [{ image_url: LINK, frame_type: "middle_frame" }],
      [LINK, LINK, LINK],
      Array.from({ length: 1_000 }, () => LINK),
      [
        { image_url: LINK, frame_type: "first_frame" },
        { image_url: LINK, frame_type: "first_frame" },
      ],
      [{ image_url: LINK, frame_type: "last_frame" }],
    ],
    negative_prompt: [1, [], "a\0b", "x".repeat(1_000_000)],
    enable_prompt_expansion: ["true", 1],
    input_references: [LINK, [1], [""], Array.from({ length: 1_000 }, () => LINK)],
    reference_audios: [LINK, [1], [""]],
    reference_videos: [LINK, [1], [""]],
    stream: [true, "true"],
  },
};

describe("a value that no model can take is a 400 that names its field, whatever the model", () => {
  for (const [kind, ids, bodyOf, ask] of [
    ["image", IMAGES, imageBody, askImage],
    ["video", VIDEOS, videoBody, askVideo],
  ] as const) {
    for (const [field, values] of Object.entries(BAD_OF_ALL[kind])) {
      test(`${kind}: ${field}`, () => {
        for (const id of ids) {
          for (const value of values) {
            const refused = refusalOf(() => ask(bodyOf(id, { [field]: value })));
            const told = [id, JSON.stringify(value)?.slice(0, 60)];
            expect([...told, refused?.param?.split(/[.[]/)[0]]).toEqual([...told, field]);
            expect(refused?.kind).toMatch(/^(invalid_request_error|input_too_large)$/);
            expect(refused?.message).toContain(field);
          }
        }
      });
    }
  }

  test("numbers that JSON can write in many ways are durations in one", () => {
    const body = (duration: string): string => `{"model":"${WAN}","prompt":"x","duration":${duration}}`;
    for (const good of ["5", '"5"', "10", " 15"])
      expect(refusalOf(() => askVideo(body(good)))).toBeUndefined();
    for (const bad of ["1e1", "5.0", "0.5e1", "50e-1", '"1e1"'])
      expect(refusalOf(() => askVideo(body(bad)))).toMatchObject({
        param: "duration",
        message: "duration must be one of 5, 10, 15.",
      });
  });

  test("a prompt of a million characters is too large", () => {
    const prompt = "x".repeat(1_000_000);
    for (const id of IMAGES)
      expect(refusalOf(() => askImage(imageBody(id, { prompt })))).toMatchObject({
        kind: "input_too_large",
        param: "prompt",
      });
    for (const id of VIDEOS)
      expect(refusalOf(() => askVideo(videoBody(id, { prompt })))?.kind).toBe("input_too_large");
  });

  test("bodies that are none, too deep, or have a field twice", () => {
    const deep = `${"[".repeat(70)}${"]".repeat(70)}`;
    const bodies = [
      "",
      " ",
      "null",
      "[]",
      "1",
      "{",
      "{'a':1}",
      `{"model":"${QWEN}","prompt":"x","image":${deep}}`,
    ];
    for (const body of bodies) {
      expect(refusalOf(() => askImage(body))?.kind).toBe("invalid_request_error");
      expect(refusalOf(() => askVideo(body))?.kind).toBe("invalid_request_error");
    }
    const many = `{"model":"${QWEN}","prompt":"x","image":[${"0,".repeat(200_000)}0]}`;
    expect(refusalOf(() => askImage(many))?.kind).toBe("input_too_large");
    expect(refusalOf(() => askImage(`{"model":"${QWEN}","prompt":"x","n":1,"n":4}`))?.param).toBe("n");
    expect(refusalOf(() => askImage(`{"model":"${QWEN}","prompt":"x","n":1,"\\u006e":4}`))?.param).toBe("n");
    expect(
      refusalOf(() => askVideo(`{"model":"${WAN}","prompt":"x","duration":5,"duration":15}`))?.param,
    ).toBe("duration");
    const frames = `[{"image_url":"${LINK}","image_url":"https://other.example/"}]`;
    expect(refusalOf(() => askVideo(`{"model":"${WAN}","prompt":"x","frame_images":${frames}}`))?.param).toBe(
      "frame_images",
    );
  });
});

describe("a field that is null, and one that nobody knows", () => {
  test("null is as good as left out, as the official clients send it", () => {
    for (const field of Object.keys(BAD_OF_ALL.image)) {
      if (field === "prompt" || field === "image") continue;
      expect(refusalOf(() => askImage(imageBody(EDIT, { [field]: null })))).toBeUndefined();
    }
    expect(askImage(imageBody(QWEN, { size: null, n: null, image: null })).request).toEqual(
      askImage(imageBody(QWEN)).request,
    );
  });

  test("unknown ones never go on, and are named in a warning that a header can hold", () => {
    const more = {
      api_base: "http://evil.example",
      __proto__x: 1,
      'na\nme"\\é': 1,
      user: "me",
      headers: { a: 1 },
      stream: false,
    };
    const { request, warnings } = askImage(imageBody(QWEN, more));
    expect(request).toEqual(askImage(imageBody(QWEN)).request);
    expect(warnings).toEqual([
      "api_base was left out: it is not a field of requests for images",
      "__proto__x was left out: it is not a field of requests for images",
      "na?me??? was left out: it is not a field of requests for images",
      "user was left out: it is not a field of requests for images",
      "headers was left out: it is not a field of requests for images",
    ]);
  });

  test("so are those of a frame, which stays one", () => {
    const frame = { type: "image_url", image_url: LINK, "a\nb": null };
    const { request, warnings } = askVideo(videoBody(SEEDANCE, { frame_images: [LINK, frame] }));
    expect(request).toMatchObject({ firstFrame: LINK, lastFrame: LINK });
    expect(warnings).toEqual([
      "frame_images[1].type was left out: it is not a field of requests for videos",
      "frame_images[1].a?b was left out: it is not a field of requests for videos",
    ]);
  });

  test("very many unknown ones are named by a few, and counted", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`f${i}`, i]));
    const { warnings } = askImage(imageBody(QWEN, many));
    expect(warnings.length).toBe(9);
    expect(warnings.at(-1)).toBe("992 further fields were left out: they are none of requests for images");
  });

  test("fields named after what every object has are unknown, and change nothing", () => {
    const body = `{"model":"${QWEN}","prompt":"x","__proto__":{"n":4},"constructor":1,"toString":2}`;
    const { request, warnings } = askImage(body);
    expect(request).toMatchObject({ n: 1 });
    expect(warnings.length).toBe(3);
    expect("n" in {}).toBe(false);
  });
});

describe("what can be said of a task beside its work", () => {
  test("of images whether they are waited for, whether as base64, and for how long", () => {
    const of = (more: object) => {
      const { awaited, base64, timeoutSec } = askImage(imageBody(QWEN, more));
      return [awaited, base64, timeoutSec];
    };
    expect(of({})).toEqual([true, false, 300]);
    expect(of({ async: true, timeout: 1_800 })).toEqual([false, false, 1_800]);
    expect(of({ async: false, response_format: "b64_json", timeout: 30 })).toEqual([true, true, 30]);
    expect(of({ response_format: "url" })).toEqual([true, false, 300]);
  });

  test("of videos how long they may take; nobody waits for one", () => {
    expect(askVideo(videoBody(WAN))).toMatchObject({ timeoutSec: 600, awaited: false, base64: false });
    expect(askVideo(videoBody(WAN, { timeout: 3_600 })).timeoutSec).toBe(3_600);
  });
});

describe("the model", () => {
  const caller = (...ids: string[]): Caller => ({ keyId: "k", accountId: "a", models: new Set(ids) });

  test("that is missing or no text is a 400 that names the field", () => {
    for (const model of [undefined, null, 1, {}]) {
      expect(refusalOf(() => askImage({ model, prompt: "x" }))?.param).toBe("model");
      expect(refusalOf(() => askVideo({ model, prompt: "x" }))?.param).toBe("model");
    }
  });

  const unknown = [
    "",
    "nobody/nothing",
    "__proto__",
    "OpenAI/gpt-image-2",
    "openai/gpt-image-2/",
    "x".repeat(9_000),
  ];
  test.each(unknown)("%p is a 400 that leads to those there are", (model) => {
    const refused = refusalOf(() => askImage({ model, prompt: "x" }));
    expect(refused).toMatchObject({ kind: "invalid_request_error", param: "model" });
    expect(refused?.message).toContain("GET /api/v1/models lists those that this key may use.");
    expect(refused?.message.includes(`Did you mean ${GPT} or ${EDIT}?`)).toBe(model.includes("image-2"));
    expect(refused?.message.length).toBeLessThan(500);
  });

  test("of another endpoint is a 400 that says where it is served", () => {
    const asked = (ask: typeof askImage | typeof askVideo, model: string): string =>
      refusalOf(() => ask({ model, prompt: "x" }))?.message ?? "";
    expect(asked(askImage, WAN)).toBe(
      `The model ${WAN} is not served at /api/v1/images/generations. It is served at /api/v1/videos.`,
    );
    expect(asked(askVideo, GPT)).toContain("It is served at /api/v1/images/generations.");
    expect(asked(askImage, "openai/gpt-6-astra")).toContain("It is served at /api/v1/chat/completions.");
  });

  test("that the key may not use is a 400 that says so", () => {
    const refused = refusalOf(() => askImage(imageBody(QWEN), { caller: caller(GPT) }));
    expect(refused).toEqual({
      kind: "invalid_request_error",
      param: "model",
      message: `This API key may not use the model ${QWEN}. It may use ${GPT}.`,
    });
    expect(refusalOf(() => askImage(imageBody(GPT), { caller: caller(GPT) }))).toBeUndefined();
    expect(refusalOf(() => askImage(imageBody(GPT), { caller: caller() }))?.message).toContain("may not use");
  });

  test("that no provider serves now is a 400 that says so", () => {
    const offer = mediaOffer(["openai"]);
    expect(refusalOf(() => askImage(imageBody(QWEN), { offer }))).toMatchObject({
      kind: "invalid_request_error",
      message: expect.stringContaining(`No provider that serves the model ${QWEN} is set up here.`),
    });
    expect(refusalOf(() => askImage(imageBody(GPT), { offer }))).toBeUndefined();
  });

  test("whose second provider alone is live is served", () => {
    const offer = mediaOffer(["fal"]);
    expect(refusalOf(() => askVideo(videoBody(WAN), { offer }))).toBeUndefined();
    expect(refusalOf(() => askImage(imageBody(MIDJOURNEY), { offer }))?.message).toContain("No provider");
  });

  test("that is also a language model is found by its kind", () =>
    expect(askImage(imageBody(GEMINI)).model.category).toBe("image"));
});

describe("a prompt for Midjourney holds no command", () => {
  const bad = [
    "a fox --fast",
    "a fox --repeat 40",
    "--v 5 a fox",
    "a fox--turbo",
    "a fox\n--ar 1:1",
    "a fox\t--relax",
    "a fox —fast",
    "—fast a fox",
    "a fox \u2013fast",
    "a fox \u2212fast",
    "a fox \uff0dfast",
    "a {red, blue} fox",
    "a fox -- fast",
  ];
  test.each(bad)("%p is refused, and it is said why", (prompt) => {
    const refused = refusalOf(() => askImage(imageBody(MIDJOURNEY, { prompt })));
    expect(refused?.param).toBe("prompt");
    expect(refused?.message).toMatch(/charged|job of its own/);
    // To others it means nothing.
    expect(refusalOf(() => askImage(imageBody(QWEN, { prompt })))).toBeUndefined();
  });
  const good = [
    "a red-brown fox",
    "a fox — in the snow",
    "1 - 2 - 3",
    "a {red} fox",
    "well-known, state-of-the-art",
    "-5 degrees",
  ];
  test.each(good)("%p is not", (prompt) =>
    expect(refusalOf(() => askImage(imageBody(MIDJOURNEY, { prompt })))).toBeUndefined(),
  );
  test("neither does a style reference", () => {
    for (const sref of [
      "https://x.example/a --fast",
      "https://x.example/a\n",
      "https://u:p@x.example/",
      "ftp://x.example/",
    ])
      expect(refusalOf(() => askImage(imageBody(MIDJOURNEY, { sref })))?.param).toBe("sref");
  });
});

test("several shots do not expand the prompt of a model that makes them without", () => {
  const wan = mediaModels.find(({ id }) => id === WAN)!;
  const plain = { ...wan, media: { ...wan.media, multiShotExpands: false } };
  const offer = { ...mediaOffer(), catalog: createCatalog([plain]) };
  const { request, warnings } = askVideo(videoBody(WAN, { shot_type: "multi" }), { offer });
  expect(request).toMatchObject({ shotType: "multi", expandPrompt: false });
  expect(warnings).toEqual([]);
});

describe("frames find their place", () => {
  const frames = (list: unknown): Pick<VideoRequest, "firstFrame" | "lastFrame"> => {
    const { firstFrame, lastFrame } = askVideo(videoBody(SEEDANCE, { frame_images: list }))
      .request as VideoRequest;
    return {
      ...(firstFrame === undefined ? {} : { firstFrame }),
      ...(lastFrame === undefined ? {} : { lastFrame }),
    };
  };
  const [A, B] = ["https://x.example/a", "https://x.example/b"];
  const first = { image_url: A, frame_type: "first_frame" };
  const last = { image_url: B, frame_type: "last_frame" };
  const cases: readonly (readonly [string, unknown, object])[] = [
    ["none", [], {}],
    ["one text", [A], { firstFrame: A }],
    ["two texts", [A, B], { firstFrame: A, lastFrame: B }],
    ["objects without a place", [{ image_url: A }, { image_url: B }], { firstFrame: A, lastFrame: B }],
    ["objects in order", [first, last], { firstFrame: A, lastFrame: B }],
    ["objects in the other order", [last, first], { firstFrame: A, lastFrame: B }],
    ["a text and a last frame", [A, last], { firstFrame: A, lastFrame: B }],
    ["a last frame and a text", [last, A], { firstFrame: A, lastFrame: B }],
    ["a first frame and a text", [first, B], { firstFrame: A, lastFrame: B }],
    ["a text and a first frame", [B, first], { firstFrame: A, lastFrame: B }],
    ["an object whose place is null", [{ image_url: A, frame_type: null }], { firstFrame: A }],
  ];
  test.each(cases)("%s", (_, list, want) => expect(frames(list)).toEqual(want));

  test("with frames the video has their shape: another ratio is refused, the default is left out", () => {
    const ask = (aspect_ratio: string) => askVideo(videoBody(SEEDANCE, { frame_images: [A], aspect_ratio }));
    expect(ask("16:9").request).not.toHaveProperty("aspectRatio");
    expect(refusalOf(() => ask("9:16"))?.param).toBe("aspect_ratio");
  });

  test("lists of references that are empty do not stand against frames", () => {
    const empty = { input_references: [], reference_videos: [], reference_audios: [] };
    expect(refusalOf(() => askVideo(videoBody(WAN, { frame_images: [A], ...empty })))).toBeUndefined();
    expect(
      refusalOf(() => askVideo(videoBody(WAN, { frame_images: [], input_references: [A] }))),
    ).toBeUndefined();
  });
});

describe("media of a request", () => {
  const taken = (image: string): readonly string[] => {
    const { request } = askImage(imageBody(QWEN, { image: [image] }));
    return request.kind === "image" ? request.images : [];
  };
  const refused = (image: string) => refusalOf(() => taken(image));
  const PNG = pngUri(64, 48);

  test("are links as they were given", () => {
    for (const link of [
      LINK,
      "http://x.example",
      "HTTPS://X.example/a?b=c#d",
      "https://xn--bcher-kva.example/ü",
    ])
      expect(taken(link)).toEqual([link]);
  });

  test("are images as data URIs, in base64 alone likewise", () => {
    expect(taken(PNG)).toEqual([PNG]);
    expect(taken(pngBase64(64, 48))).toEqual([PNG]);
    expect(taken(PNG.replace("data:image/png", "DATA:IMAGE/PNG;name=a.png"))).toEqual([PNG]);
  });

  test("whose media type is wrong get the right one", () =>
    expect(taken(PNG.replace("image/png", "image/jpeg"))).toEqual([PNG]));

  test("whose base64 is over many lines are put together", () => {
    const broken = pngBase64(64, 48).replace(/.{16}/g, "$&\r\n");
    expect(taken(broken)).toEqual([PNG]);
    expect(taken(`data:image/png;base64,${broken}`)).toEqual([PNG]);
  });

  const GIF = Buffer.from("GIF89a\u0001\0\u0001\0\0\0\0,\0\0\0\0\u0001\0\u0001\0\0", "latin1").toString(
    "base64",
  );
  test("of other formats are told by their content", () =>
    expect(taken(GIF)).toEqual([`data:image/gif;base64,${GIF}`]));

  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>').toString(
    "base64",
  );
  const bad: readonly (readonly [string, string])[] = [
    ["a script", "javascript:alert(1)"],
    ["a file", "file:///etc/passwd"],
    ["another scheme", "ftp://x.example/a.png"],
    ["a bucket", "gs://bucket/a.png"],
    ["credentials", "https://user:pass@x.example/a.png"],
    ["a user alone", "https://user@x.example/a.png"],
    ["a line break", "https://x.example/a\r\nhost: y"],
    ["white space", "https://x.example/a b"],
    ["a backslash", "https://x.example\\@y.example/"],
    ["a percent sign in the host", "https://x%2eexample/a"],
    ["no host", "https:///a"],
    ["no slashes", "https:x.example/a"],
    ["a very long link", `https://x.example/${"a".repeat(9_000)}`],
    ["plain words", "an image of a fox"],
    ["a path", "/etc/passwd"],
    ["an SVG", `data:image/svg+xml;base64,${svg}`],
    ["an SVG that says it is a PNG", `data:image/png;base64,${svg}`],
    ["a page", "data:text/html;base64,PGI+"],
    ["a data URI without base64", "data:image/png,abc"],
    ["a data URI without a comma", "data:image/png;base64"],
    ["a data URI of nothing", "data:image/png;base64,"],
    ["base64 with other letters", `${PNG.slice(0, -4)}*&==`],
    ["base64 that is cut", PNG.slice(0, -1)],
    ["base64 with padding amid it", `${PNG}=AAA`],
    ["base64 with bits left over", `${PNG}AAB=`],
    ["a PNG without a size", pngUri(0, 5)],
    ["a PNG that ends in its header", PNG.slice(0, 42)],
    ["a video", "data:video/mp4;base64,AAAAGGZ0eXBtcDQy"],
  ];
  test.each(bad)("that are %s are refused", (_, image) => {
    expect(refused(image)).toMatchObject({ kind: "invalid_request_error", param: "image[0]" });
    expect(refused(image)?.message.length).toBeLessThan(200);
  });

  test("of too many pixels or bytes are too large", () => {
    expect(refused(pngUri(20_000, 20_000))).toMatchObject({ kind: "input_too_large", param: "image[0]" });
    expect(refused(pngUri(2 ** 31, 2 ** 31))?.kind).toBe("input_too_large");
    expect(refused(pngUri(7_000, 7_000))).toBeUndefined();
    const large = PNG + "AAAA".repeat(3_600_000);
    expect(refused(large)).toMatchObject({ kind: "input_too_large", param: "image[0]" });
    // GPT Image takes larger ones.
    expect(refusalOf(() => askImage(imageBody(EDIT, { image: [large] })))).toBeUndefined();
  });

  test("are named by their place", () => {
    const third = refusalOf(() => askImage(imageBody(GEMINI, { image: [LINK, PNG, "x"] })));
    expect(third?.param).toBe("image[2]");
    const frame = refusalOf(() => askVideo(videoBody(WAN, { frame_images: [{ image_url: "x" }] })));
    expect(frame?.param).toBe("frame_images[0].image_url");
  });

  test("that are audio and videos are links or data URIs, where the provider takes those", () => {
    const ask = (id: string, more: object) => refusalOf(() => askVideo(videoBody(id, more)));
    const wav = "data:audio/wav;base64,UklGRgAA";
    const beside = { input_references: [LINK] };
    expect(ask(SEEDANCE, { ...beside, reference_audios: [wav] })).toBeUndefined();
    expect(ask(WAN, { reference_audios: [wav] })?.param).toBe("reference_audios[0]");
    expect(ask(WAN, { reference_audios: [LINK] })).toBeUndefined();
    for (const audio of ["data:image/png;base64,AAAA", "UklGRgAA", "data:audio/wav;base64,A*A="])
      expect(ask(SEEDANCE, { ...beside, reference_audios: [audio] })?.param).toBe("reference_audios[0]");
    for (const id of VIDEOS) {
      expect(ask(id, { reference_videos: ["data:video/mp4;base64,AAAA"] })?.param).toBe(
        "reference_videos[0]",
      );
      expect(ask(id, { reference_videos: ["rtsp://x.example/a"] })?.param).toBe("reference_videos[0]");
    }
  });
});

describe("a link to a private host is a 400 that names its field, whoever would follow it:", () => {
  const frames = (url: string) => ({ frame_images: [{ image_url: url, frame_type: "first_frame" }] });
  const fields: readonly (readonly [string, (url: string, more?: AskOptions) => unknown])[] = [
    ["image[1]", (url, more) => askImage(imageBody(QWEN, { image: [LINK, url] }), more)],
    ["mask", (url, more) => askImage(imageBody(EDIT, { mask: url }), more)],
    ["sref", (url, more) => askImage(imageBody(MIDJOURNEY, { sref: url }), more)],
    ["frame_images", (url, more) => askVideo(videoBody(WAN, frames(url)), more)],
    ["frame_images", (url, more) => askVideo(videoBody(SEEDANCE, { frame_images: [LINK, url] }), more)],
    ["input_references[0]", (url, more) => askVideo(videoBody(WAN, { input_references: [url] }), more)],
    ["reference_videos[0]", (url, more) => askVideo(videoBody(WAN, { reference_videos: [url] }), more)],
    ["reference_audios[0]", (url, more) => askVideo(videoBody(WAN, { reference_audios: [url] }), more)],
  ];
  const inside = [
    "http://127.0.0.1/a",
    "https://169.254.169.254/latest/meta-data",
    "http://[::1]:8080/a",
    "https://[::ffff:10.0.0.1]/a",
    "http://localhost:8080/a",
    "https://db.internal/a",
    "http://2130706433/a",
    "http://0x7f.1/a",
    "http://１２７.0.0.1/a",
  ];
  for (const [path, ask] of fields)
    test(path, () => {
      for (const url of inside)
        expect([url, refusalOf(() => ask(url))]).toEqual([
          url,
          {
            kind: "invalid_request_error",
            param: path,
            message: `${path} must lead to a public host, written plainly.`,
          },
        ]);
      for (const url of [LINK, "http://example.com:8080/a?b=c@d", "https://8.8.8.8/a"])
        expect(refusalOf(() => ask(url))).toBeUndefined();
    });

  test("but for hosts that the operator excepted", () => {
    const [, ask] = fields[0] ?? expect.unreachable();
    const more = { allowedHosts: ["127.0.0.1:9000"] };
    expect(refusalOf(() => ask("http://127.0.0.1:9000/a", more))).toBeUndefined();
    expect(refusalOf(() => ask("http://127.0.0.1:9001/a", more))?.param).toBe("image[1]");
  });
});

describe("a mask", () => {
  const ask = (mask: string, image: string = LINK) =>
    refusalOf(() => askImage(imageBody(EDIT, { mask, image: [image] })));

  test("is a link, or a PNG with an alpha channel or a palette", () => {
    for (const mask of [LINK, pngUri(64, 48, 6), pngUri(64, 48, 4), pngUri(64, 48, 3)])
      expect(ask(mask)).toBeUndefined();
    for (const mask of [pngUri(64, 48, 2), pngUri(64, 48, 0), `data:image/jpeg;base64,${jpeg()}`])
      expect(ask(mask)?.message).toContain("alpha channel");
  });

  test("has the size of the first image, where both are known", () => {
    expect(ask(pngUri(64, 48, 6), pngUri(64, 48))).toBeUndefined();
    expect(ask(pngUri(48, 64, 6), pngUri(64, 48))?.message).toContain("64 by 48; it has 48 by 64");
    for (const mask of [pngUri(63, 48, 6), pngUri(64, 47, 6)])
      expect(ask(mask, pngUri(64, 48))?.param).toBe("mask");
  });

  test("is no larger than the vendor takes", () =>
    expect(ask(pngUri(64, 48, 6) + "AAAA".repeat(1_500_000))).toMatchObject({
      kind: "input_too_large",
      param: "mask",
    }));
});

function jpeg(): string {
  return Buffer.from([0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0]).toString("base64");
}
