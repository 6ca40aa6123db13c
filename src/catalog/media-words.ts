import type { MediaFacts, ParameterLimits } from "../core/media/media-model.ts";
import type { Model } from "../core/model.ts";
import type { TaskKind } from "../core/task.ts";
import { grouped } from "./price-words.ts";

/** An image or video model, as its page needs it. */
export type MediaPageModel = Model & { readonly category: TaskKind; readonly media: MediaFacts };

/** What the pages say of an endpoint. */
export interface MediaWords {
  readonly name: string;
  readonly path: string;
  /** What a request there does, as the end of a sentence. */
  readonly makes: string;
  readonly sdk?: (origin: string) => string;
  /** What becomes of parameters that a model does not take; they follow. */
  readonly ignored: string;
  readonly task: string;
  readonly taskNotes: readonly string[];
  readonly notes: (model: MediaPageModel) => readonly string[];
}

const LINKS =
  "Links to results are signed and good for an hour; every read of the task signs them anew, as long as the files are kept (24 hours unless the operator says otherwise). Fetch what you want to keep.";

const WAITING = "An account can have 1,000 tasks waiting, unless the operator says otherwise";

/** The endpoints by what they make. */
export const MEDIA_WORDS: Readonly<Record<TaskKind, MediaWords>> = {
  image: {
    name: "Images",
    path: "/api/v1/images/generations",
    makes: "makes images, in one answer or as a task",
    sdk: (origin) =>
      `official SDK \`openai\`: \`baseURL: "${origin}/api/v1"\`, then \`client.images.generate\`; of \`images.edit\` and streams there is nothing`,
    ignored: "Parameters of other models are refused unless they have the interface's default:",
    task: "Without `async` a request is answered when its images are there. With `async: true` it is answered at once (202) with a task, which is read until it has ended:",
    taskNotes: [
      "Poll `polling_url` every 2 to 5 seconds. Reading costs nothing and changes nothing.",
      '`POST` to `cancel_url`, without a body, cancels a task that is `pending` and answers `{"id":"…","object":"image_generation.task","status":"cancelled"}`; once it is `running` the answer is 409. To cancel twice is no error.',
      'The result is `{"created":…,"data":[{"url":"…"}],"credit":…}`, with `usage` on models that are sold by tokens. A task has `data`, `usage` and `credit` at its top level, and the whole result under `result`.',
      '`error` of a failed task is `{"message":"…","type":"…"}`: `generation_error`, `content_moderation`, `invalid_request_error`, `input_too_large`, `overloaded_error`, or `timeout_error` when `timeout` ran out.',
      LINKS,
      `${WAITING}; more are refused with 429.`,
    ],
    notes: ({ media }) => [
      "Fields that nobody knows are left out, with a `warning` header.",
      "`data` can hold fewer images than were asked for: what is there is charged.",
      ...(media.parameters.image === undefined
        ? []
        : [
            "Given images are PNG, JPEG, WebP or GIF of at most 50 million pixels. Links must lead to public addresses.",
          ]),
      "Nothing is made smaller to fit the balance: what it does not cover is a 402.",
    ],
  },
  video: {
    name: "Videos",
    path: "/api/v1/videos",
    makes: "begins a video, as a task",
    ignored:
      "Parameters of other models are said in the prompt where words can say it (`multi`, `negative_prompt`), or left out, with a warning:",
    task: 'A request is answered at once (202) with a task, `{"id":"…","status":"pending","polling_url":"…"}`, which is read until it has ended:',
    taskNotes: [
      "Poll `polling_url` every 3 to 5 seconds. Reading costs nothing and changes nothing.",
      '`POST` to `/api/v1/videos/{id}/cancel`, without a body, cancels a task that is `pending` and answers `{"id":"…","status":"cancelled"}`; once it is `running` the answer is 409. To cancel twice is no error.',
      'A completed task has `"output":{"urls":["…"]}` and `credit`. `error` of a failed one is a sentence.',
      LINKS,
      `${WAITING}; more are refused with a 400 that says so.`,
    ],
    notes: () => [
      "What this model cannot do as it was asked is done by the nearest means, or left out; a `warning` header and `warnings` of the task name it. Fields that nobody knows are left out likewise.",
      "Given images are PNG, JPEG, WebP or GIF of at most 50 million pixels. Links must lead to public addresses.",
      "Nothing is made shorter or smaller to fit the balance: what it does not cover is a 402.",
    ],
  },
};

/** What is limited of a model, as rows of a table. */
export function mediaLimits(model: MediaPageModel): readonly (readonly string[])[] {
  const { category, inputModalities, outputModalities, media, totalContext } = model;
  const { prompt, image, mask, frame_images, input_references, reference_videos, reference_audios } =
    media.parameters;
  const timeout =
    category === "image" ? "30 to 1,800 seconds, 300 by default" : "60 to 3,600 seconds, 600 by default";
  return [
    ["Takes", inputModalities.join(", ")],
    ["Gives", outputModalities.join(", ")],
    ...(prompt?.maxLength === undefined
      ? []
      : [["Prompt", `${grouped(String(prompt.maxLength))} characters`]]),
    ...(totalContext === null ? [] : [["Input", `${grouped(String(totalContext))} tokens`]]),
    ...given("Given images", image),
    ...given("Mask", mask),
    ...given("Frames", frame_images),
    ...given("Reference images", input_references),
    ...given("Reference videos", reference_videos),
    ...given("Reference audio", reference_audios),
    ...(media.mostReferences === undefined
      ? []
      : [["References of all kinds", `${media.mostReferences} at most`]]),
    ["Time that a task may take", timeout],
    ["Body of a request", "32 MiB"],
  ];
}

function given(name: string, limits: ParameterLimits | undefined): readonly (readonly string[])[] {
  if (limits === undefined) return [];
  const { maxItems, maxBytes, linksOnly } = limits;
  const words = [
    ...(maxItems === undefined ? [] : [`${maxItems} at most`]),
    ...(maxBytes === undefined
      ? []
      : [`${maxBytes / 1_024 / 1_024} MiB${maxItems === undefined ? "" : " each"}, unless by link`]),
    ...(linksOnly ? ["by link only"] : []),
  ];
  return words.length === 0 ? [] : [[name, words.join(", ")]];
}
