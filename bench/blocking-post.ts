// `blocking-post.ts <url> <key> <number>`: makes that body of blocking-bodies.ts, sends it, and prints its size, what it was
// answered with and when.
import { BLOCKING_BODIES } from "./blocking-bodies.ts";

const [url = "", key = "", number = ""] = process.argv.slice(2);
const body = BLOCKING_BODIES[Number(number)];
if (body === undefined) throw new Error(`There is no body ${number}.`);
const text = new TextEncoder().encode(body.make());
const begun = performance.now();
const answer = await fetch(`${url}${body.path}`, {
  method: "POST",
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  body: text,
});
const said = await answer.text();
console.error(said.slice(0, 300));
console.log(JSON.stringify({ bytes: text.length, status: answer.status, ms: performance.now() - begun }));
