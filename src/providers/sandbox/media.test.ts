import { describe, expect, test } from "bun:test";
import { rawImageSizeOf } from "../../core/image-size.ts";
import type { ImageRequest, MediaRequest, VideoRequest } from "../../core/media.ts";
import { NO_USAGE } from "../../core/usage.ts";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { MediaAdapter, MediaCall, MediaDone, MediaStep } from "../media.ts";
import { createSandboxMedia } from "./media.ts";
import { openStudio } from "./studio.ts";

const PICTURE: ImageRequest = {
  kind: "image",
  prompt: "a red fox",
  n: 1,
  images: [],
  size: { width: 64, height: 48 },
};
const FILM: VideoRequest = {
  kind: "video",
  prompt: "a red fox runs",
  durationSec: 5,
  resolution: "480p",
  aspectRatio: "16:9",
  referenceImages: [],
  referenceVideos: [],
  referenceAudios: [],
};

const clock = createFakeClock();
const provider = createSandboxMedia(clock, openStudio(clock));

function call(orders?: string, more: Partial<MediaCall> = {}): MediaCall {
  return {
    upstreamId: "x",
    model: "alibaba/qwen-image-2.0",
    reference: "task_1",
    clientHeaders: orders === undefined ? {} : { "x-sandbox": orders },
    send: () => Promise.reject(new Error("the sandbox calls nobody")),
    load: () => Promise.reject(new Error("the sandbox loads nothing")),
    signal: new AbortController().signal,
    ...more,
  };
}

/** Creates, and asks until something else than `working` is answered. */
async function run<Request extends MediaRequest>(
  adapter: MediaAdapter<Request> | undefined,
  request: Request,
  made: MediaCall,
): Promise<MediaStep> {
  let step = await adapter!.create(request, made);
  while (step.state === "working") {
    await clock.advance(step.pollAfterMs ?? 0);
    step = await adapter!.poll!(step.job, request, made);
  }
  return step;
}

function done(step: MediaStep): MediaDone {
  if (step.state !== "done") throw new Error(`it is ${JSON.stringify(step)}`);
  return step;
}

const bytesOf = (step: MediaStep): readonly Uint8Array[] =>
  done(step).outputs.map((output) => ("bytes" in output ? output.bytes : new Uint8Array()));

describe("a picture", () => {
  test("is worked on for two seconds, and is then there", async () => {
    const made = call();
    const began = clock.nowMs();
    const { image } = provider.adapters;
    const step = await run(image, PICTURE, made);
    expect(clock.nowMs() - began).toBe(2_000);
    expect(rawImageSizeOf(bytesOf(step)[0]!.toBase64())).toEqual({ width: 64, height: 48 });
    expect(done(step).usage).toEqual({ ...NO_USAGE, images: 1 });
  });
});

describe("a film", () => {
  test("is an MP4", async () => {
    const [film] = bytesOf(await run(provider.adapters.video, FILM, call()));
    expect(new TextDecoder().decode(film!.subarray(4, 12))).toBe("ftypisom");
  });
});
