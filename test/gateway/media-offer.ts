import { join } from "node:path";
import { createCatalog, loadModelFiles } from "../../src/catalog/catalog.ts";
import type { Caller } from "../../src/core/caller.ts";
import { GatewayError } from "../../src/core/errors.ts";
import {
  admitImage,
  admitVideo,
  type AdmissionRequest,
  type TaskAdmission,
} from "../../src/gateway/media/admit/admit.ts";
import { readImageBody } from "../../src/protocols/images/index.ts";
import { readVideoBody } from "../../src/protocols/videos/index.ts";
import type { Offer } from "../../src/gateway/offer.ts";
import type { MediaModel } from "../../src/gateway/media/admit/model.ts";
import type { MediaAdapter } from "../../src/providers/media.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";

const all = loadModelFiles(join(import.meta.dirname, "../../models"));

/** The image and video models of the catalogue. */
export const mediaModels: readonly MediaModel[] = all.filter(
  (model): model is MediaModel => model.media !== undefined,
);

const nobody: MediaAdapter<never> = {
  create: () => Promise.reject(new Error("Nothing is made in admission.")),
};

const provider = (id: string): MediaProvider => ({
  id,
  baseUrl: "http://upstream.invalid",
  headers: {},
  secrets: [],
  adapters: { image: nobody, video: nobody },
});

/** The whole catalogue, with a provider live for every route, or for those named. */
export function mediaOffer(live?: readonly string[]): Offer {
  const names = new Set(mediaModels.flatMap(({ routes }) => routes.map((route) => route.provider)));
  const ids = [...names].filter((id) => live?.includes(id) ?? true);
  return {
    catalog: createCatalog(all),
    providers: new Map(),
    mediaProviders: new Map(ids.map((id) => [id, provider(id)])),
  };
}

/** The moment of all admissions of tests. */
export const NOW_MS = Date.UTC(2026, 10, 21, 12);

const offer = mediaOffer();
const anyone: Caller = { keyId: "key_1", accountId: "acct_1", models: null };

/** A body as it is sent; text stands for itself. */
export function bytesOf(body: object | string): Uint8Array {
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
}

/** Asks for images, of the whole catalogue. */
export function askImage(body: object | string, more: AskOptions = {}): TaskAdmission {
  return asStored(admitImage(asked(more), readImageBody({ body: bytesOf(body) })));
}

/** Asks for a video, of the whole catalogue. */
export function askVideo(body: object | string, more: AskOptions = {}): TaskAdmission {
  return asStored(admitVideo(asked(more), readVideoBody({ body: bytesOf(body) })));
}

/** Throws where a run that is handed the request would see another than one that opens the sealed copy. */
function asStored(admission: TaskAdmission): TaskAdmission {
  const { request } = admission;
  if (!Bun.deepEquals(request, JSON.parse(JSON.stringify(request)), true))
    throw new Error("The request is not what its JSON says.");
  return admission;
}

function asked(more: AskOptions): AdmissionRequest {
  return { offer, caller: anyone, nowMs: NOW_MS, allowedHosts: [], ...more };
}

export type AskOptions = Partial<Omit<AdmissionRequest, "body">>;

/** What a refused request is told: kind, field and sentence; `undefined` when it was not refused. */
export function refusalOf(
  ask: () => unknown,
): { readonly kind: string; readonly param: string | undefined; readonly message: string } | undefined {
  try {
    ask();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { kind, param, message } = error;
    return { kind, param, message };
  }
  return undefined;
}

/** A good request for images of a model, with what is asked beside. */
export function imageBody(id: string, more: object = {}): object {
  const image = id.endsWith("/edit") ? { image: [LINK] } : {};
  return { model: id, prompt: "A red fox", ...image, ...more };
}

/** A good request for a video. */
export function videoBody(id: string, more: object = {}): object {
  return { model: id, prompt: "A red fox runs", ...more };
}

/** A link that may be fetched. */
export const LINK = "https://files.example/a.png";

/** The beginning of a PNG, which is all that is read of it, in base64; colour type 2 has no alpha channel, 6 has. */
export function pngBase64(width: number, height: number, colourType = 2): string {
  const bytes = Buffer.alloc(48);
  bytes.write("\u0089PNG\r\n\u001a\n", 0, "latin1");
  bytes.writeUInt32BE(13, 8);
  bytes.write("IHDR", 12, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes[24] = 8;
  bytes[25] = colourType;
  return bytes.toString("base64");
}

/** The same as a data URI. */
export function pngUri(width: number, height: number, colourType = 2): string {
  return `data:image/png;base64,${pngBase64(width, height, colourType)}`;
}
