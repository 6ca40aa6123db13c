import type { JobCosts } from "../models/reads.ts";

/** What a job is going to cost; credits. */
export interface Estimate {
  readonly least: number;
  readonly most: number;
  readonly isAbout: boolean;
  /** Why it is no exact figure; absent where it is one. */
  readonly why: string | undefined;
}

/** The parameters of a job by their names. */
export type Priced = Readonly<Record<string, unknown>>;

type Cost = JobCosts["costs"][number];

const BESIDE_WORDS: Readonly<Record<NonNullable<JobCosts["beside"]>, string>> = {
  input: "What the model reads comes on top.",
  input_and_reasoning: "What the model reads and thinks comes on top.",
};

/** Why a job would be refused for what it asks for together; `undefined` where it would not. */
export function refusalOf(
  { most_seconds_with_references: most }: JobCosts,
  job: Priced,
  defaults: Priced,
): string | undefined {
  const isReferring = [job["input_references"], job["reference_videos"]].some(
    (given) => Array.isArray(given) && given.length > 0,
  );
  if (most === null || !isReferring || Number(job["duration"] ?? defaults["duration"]) <= most)
    return undefined;
  return `With references a video of this model has at most ${most} seconds.`;
}

/** What a job costs. `defaults` holds what counts where the job leaves a parameter out. */
export function estimate(of: JobCosts, job: Priced, defaults: Priced): Estimate | undefined {
  if (refusalOf(of, job, defaults) !== undefined) return undefined;
  const { per, is_about: isAbout, beside, costs } = of;
  const value = (name: string): string => {
    const said = job[name] ?? defaults[name] ?? "";
    return spelled(name, typeof said === "string" ? said : JSON.stringify(said));
  };
  const hasVideo = Array.isArray(job.reference_videos) && job.reference_videos.length > 0;
  const fitting = costs.filter(({ parameters }) =>
    Object.entries(parameters).every(([name, one]) => spelled(name, one) === value(name)),
  );
  const cost = fitting.find(({ with_video: withVideo }) => withVideo === null || withVideo === hasVideo);
  if (cost === undefined) return undefined;
  const { least_credits: least, most_credits: most } = cost;
  const isSame = ({ least_credits, most_credits }: Cost): boolean =>
    least_credits === least && most_credits === most;
  const count = per === "image" ? Number(value("n")) || 1 : 1;
  return {
    least: least * count,
    most: most * count,
    isAbout,
    why: sentences(
      cost.parameters["quality"] === "auto" && "The model chooses the quality.",
      isAbout &&
        `The number of tokens of ${per === "video" ? "a video" : "an image"} is known once it is made.`,
      beside !== null && BESIDE_WORDS[beside],
      hasVideo && !fitting.every(isSame) && "A video among the references changes the price.",
      hasVideo && least < most && "The seconds of reference videos are charged too.",
    ),
  };
}

/** A size is written with `x` or `*`. */
function spelled(name: string, value: string): string {
  return name === "size" ? value.replace("x", "*") : value;
}

function sentences(...all: readonly (string | false)[]): string | undefined {
  const said = all.filter((each) => each !== false);
  return said.length === 0 ? undefined : said.join(" ");
}
