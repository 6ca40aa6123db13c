import type { Chance } from "./chance.ts";

const WORDS = (
  "amber anchor autumn basin birch bridge bright calm candle canyon cedar chalk circle clear cliff clover coast copper " +
  "coral crest crystal dawn delta distant drift early east echo elm ember evening fern field flint forest frost garden " +
  "gentle glade golden granite green grove harbor hazel hill hollow island ivory juniper keen lake lantern leaf level " +
  "light linen maple marble meadow mellow mill mist moss north oak ocean olive open orchard path pearl pebble pine plain " +
  "quiet rain reed ridge river sand shore silver slate slow snow south spring steady stone stream summer thyme tide " +
  "valley violet warm west willow wind winter"
).split(" ");

/** `count` words that stand for anything. */
export function chooseWords(count: number, chance: Chance): string {
  return Array.from({ length: count }, () => chance.pick(WORDS)).join(" ");
}

/** A sentence of such words. */
export function chooseSentence(chance: Chance): string {
  const words = chooseWords(chance.between(6, 12), chance);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}
