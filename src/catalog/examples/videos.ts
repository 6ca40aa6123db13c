import { cancelScript, type Example, type ExampleFacts, pollScript, RED_IMAGE } from "./example.ts";

const PATH = "/api/v1/videos";

/** Examples of requests for videos, by curl and in JavaScript without an SDK. */
export function videoExamples(model: ExampleFacts): readonly Example[] {
  const body = { model: model.id, prompt: "Waves run up a beach at dawn." };
  return [
    {
      title: "A video, by curl",
      language: "sh",
      code: pollScript(PATH, body),
      prints: '{"id":"vid_…"…"status":"completed"…"output":{"urls":["http…"]}…"credit":N…}',
    },
    {
      title: "A task that is cancelled before it has begun, by curl",
      language: "sh",
      code: cancelScript(PATH, body),
      prints: '{"id":"vid_…","status":"cancelled"}',
    },
    frameExample(model),
  ];
}

function frameExample({ id }: ExampleFacts): Example {
  return {
    title: "A video from its first frame, as a file, in JavaScript",
    language: "js",
    code: `import { writeFileSync } from "node:fs";

const headers = { authorization: \`Bearer \${process.env.API_KEY}\`, "content-type": "application/json" };
const ask = async (path, init) => {
  const response = await fetch(process.env.BASE_URL + path, { ...init, headers });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message);
  return body;
};

const png = "${RED_IMAGE}";
let task = await ask("/api/v1/videos", {
  method: "POST",
  body: JSON.stringify({
    model: "${id}",
    prompt: "The image wakes up and moves like water.",
    frame_images: [{ image_url: \`data:image/png;base64,\${png}\`, frame_type: "first_frame" }],
  }),
});
while (!["completed", "failed", "cancelled"].includes(task.status)) {
  await new Promise((resolve) => setTimeout(resolve, 3000));
  task = await ask(task.polling_url);
}
if (task.status !== "completed") throw new Error(task.error ?? task.status);
const video = await fetch(task.output.urls[0]);
writeFileSync("video.mp4", Buffer.from(await video.arrayBuffer()));
console.log("wrote video.mp4 for", task.credit);`,
    prints: "wrote video.mp4 for N",
  };
}
