import { parseArgs } from "node:util";
import { overviewReads, type ScreenRead, taskReads } from "./screens.ts";

// Consoles in a process of their own, until they are ended. Each signs in as a browser does, and has the overview of a
// day and the list of tasks open. Each reads as often as the console does, from a moment of its own on.

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "" },
    token: { type: "string", default: "" },
    count: { type: "string", default: "10" },
  },
});
const { url, token } = values;

/** The headers of a page of the session. */
async function signIn(): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${url}/console/api/session`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/json" },
    body: JSON.stringify({ credential: token }),
  });
  const cookie = answer.headers.get("set-cookie")?.split(";")[0];
  if (cookie === undefined) throw new Error(`the sign-in was answered with ${answer.status}`);
  const { csrf } = (await answer.json()) as { readonly csrf: string };
  return { cookie, origin: url, "x-csrf-token": csrf, "content-type": "application/json" };
}

/** To the next whole minute, as the console has it, so that several ask the same. */
const nowSec = (): number => Math.ceil(Date.now() / 60_000) * 60;
const readsOf = (sec: number): readonly ScreenRead[] => [...overviewReads(sec, "24h"), ...taskReads(sec)];

/** Reads that are made as often as each other are due at once, and go as one request. */
async function open(): Promise<void> {
  const headers = await signIn();
  for (const period of new Set(readsOf(nowSec()).map(({ everyMs = 0 }) => everyMs)))
    void (async () => {
      await Bun.sleep(Math.random() * period);
      for (;;) {
        const due = readsOf(nowSec()).filter(({ everyMs }) => everyMs === period);
        const reads = due.map(({ path }) => `/console/api${path}`);
        const answer = await fetch(`${url}/console/api/reads`, {
          method: "POST",
          headers,
          body: JSON.stringify({ reads }),
        });
        for (const line of (await answer.text()).trimEnd().split("\n")) {
          const { index = 0, status } = JSON.parse(line) as { index?: number; status?: number };
          if (status !== 200) console.error(`GET ${reads[index]}: ${status ?? answer.status}`);
        }
        await Bun.sleep(period);
      }
    })();
}

await Promise.all(Array.from({ length: Number(values.count) }, open));
console.log(JSON.stringify({ url }));
