import { parseArgs } from "node:util";
import { overviewReads, type ScreenRead, taskReads } from "./screens.ts";

// Consoles in a process of their own, until they are ended: each has the overview of a day and the list of tasks open,
// signs in as a browser does, and reads as often as the console does, from a moment of its own on.

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "" },
    token: { type: "string", default: "" },
    count: { type: "string", default: "10" },
  },
});
const { url, token } = values;

async function signIn(): Promise<string> {
  const answer = await fetch(`${url}/console/api/session`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/json" },
    body: JSON.stringify({ credential: token }),
  });
  const cookie = answer.headers.get("set-cookie")?.split(";")[0];
  if (cookie === undefined) throw new Error(`the sign-in was answered with ${answer.status}`);
  return cookie;
}

/** To the next whole minute, as the console has it, so that several ask the same. */
const nowSec = (): number => Math.ceil(Date.now() / 60_000) * 60;
const readsOf = (sec: number): readonly ScreenRead[] => [...overviewReads(sec, "24h"), ...taskReads(sec)];

async function open(): Promise<void> {
  const cookie = await signIn();
  for (const [place, { everyMs = 0 }] of readsOf(nowSec()).entries())
    void (async () => {
      await Bun.sleep(Math.random() * everyMs);
      for (;;) {
        const path = readsOf(nowSec())[place]?.path ?? "";
        const answer = await fetch(`${url}/console/api${path}`, { headers: { cookie } });
        await answer.arrayBuffer();
        if (!answer.ok) console.error(`GET ${path}: ${answer.status}`);
        await Bun.sleep(everyMs);
      }
    })();
}

await Promise.all(Array.from({ length: Number(values.count) }, open));
console.log(JSON.stringify({ url }));
