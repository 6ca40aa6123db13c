import type { ImageFields } from "../../catalog/parameter-tables/images.ts";
import { GatewayError } from "../../core/errors.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Task, TaskFailure } from "../../core/task.ts";
import {
  encodeCancelledImage,
  encodeImageResult,
  encodeImageTask,
  type ImageLink,
} from "../../protocols/images/encode-image.ts";
import { type CompletedTask, isCompleted } from "../../protocols/tasks.ts";
import { admitImage } from "./admit/admit.ts";
import { submitTask, type TaskWay } from "./submit.ts";
import {
  awaitTask,
  cancelTask,
  findTask,
  type MediaAnswer,
  type MediaInput,
  type MediaServices,
  noteEnd,
  type TaskAsked,
} from "./task.ts";

const IMAGES: TaskWay<ImageFields> = {
  read: (reader, body, terms) => reader.readImage(body, terms),
  admit: admitImage,
};

/**
 * Makes images: a 202 with the task where the request says `async`, else the result once there is one. Both are the
 * same task. Throws a `GatewayError` for everything else.
 */
export function generateImage(services: MediaServices, input: MediaInput): Promise<MediaAnswer> {
  return submitTask(services, input, IMAGES, async (task, { awaited, base64 }) => {
    if (!awaited) return { status: 202, body: encodeImageTask(task, []), task };
    const ended = await awaitTask(services, task, input.signal);
    noteEnd(input.record, ended);
    if (!isCompleted(ended)) throw failureError(ended);
    // It is charged, and its client knows no id to ask for it again: URLs alone are better than an error.
    const links = await linksOf(services, ended, base64 ? input.memory : undefined).catch(() =>
      linksOf(services, ended, undefined),
    );
    return { status: 200, body: encodeImageResult(ended, links), task: ended };
  });
}

/** Shows a task, with URLs that are signed now. Reads, and writes nothing. */
export async function readImageTask(services: MediaServices, asked: TaskAsked): Promise<MediaAnswer> {
  const { task, headers } = await findTask(services, asked);
  const links = isCompleted(task)
    ? await linksOf(services, task, task.result.base64 === true ? asked.memory : undefined)
    : [];
  return { status: 200, body: encodeImageTask(task, links), warnings: [], headers };
}

/** Cancels a pending task. */
export async function cancelImageTask(services: MediaServices, asked: TaskAsked): Promise<MediaAnswer> {
  await cancelTask(services, asked);
  return { status: 200, body: encodeCancelledImage(asked.id), warnings: [], headers: {} };
}

/** Copies of a file on its way: as read, as base64, in the answer's text, and as its bytes. */
const BASE64_FACTOR = 5;

/**
 * The links of a result, with the files themselves where the client asked for them. Throws a 503 where there is no
 * memory for them.
 */
async function linksOf(
  { assets }: MediaServices,
  { id, result }: CompletedTask,
  memory: MemoryShare | undefined,
): Promise<ImageLink[]> {
  const bytesInAll = result.files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (memory?.take(bytesInAll * BASE64_FACTOR) === false)
    throw new GatewayError(
      "overloaded_error",
      "The gateway has no memory for these files now. Try again shortly.",
      {
        retryAfterSec: RETRY_SEC,
      },
    );
  const links: ImageLink[] = [];
  for (const file of result.files) {
    // A file that was removed since the task was read has its URL alone, as in a task that is read too late.
    const bytes = memory !== undefined ? await assets.read(id, file.name) : undefined;
    links.push({
      url: assets.urlOf(id, file),
      ...(bytes === undefined ? {} : { base64: bytes.toBase64() }),
    });
  }
  return links;
}

/** Answers come and go within seconds. */
const RETRY_SEC = 2;

/** `Retry-After` when a provider takes no work. */
const OVERLOADED_SEC = 10;

/** The error of a plain request whose task failed. */
function failureError({ failure }: Task): GatewayError {
  if (failure === null)
    return new GatewayError("conflict_error", "The request was cancelled before it had begun.");
  const { type, message }: TaskFailure = failure;
  if (type === "generation_error") return new GatewayError("upstream_error", message);
  // A provider's refusal keeps its own words.
  if (type !== "overloaded_error") return new GatewayError(type, message, { foreign: true });
  return new GatewayError(type, message, { retryAfterSec: OVERLOADED_SEC });
}
