import { expect } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openPlace } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// What an operator does to a task that waits.

describeInLooks("a task", (next) => {
  const desk = useDesk(next);

  const submit = async (order: string): Promise<Json> => {
    const response = await desk.gateway.post(
      "/api/v1/images/generations",
      { model: "alibaba/qwen-image-2.0", prompt: "A harbour", size: "512*512", async: true },
      { headers: { "x-sandbox": order } },
    );
    expect(response.status).toBe(202);
    return (await response.json()) as Json;
  };
  const held = async (): Promise<number> => (await desk.read(`/accounts/${desk.gateway.accountId}`)).held;

  desk.story("that waits is cancelled after a question, and what was held for it is free", async (opened) => {
    const { page } = opened;
    const task = await submit("pending_ms=3600000");
    expect(await held()).toBeGreaterThan(0);
    await openPlace(page, "Tasks");
    await page.getByRole("region", { name: "Tasks" }).getByRole("link").first().click();
    await page.waitForURL(new RegExp(`/tasks/${task.id}$`));
    await page.getByRole("button", { name: "Cancel task" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel this task?" });
    await opened.picture("dialog-cancel-task");
    expect(await opened.axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await desk.read(`/tasks/${task.id}`)).status).toBe("pending");

    await page.getByRole("button", { name: "Cancel task" }).click();
    await dialog.getByRole("button", { name: "Cancel task" }).click();
    await page.getByText("The task was cancelled. It was not charged.").first().waitFor();
    expect(await desk.read(`/tasks/${task.id}`)).toMatchObject({ status: "cancelled", credit: null });
    expect(await held()).toBe(0);
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Cancel task" }).count()).toBe(0);
  });

  desk.story("that a provider has begun meanwhile is not cancelled, and the page says so", async (opened) => {
    const { page } = opened;
    const task = await submit("pending_ms=1000; running_ms=3600000");
    await page.goto(`${desk.gateway.url}/console/tasks/${task.id}`);
    await page.getByRole("button", { name: "Cancel task" }).click();
    for (let tries = 0; (await desk.read(`/tasks/${task.id}`)).status !== "running"; tries += 1) {
      expect(tries).toBeLessThan(1_000);
      await desk.clock.advance(100);
    }
    const dialog = page.getByRole("dialog", { name: "Cancel this task?" });
    await dialog.getByRole("button", { name: "Cancel task" }).click();
    await dialog.getByRole("alert").getByText("It was not cancelled.").waitFor();
    await opened.picture("dialog-cancel-task-late");
    expect((await desk.read(`/tasks/${task.id}`)).status).toBe("running");
    // The browser logs the 409.
    expect(opened.faults().length).toBe(1);
  });
});
