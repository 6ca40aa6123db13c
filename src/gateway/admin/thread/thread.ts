import { serveThreadLate } from "../../../runtime/worker.ts";
import type { AdminDone, AdminWork, ThreadPlace } from "./messages.ts";

/** One piece of work or its result, by a number. */
interface Numbered<Content> {
  readonly id: number;
  readonly content: Content;
}

serveThreadLate<ThreadPlace, Numbered<AdminWork>, Numbered<AdminDone>>(
  async () => {
    const { openWork } = await import("./work.ts");
    return (place) => {
      const work = openWork(place);
      return async ({ id, content }) => {
        try {
          return { id, content: await work(content) };
        } catch (error) {
          return { id, content: { error: error instanceof Error ? error.message : String(error) } };
        }
      };
    };
  },
  ({ content }) => ("bytes" in content ? [content.bytes.buffer] : []),
);
