// A vendor of answers and images in OpenAI's form that has each of them ready, so that only the gateway's own time is
// measured. `maker-server.ts` prints {"url"} when it listens. The prompt says how many bytes an image has: "4096
// bytes".
import { BENCHMARK_ANSWERS, type BenchmarkFormat } from "../test/upstream/benchmark-answers.ts";
import { concat, pngChunk, pngFile } from "../test/assets/media-files.ts";

const USAGE = {
  input_tokens: 12,
  input_tokens_details: { text_tokens: 12, image_tokens: 0 },
  output_tokens: 196,
  output_tokens_details: { text_tokens: 0, image_tokens: 196 },
};

const JSON_TYPE = { "content-type": "application/json" };
const CHUNK_BYTES = 64 * 1024;

/** A whole PNG of at least this many bytes, most of them in text chunks that every reader skips. */
function imageOf(bytes: number): Uint8Array {
  const png = pngFile();
  const filling: Uint8Array[] = [];
  for (let left = bytes - png.length; left > 0; left -= CHUNK_BYTES)
    filling.push(pngChunk("teXt", crypto.getRandomValues(new Uint8Array(Math.min(left, CHUNK_BYTES)))));
  return concat([png.subarray(0, 33), ...filling, png.subarray(33)]);
}

const answers = new Map<number, Uint8Array>();

function imageAnswer(prompt: string): Uint8Array {
  const bytes = Number(/\d+/.exec(prompt)?.[0] ?? 0);
  let answer = answers.get(bytes);
  if (answer === undefined) {
    const data = [{ b64_json: imageOf(bytes).toBase64() }];
    answer = Buffer.from(JSON.stringify({ created: 1, data, usage: USAGE }));
    answers.set(bytes, answer);
  }
  return answer;
}

/** Reads a request whole, and answers as the vendor of the format would. */
function answerIn(format: BenchmarkFormat) {
  const { body = "" } = BENCHMARK_ANSWERS[format].plain("x".repeat(1_024));
  return async (request: Request): Promise<Response> => {
    await request.arrayBuffer();
    return new Response(body, { headers: JSON_TYPE });
  };
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 255,
  routes: {
    "/v1/chat/completions": { POST: answerIn("chat") },
    "/v1/messages": { POST: answerIn("messages") },
    "/v1beta/models/*": { POST: answerIn("generate") },
    "/v1/images/edits": {
      POST: async (request) => {
        await request.arrayBuffer();
        return new Response(imageAnswer("4096 bytes") as Uint8Array<ArrayBuffer>, { headers: JSON_TYPE });
      },
    },
    "/v1/images/generations": {
      POST: async (request) => {
        const { prompt } = (await request.json()) as { readonly prompt: string };
        return new Response(imageAnswer(prompt) as Uint8Array<ArrayBuffer>, { headers: JSON_TYPE });
      },
    },
  },
});
console.log(JSON.stringify({ url: server.url.origin }));
