import type { ByteAccount } from "../../../core/bytes/byte-budget.ts";
import { dataUriBytes, isDataUri, readDataUri } from "../../../core/media/data-uri.ts";
import { GatewayError } from "../../../core/errors.ts";
import { type MediaKind, mediaTypeOf } from "../../../core/media/media-type.ts";
import type { LoadedMedia } from "../../../providers/media.ts";
import type { GuardedFetch } from "../../fetch/guarded-fetch.ts";
import { wholeFile } from "../../fetch/whole-file.ts";

/** The most bytes of an input: those of the most generous provider. */
export const MAX_INPUT_BYTES: Readonly<Record<MediaKind, number>> = {
  image: 50_000_000,
  audio: 20_000_000,
  video: 100_000_000,
};

/** Time limit for a URL. */
const FETCH_MS: Readonly<Record<MediaKind, number>> = { image: 30_000, audio: 30_000, video: 120_000 };

const FORMATS: Readonly<Record<MediaKind, string>> = {
  image: "a PNG, JPEG, WebP or GIF image",
  audio: "an MP3, WAV, M4A or Ogg audio file",
  video: "an MP4, QuickTime or WebM video",
};

/** What inputs are loaded with. */
export interface InputParts {
  readonly fetch: GuardedFetch;
  /** The account that an input is held on, from before its first byte. */
  readonly memory: ByteAccount;
  readonly signal: AbortSignal;
}

/**
 * The bytes of an input: of a data URI, or fetched under guard from a URL. Its type is told by its content. Rejects
 * with an `invalid_request_error` or `input_too_large` that is meant for the client, or with the signal's reason.
 */
export async function loadInput(input: string, kind: MediaKind, parts: InputParts): Promise<LoadedMedia> {
  const bytes = isDataUri(input) ? await decode(input, kind, parts) : await fetched(input, kind, parts);
  const found = mediaTypeOf(bytes);
  if (found?.kind !== kind)
    throw new GatewayError(
      "invalid_request_error",
      `An input is not ${FORMATS[kind]}: its content says otherwise.`,
    );
  return { mediaType: found.mediaType, bytes };
}

async function decode(input: string, kind: MediaKind, { memory, signal }: InputParts): Promise<Uint8Array> {
  const size = dataUriBytes(input);
  if (size > MAX_INPUT_BYTES[kind])
    throw new GatewayError(
      "input_too_large",
      `An input is larger than ${MAX_INPUT_BYTES[kind] / 1_000_000} MB: send a smaller one.`,
    );
  await memory.take(size, signal);
  const data = readDataUri(input);
  if (data === undefined)
    throw new GatewayError("invalid_request_error", "An input is a data URI that is not plain base64.");
  return data.bytes;
}

async function fetched(
  url: string,
  kind: MediaKind,
  { memory, signal, ...parts }: InputParts,
): Promise<Uint8Array> {
  const maxBytes = MAX_INPUT_BYTES[kind];
  return parts.fetch(url, { maxBytes, timeoutMs: FETCH_MS[kind], signal }, async (file) => {
    const room = file.length ?? maxBytes;
    await memory.take(room, signal);
    const bytes = await wholeFile(file);
    memory.give(room - bytes.length);
    return bytes;
  });
}
