import type { Cut } from "./answer.ts";

const LF = 10;
const CR = 13;

/** Numbers from 0 up to 1, the same for the same seed on every machine (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The offsets right after each event of an SSE body: after every blank line, whatever the line endings. */
export function eventEnds(body: Uint8Array): number[] {
  const ends: number[] = [];
  let lineStart = 0;
  for (let at = 0; at < body.length; at++) {
    if (body[at] !== LF && body[at] !== CR) continue;
    const next = body[at] === CR && body[at + 1] === LF ? at + 2 : at + 1;
    if (at === lineStart) ends.push(next);
    lineStart = next;
    at = next - 1;
  }
  return ends;
}

/** The offsets inside a body at which a cut divides it, ascending, without 0 and the end. */
export function cutOffsets(body: Uint8Array, cut: Cut): number[] {
  return cutPoints(body, cut).filter((offset) => offset > 0 && offset < body.length);
}

function cutPoints(body: Uint8Array, cut: Cut): number[] {
  if (cut === "whole") return [];
  if (cut === "events") return eventEnds(body);
  if ("at" in cut) return [...cut.at].sort((a, b) => a - b);
  const next = "every" in cut ? () => cut.every : randomSizes(cut.seed, cut.maxBytes ?? 64);
  const points: number[] = [];
  for (let at = next(); at < body.length; at += next()) points.push(at);
  return points;
}

function randomSizes(seed: number, maxBytes: number): () => number {
  const random = seededRandom(seed);
  return () => 1 + Math.floor(random() * maxBytes);
}

/** The place right after the n-th event of an SSE body, counted from 1. */
export function afterEvent(body: Uint8Array, nth: number): number {
  const end = eventEnds(body)[nth - 1];
  if (end === undefined) throw new Error(`the body has no event ${nth}`);
  return end;
}
