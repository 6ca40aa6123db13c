import { expect, test } from "bun:test";
import { startGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble } from "../upstream/double.ts";

test("a count gives its memory back with its answer: the next as large a one has room", async () => {
  const double = await startUpstreamDouble();
  // A body of 2 MiB takes all of it.
  const gateway = await startGateway({ anthropic: double.url, settings: "memory: { bodies_mib: 16 }\n" });
  try {
    double.handle(() => jsonAnswer(200, { input_tokens: 9 }));
    const body = {
      model: "anthropic/claude-haiku-4.5",
      messages: [{ role: "user", content: "x".repeat(2 * 1024 * 1024 - 200) }],
    };
    const headers = { authorization: `Bearer ${await otherKey()}` };
    for (const init of [{}, { headers }]) {
      const response = await gateway.post("/api/v1/messages/count_tokens", body, init);
      expect([response.status, await response.json()]).toEqual([200, { input_tokens: 9 }]);
    }
  } finally {
    await gateway.close();
    await double.close();
  }

  async function otherKey(): Promise<string> {
    const issued = await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: "other" });
    return issued.json.key;
  }
});
