import { BEFORE } from "./fault-matrix-rows.ts";
import { DURING, TAKEN } from "./fault-matrix-streams.ts";

// Which test shows which row of the catalogue of faults (U1 to U62), for which endpoints.

export const ENDPOINTS = ["plain", "streams", "embeddings", "counts", "images", "videos"] as const;
type Endpoint = (typeof ENDPOINTS)[number];

/** A test that shows a row. */
export interface Shown {
  readonly id: string;
  readonly of: readonly Endpoint[];
  /** Below `test/e2e`, or from the root. */
  readonly file: string;
  /** Its name, as it stands in the file. */
  readonly test: string;
}

const LANGUAGE: readonly Endpoint[] = ["plain", "streams", "embeddings"];
const ASKED: readonly Endpoint[] = [...LANGUAGE, "counts"];
const STREAMS: readonly Endpoint[] = ["streams"];
const MEDIA: readonly Endpoint[] = ["images", "videos"];
const IMAGES: readonly Endpoint[] = ["images"];

const MATRIX = "fault-matrix.full.test.ts";

/** The rows that the matrix itself has. */
const OWN: readonly Shown[] = [
  ...[...BEFORE, ...TAKEN].map(({ id, name, only, ...row }): Shown => {
    const counts: readonly Endpoint[] = only === "stream" || "isCounted" in row ? [] : ["counts"];
    const plain: readonly Endpoint[] = only === "stream" ? [] : ["plain", "embeddings"];
    return { id, of: [...plain, ...(only === "plain" ? [] : STREAMS), ...counts], file: MATRIX, test: name };
  }),
  ...DURING.map(({ id, name }): Shown => ({ id, of: STREAMS, file: MATRIX, test: name })),
];

function shown(file: string, ...rows: readonly (readonly [string, readonly Endpoint[], string])[]): Shown[] {
  return rows.map(([id, of, test]) => ({ id, of, file, test }));
}

const UNSENT = ["U1", "U3", "U4", "U6"] as const;
const PLACES = {
  U1: "no such host",
  U3: "nobody listens",
  U4: "packets that are dropped",
  U6: "a TLS handshake that stalls",
};

