import { Type } from "typebox";
import { IMAGE_FORMATS, type MediaRequest } from "../../../core/media/media.ts";
import { compileSchema } from "../../../core/schema.ts";

/** The part of a task that waits for its job: sealed in the store, deleted when the task ends. */
export interface MediaPayload {
  readonly request: MediaRequest;
  /** Headers of the client that a provider may be sent, in lower case. */
  readonly clientHeaders: Readonly<Record<string, string>>;
  /** Whether the client asked for the bytes of the result beside their URLs; absent is no. */
  readonly base64?: boolean;
}

const Text = Type.String();
const Texts = Type.Array(Text);
const Whole = Type.Integer();
const Size = Type.Object({ width: Whole, height: Whole });

const Midjourney = Type.Object({
  version: Type.Enum(["6", "6.1", "7"]),
  niji: Type.Optional(Type.Enum(["5", "6"])),
  chaos: Type.Number(),
  weird: Type.Number(),
  stylize: Type.Number(),
  sref: Type.Optional(Text),
});

const Image = Type.Object({
  kind: Type.Literal("image"),
  prompt: Text,
  n: Whole,
  seed: Type.Optional(Whole),
  size: Type.Optional(Size),
  imageSize: Type.Optional(Type.Enum(["1K", "2K", "4K"])),
  aspectRatio: Type.Optional(Text),
  images: Texts,
  mask: Type.Optional(Text),
  quality: Type.Optional(Text),
  background: Type.Optional(Type.Enum(["opaque", "auto"])),
  outputFormat: Type.Optional(Type.Enum([...IMAGE_FORMATS])),
  midjourney: Type.Optional(Midjourney),
});

const Video = Type.Object({
  kind: Type.Literal("video"),
  prompt: Text,
  seed: Type.Optional(Whole),
  durationSec: Whole,
  resolution: Type.Enum(["480p", "720p", "1080p"]),
  aspectRatio: Type.Optional(Type.Enum(["16:9", "9:16"])),
  shotType: Type.Optional(Type.Enum(["single", "multi"])),
  negativePrompt: Type.Optional(Text),
  expandPrompt: Type.Optional(Type.Boolean()),
  firstFrame: Type.Optional(Text),
  lastFrame: Type.Optional(Text),
  referenceImages: Texts,
  referenceVideos: Texts,
  referenceAudios: Texts,
});

const payloads = compileSchema(
  Type.Object({
    request: Type.Union([Image, Video]),
    clientHeaders: Type.Record(Text, Text),
    base64: Type.Optional(Type.Boolean()),
  }),
);

/** Reads the payload of a task; `undefined` when this version cannot. Unknown members stay. */
export function readMediaPayload(kept: unknown): MediaPayload | undefined {
  return payloads.accepts(kept) ? kept : undefined;
}
