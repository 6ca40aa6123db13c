import { describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import {
  VIDEO,
  mediaModel,
  mediaOffer,
  createTestFiles,
  createTestRun,
  routingAt,
  keepingLog,
} from "../../../../test/gateway/media-run.ts";
import { createFakeClock } from "../../../../test/gateway/fake-clock.ts";
import { testVideo } from "../../../../test/upstream/media/result-files.ts";
import { createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { noFailpoint } from "../../../core/failpoint.ts";
import type { MediaProvider } from "../../../providers/provider.ts";
import { PROVIDERS } from "../../../providers/registry.ts";
import { homeOf, jobNote } from "./job-home.ts";
import { createGridCutter } from "../../../runtime/images/grid-cutter.ts";
import { DEFAULT_TIMEOUTS } from "../../timeouts.ts";
import { createMediaJob } from "./job.ts";

const SINGAPORE = "https://dashscope-intl.aliyuncs.com/api/v1";
const WORKSPACE = "https://ws-1.ap-southeast-1.maas.aliyuncs.com/api/v1";
const PROXY = "https://proxy.example/api/v1";

/** The provider as it is when this address is set. */
function providerAt(id: string, baseUrl: string, transport?: MediaProvider["transport"]): MediaProvider {
  const media = PROVIDERS.find((definition) => definition.id === id)?.media;
  if (media === undefined) throw new Error(`${id} makes nothing.`);
  const { adapters, ownHosts, headers } = media;
  return {
    id,
    baseUrl,
    headers: headers("k"),
    secrets: ["k"],
    adapters,
    ...(ownHosts === undefined ? {} : { ownHosts }),
    ...(transport === undefined ? {} : { transport }),
  };
}

describe("a job is asked after", () => {
  const rows: readonly [string, string, begun: string, set: string, asked: string][] = [
    ["where it was begun, at another host of its vendor", "dashscope", SINGAPORE, WORKSPACE, SINGAPORE],
    [
      "where it was begun, in another region",
      "ark",
      "https://ark.cn-beijing.volces.com/api/v3",
      "https://ark.ap-southeast.bytepluses.com/api/v3",
      "https://ark.cn-beijing.volces.com/api/v3",
    ],
    ["through a proxy that is set by then", "dashscope", SINGAPORE, PROXY, PROXY],
    ["no more through a proxy that was left", "dashscope", PROXY, SINGAPORE, SINGAPORE],
    [
      "no more at a host that only looks like the vendor's",
      "dashscope",
      "https://aliyuncs.com.example/api/v1",
      SINGAPORE,
      SINGAPORE,
    ],
    [
      "no more where the credential could be read on the way",
      "dashscope",
      SINGAPORE.replace("https", "http"),
      SINGAPORE,
      SINGAPORE,
    ],
    [
      "at today's address of a proxy of one's own",
      "midjourney",
      "http://10.0.0.5:8080",
      "http://10.0.0.6:8080",
      "http://10.0.0.6:8080",
    ],
  ];
  for (const [name, id, begun, set, asked] of rows)
    test(name, () => {
      const note = jobNote("j-1,j-2", providerAt(id, begun), "");
      const { job, provider } = homeOf(note, providerAt(id, set));
      expect([job, provider.baseUrl]).toEqual(["j-1,j-2", asked]);
    });

  test("nowhere where none was begun, and by its name alone where nothing else was noted", () => {
    const provider = providerAt("dashscope", SINGAPORE);
    expect(homeOf(null, provider)).toEqual({ job: null, provider });
    expect(homeOf("j-1", provider)).toEqual({ job: "j-1", provider });
  });
});

test("a video that runs when the address of its provider is changed is made to its end", async () => {
  const clock = createFakeClock();
  const model = mediaModel("video", { prices: { second: 0.1 } }, [
    { provider: "dashscope", upstreamId: "wan2.6-t2v" },
  ]);
  const urls: string[] = [];
  let baseUrl = SINGAPORE;
  const transport: MediaProvider["transport"] = async (url, { method }) => {
    urls.push(`${method} ${url}`);
    const output =
      method === "POST"
        ? { task_id: "t-1", task_status: "PENDING" }
        : { task_status: status, video_url: "https://r.example/1" };
    return Response.json({ output });
  };
  let status = "RUNNING";
  const doJob = createMediaJob({
    offer: () => mediaOffer([model], [providerAt("dashscope", baseUrl, transport)]),
    limitOf: () => 20,
    routing: routingAt(clock),
    assets: createTestFiles(),
    fetch: (_url, _options, take) =>
      take({ pieces: Readable.from([testVideo()]), length: testVideo().length }),
    memory: createByteBudget(() => 1),
    timeouts: () => DEFAULT_TIMEOUTS,
    cutGrid: createGridCutter().cut,
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    failpoint: noFailpoint,
    log: keepingLog(),
  });
  const run = createTestRun({ clock, model, request: VIDEO });
  const first = doJob(run);
  await clock.advance(5_000);
  run.stop("shutdown");
  await clock.advance(5_000);
  expect(await first).toEqual({ kind: "released" });

  baseUrl = WORKSPACE;
  status = "SUCCEEDED";
  const second = doJob(run.next());
  await clock.advance(20_000);
  expect((await second).kind).toBe("completed");
  expect(new Set(urls.map((url) => url.replace(/\/(services|tasks)\/.*/, "")))).toEqual(
    new Set([`POST ${SINGAPORE}`, `GET ${SINGAPORE}`]),
  );
  expect(urls.filter((url) => url.startsWith("POST"))).toHaveLength(1);
});
