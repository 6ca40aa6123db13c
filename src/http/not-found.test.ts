import { describe, expect, test } from "bun:test";
import { createAddresses } from "./addresses.ts";
import { createNotFound, formatOf } from "./not-found.ts";
import { ROUTES } from "./routes.ts";

const addressOf = createAddresses(ROUTES);
const notFound = createNotFound(ROUTES);
const told = (path: string): string => notFound(addressOf(path)).message;

describe("a path that leads nowhere is answered in the format it looks like:", () => {
  const formats = [
    ["compat_messages", ["/v1/messages/batches", "/message", "/v1beta/messages/x", "/anthropic/v1/messages"]],
    [
      "compat_generate_content",
      ["/v1beta/files", "/upload/v1beta/files", "/v1/x/y:predict", "/a/b%3ApredictLong"],
    ],
    [undefined, ["/", "/v1/files", "/chat/completion", "/v1betas/files", "/wp-login.php", "/v1/a:b/c"]],
  ] as const;
  for (const [format, paths] of formats) {
    for (const path of paths)
      test(`${path}: ${format ?? "chat completions"}`, () =>
        expect(formatOf(path)?.id).toBe(format as never));
  }
});

describe("what was probably meant is named:", () => {
  const meant = {
    "/chat/completion": "POST /api/v1/chat/completions",
    "/v1/chat/complete": "POST /api/v1/chat/completions",
    "/chat": "POST /api/v1/chat/completions",
    "/openai/v1/chat/completions": "POST /api/v1/chat/completions",
    "/API/V1/CHAT/COMPLETIONS": "POST /api/v1/chat/completions",
    "/v1/message": "POST /api/v1/messages",
    "/anthropic/v1/messages": "POST /api/v1/messages",
    "/v1/image/generation": "POST /api/v1/images/generations",
    "/v1/images": "POST /api/v1/images/generations",
    "/v1/video/generations/x": "POST /api/v1/videos",
    "/v1/model": "GET /api/v1/models",
    "/v1beta/models/google/gemini/generateContent": "POST /api/v1/models/{model}:generateContent",
  };
  for (const [path, address] of Object.entries(meant))
    test(`${path}: ${address}`, () =>
      expect(told(path)).toBe(`There is nothing at this path. Perhaps ${address} is meant. See /llms.txt`));
});

test("where nothing is alike, all endpoints are named, and nothing of the path is repeated", () => {
  for (const path of [
    "/",
    "/v1",
    "/wp-login.php",
    "/v1/x/y:guess",
    `/${"z".repeat(8_000)}`,
    "/admin/v1/nothing",
  ]) {
    expect(told(path)).toStartWith(
      "There is nothing at this path. What there is below /api/v1: POST chat/completions,",
    );
    for (const { path: route, access, method } of ROUTES.filter((row) => row.access === "key")) {
      if (route.includes("/:id")) continue;
      const name = route.replace(":model{.+}", "{model}").slice("/api/v1/".length);
      expect(told(path)).toContain(`${method.toUpperCase()} ${name}`);
      expect(access).toBe("key");
    }
    for (const secret of ["admin", "php", "zzz", "guess"]) expect(told(path)).not.toContain(secret);
  }
});

describe("an endpoint that other services have is refused by its name:", () => {
  const names = {
    "/v1/batches": "batches",
    "/v1/batches/batch_1/cancel": "batches",
    "/v1/files": "files",
    "/v1beta/files/x:download": "files",
    "/upload/v1beta/files": "upload",
    "/v1/audio/speech": "audio",
    "/v1/audio/transcriptions": "audio",
    "/v1/moderations": "moderations",
    "/completions": "completions",
    "/v1/complete": "complete",
    "/api/v1/images/edits": "images/edits",
    "/v1/images/variations": "images/variations",
    "/v1/videos/vid_1/content": "videos/*/content",
    "/v1/fine_tuning/jobs": "fine_tuning",
    "/v1/assistants": "assistants",
    "/v1/threads/t_1/messages": "threads",
    "/v1/vector_stores": "vector_stores",
    "/v1/uploads": "uploads",
    "/v1/messages/batches": "messages/batches",
    "/v1/messages/batches/b_1/results": "messages/batches",
    "/v1beta/cachedContents": "cachedContents",
    "/v1beta/interactions": "interactions",
    "/v1/live": "live",
    "/v1/realtime": "realtime",
    "/v1beta/google/gemini:embedContent": ":embedContent",
    "/v1beta/google%2Fgemini%3ApredictLongRunning": ":predictLongRunning",
  };
  for (const [path, name] of Object.entries(names))
    test(`${path}: ${name}`, () =>
      expect(told(path)).toStartWith(
        `The endpoint ${name} is not served here. What there is below /api/v1: POST `,
      ));
});