export const SHOWN: readonly Shown[] = [
  ...OWN,
  ...shown("fault-matrix-unsent.full.test.ts", ...UNSENT.map((id) => [id, ASKED, PLACES[id]] as const)),
  ...shown(
    "fault-matrix-unsent.full.test.ts",
    ["U7", LANGUAGE, "U7 a reset while the request was sent"],
    ["U62", LANGUAGE, "U62 a request of 20 MB that its provider stops reading"],
  ),
  ...shown(
    "fault-matrix-errands.full.test.ts",
    ["U1", [...ASKED, ...MEDIA], "U1 ${names}: another provider serves"],
    ["U2", [...ASKED, ...MEDIA], "U2 no answer about the name"],
    ["U5", [...ASKED, ...MEDIA], "U5 a server that cannot show who it is"],
  ),
  ...shown(
    "fault-matrix-time.full.test.ts",
    ["U9", ["plain", "embeddings"], "U9 a plain answer that does not come"],
    ["U9", STREAMS, "U9 a stream that does not begin"],
    ["U24", LANGUAGE, "U24 a 429 of every way"],
    ["U25", LANGUAGE, "U25 500 again and again"],
    ["U38", STREAMS, "U38 a byte each second"],
    ["U39", STREAMS, "U39 a stream that stalls"],
    ["U40", STREAMS, "U40 comments alone"],
  ),
  ...shown("quiet-streams.test.ts", ["U39", STREAMS, "gets a sign of life each 15 seconds"]),
  ...shown(
    "fault-matrix-breaks.full.test.ts",
    ["U30", STREAMS, "U30 a reset behind content"],
    ["U48", STREAMS, "U48 a size of a chunk that is none, behind content"],
    ["U58", LANGUAGE, "U58 before the answer"],
    ["U59", STREAMS, "U59 behind content"],
    ["U60", [...ASKED], "U60 a client that closes its sending half"],
  ),
  ...shown("src/runtime/fetch.test.ts", [
    "U49",
    [...ASKED, ...MEDIA],
    "a kept connection that ends in place of an answer (U49)",
  ]),
  ...shown(
    "count-tokens-faults.full.test.ts",
    ["U9", ["counts"], "is left after two seconds, and not before"],
    ["U58", ["counts"], "is left when the client leaves"],
  ),
  ...shown("src/core/sse-lines.test.ts", ["U42", STREAMS, "any bytes at all in any pieces"]),
  ...shown(
    "fault-matrix-media.full.test.ts",
    ...UNSENT.map((id) => [id, MEDIA, PLACES[id]] as const),
    ["U7", MEDIA, "U7 since it resets the connection"],
    ["U60", IMAGES, "U60 a client that waits for an image"],
    ["U62", MEDIA, "U62 since it stops reading"],
  ),
  ...shown("quiet-streams.test.ts", ["U46", STREAMS, "is cut off at 32 MiB"]),
  ...shown("images.full.test.ts", ["U58", IMAGES, "whose client goes ends its task"]),
  ...shown(
    "media-faults.full.test.ts",
    ["U8", MEDIA, "U7, U8: a reset before the answer"],
    ["U9", MEDIA, "U9: a provider that never answers"],
    ["U10", MEDIA, "U10: interim answers"],
    ["U11", MEDIA, "U11: a good status of HTML"],
    ["U12", MEDIA, "U12: an empty answer"],
    ["U13", MEDIA, "U13: garbage"],
    ["U14", MEDIA, "U14: less than its length"],
    ["U15", MEDIA, "U15: another shape"],
    ["U16", MEDIA, "U16: fields that nobody knows"],
    ["U17", MEDIA, "U17: refused as invalid"],
    ["U18", MEDIA, "U18: refused by moderation"],
    ["U19", MEDIA, "U19: the gateway's key is refused with 401"],
    ["U20", MEDIA, "U20: the model is gone"],
    ["U21", MEDIA, "U21: a conflict"],
    ["U22", MEDIA, "U22: too large"],
    ["U23", MEDIA, "U23: limited by its provider for a second"],
    ["U24", MEDIA, "U24: limited again and again"],
    ["U25", MEDIA, "U25: a failure of their server"],
    ["U26", MEDIA, "U26: 502 from their edge"],
    ["U27", MEDIA, "U27: unavailable"],
    ["U28", MEDIA, "U28: a Retry-After that nobody could wait for"],
    ["U29", MEDIA, "U29: a redirect is not followed"],
    ["U35", ["videos"], "U35: seconds that cannot be"],
    ["U45", MEDIA, "U45: very many headers"],
    ["U47", MEDIA, "U47: a broken coding"],
    ["U48", MEDIA, "U48: a bad chunk"],
    ["U61", MEDIA, "U61: their answer repeats the gateway's key"],
  ),
  ...shown(
    "media-second-route.full.test.ts",
    ["U8", MEDIA, "U8: a reset after sending"],
    ["U17", MEDIA, "U17: invalid"],
    ["U18", MEDIA, "U18: moderation"],
    ["U19", MEDIA, "U19: 401"],
    ["U20", MEDIA, "U20: the model is gone"],
    ["U22", MEDIA, "U22: too large"],
    ["U23", MEDIA, "U23: 429"],
    ["U23", MEDIA, "U23: both say that the request alone is beyond their limits"],
    ["U25", MEDIA, "U25: 500"],
    ["U26", MEDIA, "U26: 502 of what was taken"],
    ["U27", MEDIA, "U27: 503"],
    ["U29", MEDIA, "U29: a redirect"],
  ),
  ...shown("media-parts.full.test.ts", ["U29", IMAGES, "two images of which the calls meet"]),
  ...shown("src/gateway/media/job/usage.test.ts", [
    "U35",
    IMAGES,
    "costs no more than was held where counts are",
  ]),
  ...shown(
    "src/gateway/media/job/call.test.ts",
    ["U46", MEDIA, "without end"],
    ["U47", MEDIA, "that unfolds"],
    ["U28", MEDIA, "Retry-After is read by the gateway's clock"],
  ),
  ...shown(
    "media-vendor-faults.full.test.ts",
    ["U46", MEDIA, "U46, U51: a result that cannot be fetched"],
    ["U50", MEDIA, "U50: what is delivered is charged"],
    ["U50", IMAGES, "U50, U51, U56: a plain request whose image"],
    ["U51", MEDIA, "U46, U51: a result that cannot be fetched"],
    ["U52", MEDIA, "U52: a submission that is answered without a name"],
    ["U53", MEDIA, "U53: a job that vanishes"],
    ["U54", MEDIA, "U54: unknown words"],
    ["U55", MEDIA, "U55: what was done is not asked after again"],
    ["U56", MEDIA, "U56: work that outlasts its deadline"],
    ["U57", MEDIA, "U56, U57: nor does it where its vendor cannot be told"],
  ),
];
