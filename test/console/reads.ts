import type { Page, Request, Route } from "playwright-core";

/** What a test puts in the place of an answer of the console's API. */
interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly requestId: string;
}

const TOGETHER = /\/console\/api\/reads$/;

/**
 * Answers reads of a path that `pattern` fits with a refusal until the returned function is called. It does so whether
 * they are made alone or together with others.
 */
export async function refuseReads(
  page: Page,
  pattern: RegExp,
  { status, json, requestId }: Answer,
): Promise<() => Promise<void>> {
  const alone = (route: Route): Promise<void> =>
    route.fulfill({ status, json, headers: { "x-request-id": requestId } });
  const together = async (route: Route): Promise<void> => {
    const refused = readsOf(route.request()).map((address) => pattern.test(address));
    if (!refused.includes(true)) return route.fallback();
    const response = await route.fetch();
    const lines = (await response.text()).trimEnd().split("\n");
    const body = lines.map((line) => {
      const { index } = JSON.parse(line) as { index: number };
      return refused[index] === true
        ? JSON.stringify({ index, status, request_id: requestId, body: json })
        : line;
    });
    return route.fulfill({ response, body: `${body.join("\n")}\n` });
  };
  await page.route(pattern, alone);
  await page.route(TOGETHER, together);
  return async () => {
    await page.unroute(pattern, alone);
    await page.unroute(TOGETHER, together);
  };
}

/** Whether a request reads a path that `pattern` fits. */
export function reads(request: Request, pattern: RegExp): boolean {
  return (
    pattern.test(request.url()) ||
    (TOGETHER.test(request.url()) && readsOf(request).some((one) => pattern.test(one)))
  );
}

function readsOf(request: Request): readonly string[] {
  return (request.postDataJSON() as { readonly reads: readonly string[] }).reads;
}
