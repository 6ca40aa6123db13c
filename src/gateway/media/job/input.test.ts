import { describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import { createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { MediaKind } from "../../../core/media/media-type.ts";
import type { GuardedFetch, GuardedFetchOptions } from "../../fetch/guarded-fetch.ts";
import { type InputParts, loadInput, MAX_INPUT_BYTES } from "./input.ts";

const of = (text: string): Uint8Array =>
  Uint8Array.from(text.padEnd(64, "\u0000"), (letter) => letter.charCodeAt(0));
const PNG = of("\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIHDR");
const MP4 = of("\u0000\u0000\u0000\u0020ftypisom");
const WAV = of("RIFF\u0010\u0000\u0000\u0000WAVEfmt ");
const SVG = new TextEncoder().encode(
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
);
const uri = (bytes: Uint8Array, type: string): string => `data:${type};base64,${bytes.toBase64()}`;

const signal = new AbortController().signal;
const budget = createByteBudget(() => 1);
const memory = budget.open();
const nowhere: InputParts = {
  signal,
  memory,
  fetch: () => Promise.reject(new Error("nothing is to be fetched")),
};

function server(bytes: Uint8Array) {
  const asked: { url: string; options: GuardedFetchOptions }[] = [];
  const fetch: GuardedFetch = (url, options, take) => {
    asked.push({ url, options });
    return take({ pieces: Readable.from([bytes]), length: undefined });
  };
  return { asked, parts: { signal, memory, fetch } };
}

async function kindOf(load: Promise<unknown>): Promise<string> {
  const error = await load.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return (error as GatewayError).kind;
}

describe("an input", () => {
  const good: readonly {
    readonly kind: MediaKind;
    readonly bytes: Uint8Array;
    readonly mediaType: string;
  }[] = [
    { kind: "image", bytes: PNG, mediaType: "image/png" },
    { kind: "video", bytes: MP4, mediaType: "video/mp4" },
    { kind: "audio", bytes: WAV, mediaType: "audio/wav" },
  ];
  for (const { kind, bytes, mediaType } of good) {
    test(`of ${mediaType} is what its content is, whatever is said of it, as a data URI and by a URL`, async () => {
      for (const type of [mediaType, "image/jpeg", "text/html", ""]) {
        expect(await loadInput(uri(bytes, type), kind, nowhere)).toEqual({ mediaType, bytes });
        const { parts, asked } = server(bytes);
        expect(await loadInput("https://a.example/x", kind, parts)).toEqual({ mediaType, bytes });
        expect(asked).toMatchObject([
          { url: "https://a.example/x", options: { maxBytes: MAX_INPUT_BYTES[kind], signal } },
        ]);
        expect(asked[0]?.options.headers).toBeUndefined();
        expect(asked[0]?.options.allowedHosts).toBeUndefined();
      }
    });

    test(`of ${mediaType} is refused where another kind is wanted`, async () => {
      for (const other of (["image", "audio", "video"] as const).filter((one) => one !== kind))
        expect(await kindOf(loadInput(uri(bytes, mediaType), other, nowhere))).toBe("invalid_request_error");
    });
  }

  const bad: Readonly<Record<string, Uint8Array>> = {
    SVG,
    "a page": of("<!doctype html>"),
    nothing: new Uint8Array(0),
    "the head of a PNG": PNG.slice(0, 8),
  };
  for (const [name, bytes] of Object.entries(bad)) {
    test(`of ${name} that is called a PNG is refused`, async () => {
      expect(await kindOf(loadInput(uri(bytes, "image/png"), "image", nowhere))).toBe(
        "invalid_request_error",
      );
      const { parts } = server(bytes);
      expect(await kindOf(loadInput("https://a.example/x.png", "image", parts))).toBe(
        "invalid_request_error",
      );
    });
  }

  const broken = [
    "data:image/png,x",
    "data:image/png;base64,!!!!",
    "data:image/png;base64,aGVsbG8",
    "data:",
    "DATA:;base64,a",
  ];
  for (const input of broken) {
    test(`${JSON.stringify(input)} is refused without asking anybody`, async () => {
      expect(await kindOf(loadInput(input, "image", nowhere))).toBe("invalid_request_error");
    });
  }

  test("as a data URI that is too large is refused before it is decoded", async () => {
    const long = `data:audio/wav;base64,${"A".repeat(Math.ceil((MAX_INPUT_BYTES.audio * 4) / 3) + 8)}`;
    expect(await kindOf(loadInput(long, "audio", nowhere))).toBe("input_too_large");
    expect(await kindOf(loadInput(long, "video", nowhere))).toBe("invalid_request_error");
  });

  test("of anything else goes to the guarded fetch, whose error is the client's", async () => {
    for (const input of ["file:///etc/passwd", "aGVsbG8=", "", "javascript:x"]) {
      const refused = new GatewayError("invalid_request_error", "refused");
      const load = loadInput(input, "image", { signal, memory, fetch: () => Promise.reject(refused) });
      expect(await load.catch((error: unknown) => error)).toBe(refused);
    }
  });
});

describe("what is held of inputs", () => {
  const open = () => {
    const all = createByteBudget(() => 1);
    return { all, memory: all.open() };
  };
  const image = new Uint8Array(1_000_000);
  image.set(PNG);

  test("is as much as they have, from before their first byte: by a URL, whether its length is said or not", async () => {
    for (const length of [undefined, image.length]) {
      const { all, memory } = open();
      const held: number[] = [];
      const pieces = async function* () {
        held.push(all.taken());
        yield image;
      };
      const load = loadInput("https://a.example/x.png", "image", {
        signal,
        memory,
        fetch: (_url, _options, take) => take({ pieces: pieces(), length }),
      });
      expect((await load).bytes.length).toBe(image.length);
      expect([...held, all.taken()]).toEqual([length ?? MAX_INPUT_BYTES.image, image.length]);
    }
  });

  test("is as much as they have as data URIs", async () => {
    const { all, memory } = open();
    await loadInput(uri(image, "image/png"), "image", { ...nowhere, memory });
    expect(all.taken()).toBeWithin(image.length, image.length + 3);
  });
});
