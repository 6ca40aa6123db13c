import { GatewayError } from "../../../src/core/errors.ts";

// What a model of another format is not asked for at all, as the answer would be another one: each by how its 400 ends.

const REFUSED: readonly (readonly [sentence: RegExp, why: string])[] = [
  [/gives (one answer|at most \d+ at once)\.$/, "several answers are some vendors' alone"],
  [/holds (audio|a video), which this model does not take\.$/, "sound and films are some models' alone"],
  [/does not tell how likely its tokens are\.$/, "chances of tokens are some vendors' alone"],
  [/puts out no images\.$/, "images are some models' alone"],
  [/cannot be asked to search the web here\.$/, "the search was all that was asked for, and none can be had"],
  [/^tools\S* (cannot be had|must not be \w+ alone)/, "a tool that its own vendor runs, alone or chosen"],
  [/another vendor's store: send/, "a file in a vendor's store is not another's"],
  [/that this model's provider does not have: send/, "a file in a vendor's store is not another's"],
  [/is a link to a file, and this model's provider fetches none/, "the vendor fetches no files"],
  [/must be an (http, https|https, gs) or data address/, "links of a scheme that the vendor does not fetch"],
  [/: send a PDF or a text\.$/, "files of office programs are some vendors' alone"],
];

/** Why a request is refused for a model of another format; throws what is a fault. */
export function refusedBy(error: unknown): string {
  const known =
    error instanceof GatewayError ? REFUSED.find(([sentence]) => sentence.test(error.message)) : undefined;
  if (known === undefined) throw error;
  return known[1];
}
