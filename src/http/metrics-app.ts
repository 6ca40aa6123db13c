import { METRICS_TYPE } from "../gateway/metrics/metrics-text.ts";
import type { Connection } from "../runtime/serve.ts";
import { COMMON_HEADERS } from "./respond.ts";

/** Shows metrics to whoever asks, and has nothing else: for a listener that only Prometheus reaches. */
export function createMetricsApp(
  text: () => Promise<string>,
): (request: Request, connection: Pick<Connection, "limitStall">) => Promise<Response> {
  return async ({ url, method }, connection) => {
    if (!IS_METRICS.test(url)) return answer("There is /metrics, and nothing else.\n", 404);
    if (method !== "GET" && method !== "HEAD")
      return answer("This path takes GET.\n", 405, { allow: "GET, HEAD" });
    const body = await text();
    connection.limitStall();
    return answer(body, 200, { "content-type": METRICS_TYPE });
  };
}

/** With an invalid Host the runtime gives the target alone. */
const IS_METRICS = /^(?:https?:\/\/[^/]*)?\/metrics(?:\?|$)/;

function answer(body: string, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...COMMON_HEADERS, ...headers },
  });
}
