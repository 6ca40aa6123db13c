import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { makeImage } from "../../src/providers/sandbox/draw/poster.ts";
import { VIDEO_FPS, videoSampleUrl } from "../../src/providers/sandbox/media/video.ts";
import { VIDEO_SIZES } from "../../src/providers/sandbox/media/sizes.ts";
import { inChromium } from "./chromium.ts";

// Makes the samples of the sandbox's videos, one for each size: an image of the sandbox in which a train goes by, with
// the time. Chromium paints and encodes them.

const PROMPT = "This is a sample: videos of the sandbox do not show what was asked for.";

/** As long as the longest video of the catalogue. */
const SECONDS = 15;

/** Paints and encodes all frames over `still.png`, and gives the sample in base64: what a file of `videoSampleUrl` has. */
const scriptOf = (width: number, height: number): string => `
  const [width, height, fps, seconds] = [${width}, ${height}, ${VIDEO_FPS}, ${SECONDS}];
  const still = new Image();
  still.src = "still.png";
  await still.decode();
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const unit = Math.sqrt(width * height) / 100;
  const rail = Math.round(height * 0.5);
  const box = (x, y, w, h, r) => {
    context.beginPath();
    context.roundRect(x, y, w, h, r);
    context.fill();
  };
  const paint = (atSec) => {
    context.drawImage(still, 0, 0);
    context.fillStyle = "rgba(255, 255, 255, 0.6)";
    context.fillRect(0, rail, width, unit * 0.4);
    for (let x = 0; x < width; x += unit * 3) context.fillRect(x, rail, unit * 0.4, unit);
    const length = unit * 30;
    const front = length + ((width - length) * atSec) / seconds;
    context.fillStyle = "#fff";
    for (const back of [10, 20, 30]) box(front - unit * back, rail - unit * 5, unit * 9.4, unit * 4, unit * 0.6);
    box(front - unit * 2.6, rail - unit * 6.6, unit * 1.4, unit * 3, unit * 0.3);
    context.fillStyle = "#202638";
    for (let back = 2; back < 30; back += 2.6) {
      context.beginPath();
      context.arc(front - unit * back, rail - unit * 0.9, unit * 0.8, 0, 7);
      context.fill();
    }
    const size = unit * 3.4;
    box(width - size * 5.2, size, size * 4.2, size * 1.7, size * 0.85);
    context.fillStyle = "#fff";
    context.font = "500 " + size + "px sans-serif";
    context.textAlign = "right";
    context.fillText(atSec.toFixed(1) + " s", width - size * 1.6, size * 2.2);
  };
  const parts = [];
  const add = (bytes) => {
    const length = new DataView(new ArrayBuffer(4));
    length.setUint32(0, bytes.length);
    parts.push(length, bytes);
  };
  let fault;
  const encoder = new VideoEncoder({
    output(chunk, { decoderConfig }) {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      if (parts.length === 0) add(new Uint8Array(decoderConfig.description));
      add(bytes);
    },
    error(error) { fault = error.message; },
  });
  encoder.configure({
    codec: "avc1.420028", width, height, framerate: fps, bitrate: 30_000, latencyMode: "quality",
    avc: { format: "avc" },
  });
  for (let i = 0; i < fps * seconds && fault === undefined; i += 1) {
    paint(i / fps);
    const frame = new VideoFrame(canvas, { timestamp: (i * 1e6) / fps });
    encoder.encode(frame, { keyFrame: i === 0 });
    frame.close();
    while (encoder.encodeQueueSize > 4) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await encoder.flush();
  if (fault !== undefined) throw new Error(fault);
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return bytes.toBase64();`;

let sum = 0;
for (const size of VIDEO_SIZES) {
  const { width, height } = size;
  const facts = [["size", `${width} × ${height}`]] as const;
  const order = {
    size,
    format: "png",
    seed: "3",
    model: "sandbox",
    prompt: PROMPT,
    facts,
    references: [],
  } as const;
  const script = scriptOf(width, height);
  const stream = (await inChromium(script, { "still.png": await makeImage(order) })) as string;
  const file = fileURLToPath(videoSampleUrl(size));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Uint8Array.fromBase64(stream));
  sum += stream.length * 0.75;
  process.stdout.write(`${width}x${height}: ${Math.round(stream.length * 0.75)} bytes\n`);
}
process.stdout.write(`${Math.round(sum)} bytes in all\n`);
