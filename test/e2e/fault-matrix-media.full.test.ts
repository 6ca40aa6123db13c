import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { neverRead, resetUpload } from "../upstream/admission.ts";
import { stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { testImage } from "../upstream/media/result-files.ts";
import { type OutOfReach, startBlackHole, startSilent } from "../upstream/out-of-reach.ts";
import { openRawClient, postBytes } from "../upstream/raw-client.ts";
import {
  expectTriedInVain,
  madeBySecond,
  MEDIA_KINDS,
  type MediaPlace,
  openMediaPlace,
} from "./fault-media.ts";
import { balanceOf, qwen } from "./media-vendors.ts";

// Images and videos of which the first maker got nothing, or not all, over real sockets: the second makes them. Time
// runs fast.

const LINUX = process.platform === "linux";

let silent: OutOfReach;
let hole: OutOfReach | undefined;
beforeAll(async () => {
  silent = await startSilent();
  hole = LINUX ? await startBlackHole() : undefined;
});
afterAll(() => {
  silent.close();
  hole?.close();
});

const PLACES = [
  { id: "U1", name: "no such host", at: () => "http://no-such-host.invalid", isSlow: false },
  { id: "U3", name: "nobody listens", at: () => "http://127.0.0.1:1", isSlow: false },
  {
    id: "U4",
    name: "packets that are dropped",
    at: () => `http://127.0.0.1:${hole?.port}`,
    isSlow: true,
  },
  {
    id: "U6",
    name: "a TLS handshake that stalls",
    at: () => `https://127.0.0.1:${silent.port}`,
    isSlow: true,
  },
] as const;

for (const { id, name, at, isSlow } of PLACES)
  describe.skipIf(id === "U4" && !LINUX)(`${id} ${name}`, () => {
    const reason = isSlow ? "send_timed_out" : "not_sent";

    test("the second maker has it made", async () => {
      const place = await openMediaPlace({ at: at() });
      for (const [i, kind] of MEDIA_KINDS.entries()) {
        const outcome = await place.outcomeOf(kind);
        // Both kinds of images are of one credential, whose failures they count together.
        const failures = kind === "an image that is waited for" ? 2 : i + 1;
        expect(outcome).toMatchObject({ ...madeBySecond(kind), state: ["healthy", failures, reason] });
        if (isSlow) expect(outcome.firstMs).toBeGreaterThanOrEqual(5_000);
      }
      await place.close();
    });

    test("at both makers it is tried until its time is over, and costs nothing", async () => {
      const place = await openMediaPlace({ at: at(), isBothAt: true });
      for (const kind of MEDIA_KINDS) {
        expectTriedInVain(await place.outcomeOf(kind, { timeout: 60 }), kind);
      }
      await place.close();
    });
  });

/** An image of so many bytes, most of them behind its end. */
function largeImage(bytes: number): string {
  const image = Buffer.concat([testImage(1_024, 1_024), Buffer.alloc(bytes)]);
  return `data:image/png;base64,${image.toString("base64")}`;
}

describe("a request that the first maker does not take whole", () => {
  let place: MediaPlace;
  beforeAll(async () => {
    place = await openMediaPlace();
  });
  afterEach(() => place.first.reset());
  afterAll(() => place.close());
  const withImage = (kind: (typeof MEDIA_KINDS)[number], image: string): object =>
    kind === "a video" ? { frame_images: [image] } : { image: [image] };

  // More than the sockets of both sides hold.
  const large = largeImage(3_000_000);
  for (const kind of MEDIA_KINDS)
    test(`U7 since it resets the connection: ${kind}`, async () => {
      place.first.upstream.admit(() => resetUpload(10_000));
      const outcome = await place.outcomeOf(kind, withImage(kind, large));
      expect(outcome).toMatchObject(madeBySecond(kind));
      expect(outcome.state.at(-1)).toBe("not_sent");
      expect(place.first.accepted).toHaveLength(0);
    });

  const larger = largeImage(10_000_000);
  for (const kind of MEDIA_KINDS)
    test(`U62 since it stops reading: ${kind}`, async () => {
      const gate = createGate();
      place.first.upstream.admit(() => neverRead(gate));
      const outcome = await place.outcomeOf(kind, withImage(kind, larger));
      expect(outcome).toMatchObject(madeBySecond(kind));
      expect(outcome.state.at(-1)).toBe("send_timed_out");
      expect(outcome.firstMs).toBeGreaterThanOrEqual(60_000);
      gate.release();
    });

  test("U60 a client that waits for an image, and closes its sending half, has left", async () => {
    const { gateway, first } = place;
    const before = await balanceOf(gateway);
    first.fault("images", { after: (answer) => stallAt(answer, "start") });
    const client = await openRawClient(gateway.url);
    const headers = [`authorization: Bearer ${gateway.key}`];
    client.send(postBytes("/api/v1/images/generations", JSON.stringify({ ...qwen, n: 1 }), headers));
    const request = await first.upstream.waitForRequest(1);
    client.halfClose();
    await first.upstream.waitForClientGone(request);
    expect(before - (await balanceOf(gateway))).toBe(0);
    const { json } = await gateway.admin("GET", "/tasks?limit=1");
    expect(json.data[0].status).toBe("failed");
    client.close();
  });
});
