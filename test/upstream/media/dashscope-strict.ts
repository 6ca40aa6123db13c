import { duplicateKey } from "../json-keys.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Fields, isFields } from "../strict-fields.ts";
import type { TakenWork } from "./media-double.ts";

/** A refusal in the vendor's form. */
export interface DashscopeRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

const invalid = (message: string): DashscopeRefusal => ({ status: 400, code: "InvalidParameter", message });

/** A wrong value, told by throwing within this file. */
class Wrong extends Error {}

function must(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Wrong(message);
}

/** Checks a request for images as the vendor does whose form it is; what it takes comes back read. */
export function readImages(request: SeenRequest): TakenWork | DashscopeRefusal {
  if (request.header("x-dashscope-async") !== undefined)
    return {
      status: 403,
      code: "AccessDenied",
      message: "current user api does not support asynchronous calls.",
    };
  return checked(request, /^qwen-image-2\.0(-pro)?$/, ({ input, parameters }) => {
    keys(input, "input", ["messages"]);
    checkMessages(input["messages"]);
    keys(parameters, "parameters", ["size", "n", "negative_prompt", "prompt_extend", "watermark", "seed"]);
    checkArea(parameters["size"]);
    whole(parameters, "n", 1, 6);
    checkCommon(parameters);
  });
}

/** The same for videos. */
export function readVideo(request: SeenRequest): TakenWork | DashscopeRefusal {
  if (request.header("x-dashscope-async") !== "enable")
    return {
      status: 403,
      code: "AccessDenied",
      message: "current user api does not support synchronous calls.",
    };
  return checked(request, /^wan2\.6-(t2v|i2v|r2v)$/, ({ model, input, parameters }) => {
    const way = model.slice(-3) as keyof typeof WAYS;
    const { fields, settings, longest } = WAYS[way];
    keys(input, "input", fields);
    keys(parameters, "parameters", settings);
    const { prompt, negative_prompt: negative } = input;
    must(way === "i2v" || typeof prompt === "string", "input.prompt is required.");
    must(
      prompt === undefined || (typeof prompt === "string" && prompt.length <= 1_500),
      "input.prompt is too long.",
    );
    must(
      negative === undefined || (typeof negative === "string" && negative.length <= 500),
      "input.negative_prompt is too long.",
    );
    if (way === "i2v") must(isLink(input["img_url"]), "input.img_url is required.");
    if (way === "r2v") checkReferences(input["reference_urls"]);
    must(input["audio_url"] === undefined || isLink(input["audio_url"]), "input.audio_url is no URL.");
    whole(parameters, "duration", 2, longest);
    must([undefined, "single", "multi"].includes(parameters["shot_type"] as string), "shot_type is wrong.");
    const { size, resolution } = parameters;
    if (way === "i2v")
      must(["720P", "1080P"].includes(String(resolution)), "resolution must be 720P or 1080P.");
    else must(SIZES.includes(String(size)), `size ${String(size)} is not supported.`);
    checkCommon(parameters);
  });
}

const SETTINGS = ["duration", "shot_type", "seed", "watermark"];
const WAYS = {
  t2v: {
    fields: ["prompt", "negative_prompt", "audio_url"],
    settings: ["size", "prompt_extend", ...SETTINGS],
    longest: 15,
  },
  i2v: {
    fields: ["prompt", "negative_prompt", "img_url", "audio_url"],
    settings: ["resolution", "prompt_extend", ...SETTINGS],
    longest: 15,
  },
  r2v: {
    fields: ["prompt", "negative_prompt", "reference_urls"],
    settings: ["size", ...SETTINGS],
    longest: 10,
  },
} as const;

const SIZES =
  "1280*720 720*1280 960*960 1088*832 832*1088 1920*1080 1080*1920 1440*1440 1632*1248 1248*1632".split(" ");

function checked(
  request: SeenRequest,
  models: RegExp,
  check: (work: TakenWork) => void,
): TakenWork | DashscopeRefusal {
  try {
    const body = bodyOf(request);
    keys(body, "the body", ["model", "input", "parameters"]);
    const { model, input, parameters = {} } = body;
    must(typeof model === "string" && model !== "", "Required parameter model missing or invalid.");
    if (!models.test(model)) return { status: 404, code: "ModelNotFound", message: "Model not exist." };
    must(isFields(input), "Field required: input");
    must(isFields(parameters), "parameters must be an object.");
    const work = { model, input, parameters };
    check(work);
    return work;
  } catch (error) {
    if (error instanceof Wrong) return invalid(error.message);
    throw error;
  }
}

function bodyOf(request: SeenRequest): Fields {
  must(
    request.header("content-type")?.startsWith("application/json") === true,
    "The content type must be application/json.",
  );
  let body: unknown;
  try {
    body = request.json();
  } catch {
    throw new Wrong("The body is no JSON.");
  }
  must(isFields(body), "The body must be an object.");
  const twice = duplicateKey(request.bodyText);
  must(twice === undefined, `${twice} stands twice.`);
  return body;
}

function keys(fields: Fields, where: string, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  // The vendor passes over some of them; a request that has one was written for another vendor.
  must(unknown === undefined, `${where} has no field ${unknown}.`);
}

function whole(fields: Fields, name: string, least: number, most: number): void {
  const value = fields[name];
  must(
    value === undefined || (Number.isInteger(value) && Number(value) >= least && Number(value) <= most),
    `${name} must be an integer from ${least} to ${most}.`,
  );
}

function checkCommon(parameters: Fields): void {
  whole(parameters, "seed", 0, 2_147_483_647);
  for (const name of ["watermark", "prompt_extend"])
    must([undefined, true, false].includes(parameters[name] as boolean), `${name} must be a boolean.`);
}

function checkArea(size: unknown): void {
  if (size === undefined) return;
  const [, width = "0", height = "0"] = /^(\d+)\*(\d+)$/.exec(typeof size === "string" ? size : "") ?? [];
  const area = Number(width) * Number(height);
  must(area >= 512 * 512 && area <= 2_048 * 2_048, "size must be W*H, of 512*512 to 2048*2048 pixels.");
}

function checkMessages(messages: unknown): void {
  must(Array.isArray(messages) && messages.length === 1, "Exactly one message is supported.");
  const [message] = messages as readonly unknown[];
  must(isFields(message) && message["role"] === "user", "The role must be user.");
  keys(message, "the message", ["role", "content"]);
  const { content } = message;
  must(Array.isArray(content), "content must be a list.");
  const parts = content as readonly unknown[];
  const images = parts.slice(0, -1);
  const text = parts.at(-1);
  must(isFields(text) && typeof text["text"] === "string" && text["text"] !== "", "One text must come last.");
  must(images.length <= 3, "At most 3 images are supported.");
  for (const image of images) must(isFields(image) && isLink(image["image"]), "An image is no URL.");
}

function checkReferences(references: unknown): void {
  must(
    Array.isArray(references) && references.length >= 1 && references.length <= 5,
    "1 to 5 reference_urls.",
  );
  const links = references as readonly unknown[];
  must(links.every(isLink), "A reference is no URL.");
  const videos = links.filter((link) => /\.(mp4|mov)(\?|$)/i.test(String(link)));
  must(videos.length <= 3, "At most 3 reference videos are supported.");
}

function isLink(value: unknown): boolean {
  return (
    typeof value === "string" &&
    /^(https?:\/\/\S+|data:(image|audio|video)\/[\w.+-]+;base64,\S+)$/.test(value)
  );
}
