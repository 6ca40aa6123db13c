import { afterAll, describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/core/errors.ts";
import { type DecodedRequest, translate } from "../../../src/protocols/translate.ts";
import type { UpstreamBody } from "../../../src/protocols/protocol.ts";
import { wireRequest } from "../../protocols/wire-request.ts";
import { type Recording, recordingsFor } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { type LeftOut, leftOutBy } from "./left-out.ts";
import { at, differences, meaningOf } from "./meaning.ts";
import { refusedBy } from "./refused.ts";
import { decode, PAIRS, recordingsOf, requestOf, sent, type Wire } from "./wires.ts";

// Every recorded request of a format, put into each other format and read there as a client's: it asks for the same.

const available = recordingsFor("pairs of formats");

/** What has become of the requests of a pair. */
interface Tally {
  all: number;
  held: number;
  refused: Map<string, number>;
  leftOut: Map<LeftOut, number>;
}

const tallies = new Map<string, Tally>();

describe.skipIf(!available)("recorded requests in each other format", () => {
  afterAll(() => console.log(tableOf()));

  for (const pair of PAIRS) {
    const [asked, spoken] = pair;
    const tally: Tally = { all: 0, held: 0, refused: new Map(), leftOut: new Map() };
    tallies.set(`${asked.name} → ${spoken.name}`, tally);
    test(`${asked.name} → ${spoken.name}`, () => {
      const misses = recordingsOf(asked).flatMap((recording) => {
        const miss = carry(pair, recording, tally);
        return miss === undefined ? [] : [[recording.path, miss]];
      });
      expect(misses).toEqual([]);
    });
  }
});

/** Puts a request into the other format; what has changed on the way beyond what the table leaves out. */
function carry([asked, spoken]: readonly [Wire, Wire], recording: Recording, tally: Tally): Json {
  let read: DecodedRequest;
  try {
    read = decode(asked, requestOf(asked, recording));
  } catch (error) {
    // What the caller's own format refuses is not sent to anybody.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
  tally.all += 1;
  const request = asked.server.protocol.readRequest(requestOf(asked, recording));
  let written: UpstreamBody;
  try {
    written = translate(asked.server, spoken.client).upstreamBody(request, spoken.target);
  } catch (error) {
    const why = refusedBy(error);
    tally.refused.set(why, (tally.refused.get(why) ?? 0) + 1);
    return undefined;
  }
  const { body, warnings } = written;
  const address = { model: spoken.target.model.id, stream: request.stream };
  const arrived = decode(spoken, { ...wireRequest(sent(spoken, body)), address });
  const [one, other] = [meaningOf(read.chat), meaningOf(arrived.chat)];
  const unknown = differences(one, other).filter((path) => !isLeftOut(path));
  if (unknown.length === 0) tally.held += 1;
  return unknown.length === 0 ? undefined : unknown.map((path) => [path, at(one, path), at(other, path)]);

  function isLeftOut(path: string): boolean {
    const [from, to] = [asked.name, spoken.name];
    const found = leftOutBy({ from, to, path, asked: at(one, path), arrived: at(other, path), warnings });
    if (found !== undefined) tally.leftOut.set(found, (tally.leftOut.get(found) ?? 0) + 1);
    return found !== undefined;
  }
}

function tableOf(): string {
  const lines = [...tallies].flatMap(([pair, { all, held, refused, leftOut }]) => [
    `  ${pair}: ${held} held / ${all}`,
    ...[...refused].map(([why, count]) => `      refused ${count} × ${why}`),
    ...[...leftOut].map(([{ at: place, why }, count]) => `      left out ${count} × ${place.source}: ${why}`),
  ]);
  return ["", "Recorded requests put into other formats:", ...lines].join("\n");
}
