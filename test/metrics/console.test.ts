import { expect, test } from "bun:test";
import { signIn } from "../gateway/console-client.ts";
import { ADMIN_TOKEN, startGateway } from "../gateway/gateway.ts";
import { readSamples, scrape, those } from "./samples.ts";

test("what the console calls has its own endpoint, of the route table alone", async () => {
  const gateway = await startGateway();
  const { send } = await signIn(gateway, ADMIN_TOKEN);
  for (const path of ["/keys?limit=1", `/keys/${gateway.keyId}`, "/no-such-path", "/no-such-path-2"])
    await (await send("GET", path)).text();
  const names = Object.keys(those(readSamples(await scrape(gateway)), "switchyard_requests_total"));
  const endpoints = names.map((name) => /endpoint="([^"]*)"/.exec(name)?.[1]);
  expect(endpoints).toContain("/console/api/keys");
  expect(endpoints).toContain("/console/api/keys/{id}");
  expect(endpoints.filter((endpoint) => endpoint?.includes("no-such"))).toEqual([]);
  expect(endpoints).toContain("other");
  await gateway.close();
});
