import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { descriptorLimit } from "../../src/runtime/descriptors.ts";
import { startProcess, temporaryFolder } from "../gateway/process.ts";
import { toText } from "../upstream/bytes.ts";
import { CHAT, type Crowd, openCrowd } from "./crowd.ts";

// A process that may have 256 descriptors, and 400 clients. Where the system does not say how many there are the gateway
// cannot tell either.

const CLIENTS = 400;
const SHORT = "descriptors have run short";

describe.skipIf(descriptorLimit() === undefined)("400 clients under ulimit -n 256", () => {
  let crowd: Crowd;
  beforeEach(async () => {
    crowd = await openCrowd(256);
  });
  afterEach(() => crowd.close());

  for (const [what, bytes] of [
    ["that send nothing, which the runtime shows to nobody", ""],
    ["that send half a request", "POST /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAutho"],
  ] as const) {
    test(`${what}, take no core; new ones are refused by the system, and served once they have left`, async () => {
      await crowd.connect(CLIENTS, bytes);
      await crowd.logged(SHORT);
      const refused = await fetch(`${crowd.url}/healthz`, { headers: { connection: "close" } }).catch(
        () => "refused",
      );
      expect(refused).toBe("refused");
      // Without the guard the runtime tries to accept with a whole core for as long as they stay.
      await crowd.rests();
      crowd.leave();
      expect((await crowd.served()).headers.get("x-switchyard-provider")).toBe("sandbox");
      await crowd.logged("connections are taken again");
      expect(crowd.isAlive()).toBe(true);
    });
  }

  test("that each ask at once are answered, or get a 503 with Retry-After that ends their connection; nothing fails for want of a descriptor", async () => {
    const head = [
      "POST /api/v1/chat/completions HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${crowd.key}`,
      "X-Sandbox: delay_ms=1500",
      "Content-Type: application/json",
      `Content-Length: ${CHAT.length}`,
    ];
    const clients = await crowd.connect(CLIENTS, `${head.join("\r\n")}\r\n\r\n${CHAT}`);
    const answers = (): string[] => clients.map((client) => toText(client.received()));
    while (!answers().some((text) => text.startsWith("HTTP/1.1 200 "))) await Bun.sleep(20);
    const statuses = new Set<string>();
    for (const [at, text] of answers().entries()) {
      const status = text.split(" ")[1] ?? "none";
      statuses.add(status);
      if (status !== "503") continue;
      expect(text).toContain('"type":"overloaded_error"');
      expect(text.toLowerCase()).toContain("retry-after: 2\r\n");
      await clients[at]?.ended();
    }
    expect([...statuses].filter((status) => status !== "none").sort()).toEqual(["200", "503"]);
    expect(crowd.log()).not.toMatch(/EMFILE|"status":50[024]/);
    crowd.leave();
    expect((await crowd.served()).status).toBe(200);
  });

  test("that have been answered and stay make room for others", async () => {
    await crowd.connect(CLIENTS, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect((await crowd.served()).status).toBe(200);
    expect(crowd.log()).not.toContain('"status":503');
  });
});

test.skipIf(descriptorLimit() === undefined)(
  "with fewer descriptors than it needs by itself the gateway does not start, and says so",
  async () => {
    const folder = temporaryFolder();
    const few = startProcess({ SWITCHYARD_HOME: join(folder.path, "home") }, { descriptors: 64 });
    expect(await few.exited()).toBe(1);
    expect(few.output()).toContain("The process may have 64 files and connections open, and needs more");
    folder.remove();
  },
);
