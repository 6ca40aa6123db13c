import { createSocket } from "node:dgram";
import { openFaultStation } from "./fault-station.ts";
import { MEDIA_KINDS, type MediaOutcome, openMediaPlace } from "./fault-media.ts";
import { type Outcome, outcomeOf, placedAt } from "./fault-unsent.ts";
import type { Errand, Found } from "./fault-errand.ts";

// A process that does an errand: what a test's own process cannot, since its authorities and its names are fixed.

const errand = JSON.parse(process.argv[2] ?? "{}") as Errand;

/** Codes of an answer: https://www.rfc-editor.org/rfc/rfc1035, section 4.1.1. */
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 } as const;

/** A server of names that knows none, or says nothing. */
async function serveNames(says: keyof typeof CODES | "nothing"): Promise<void> {
  const server = createSocket("udp4");
  server.on("message", (question, from) => {
    if (says === "nothing") return;
    const answer = Buffer.from(question);
    // An answer, with recursion available.
    answer[2] = (question[2] ?? 0) | 0x80;
    answer[3] = 0x80 | CODES[says];
    server.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(53, "127.0.0.1", resolve));
}

/** What a certificate says is found at once: a busy machine must still find it within the limit of time to connect. */
const times = errand.authority === undefined ? {} : { times: 4 };

/** Each kind of media, of makers at an address. */
async function makeAll(at: string | undefined, isBothAt: boolean): Promise<MediaOutcome[]> {
  const place = await openMediaPlace({ at, isBothAt, ...times });
  const outcomes: MediaOutcome[] = [];
  for (const kind of MEDIA_KINDS) outcomes.push(await place.outcomeOf(kind, { timeout: 60 }));
  await place.close();
  return outcomes;
}

if (errand.names !== undefined) await serveNames(errand.names);
const placed = Object.entries(errand.places).map(([name, at]) => [name, placedAt(name, at)] as const);
const station = await openFaultStation(
  placed.flatMap(([, { first, both, counts }]) => [...first, ...both, ...counts]),
);
const found: Record<string, Found> = {};
for (const [name, { first, both, counts }] of placed) {
  const all = async (cases: typeof first): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    for (const one of cases) outcomes.push(await outcomeOf(station, one, errand.letsWait));
    return outcomes;
  };
  const at = errand.places[name];
  const media = { first: await makeAll(at, false), both: await makeAll(at, true) };
  found[name] = { first: await all(first), both: await all(both), counts: await all(counts), media };
}
console.log(JSON.stringify(found));
// Whoever waits for a name is not waited for.
process.exit(0);
