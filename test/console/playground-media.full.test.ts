import { beforeAll, expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { signIn } from "../gateway/console-client.ts";
import { ADMIN_TOKEN } from "../gateway/gateway.ts";
import { useDesk } from "./desk.ts";
import { openPlace } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// The playground for images and videos, by hand in a browser. The gateway's clock stands still until a test moves it.

const IMAGES = "alibaba/qwen-image-2.0";
const VIDEOS = "bytedance/seedance-2.0-fast";
/** The page asks again every two or three seconds of its own. */
const MOST_STEPS = 300;

describeInLooks("the playground for media", (next) => {
  const desk = useDesk(next);
  let account: Json;
  beforeAll(async () => {
    const { gateway } = desk;
    account = (await gateway.admin("POST", "/accounts", { name: "Trials" })).json;
    await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 500_000, reason: "a test" });
    const operator = await signIn(gateway, ADMIN_TOKEN);
    const choice = { account_id: account.id, budget: null };
    expect((await operator.ask("PUT", "/playground", choice)).status).toBe(200);
  });

  /** Lets the gateway's time pass until the page shows it. */
  const passUntil = async (shown: Locator): Promise<void> => {
    for (let step = 0; step < MOST_STEPS; step += 1) {
      if (await shown.first().isVisible()) return;
      await desk.clock.advance(100);
      await shown
        .first()
        .waitFor({ timeout: 100 })
        .catch(() => undefined);
    }
    throw new Error(`The page does not show ${shown.toString()}.`);
  };
  const openOn = async (page: Page, kind: "images" | "videos", model: string): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/playground/${kind}?model=${model}`);
    await page.getByText(/^Costs/).waitFor();
  };
  const newest = async (model: string): Promise<Json> =>
    (await desk.read(`/requests?account_id=${account.id}&model=${model}`)).data[0];
  const newestTask = async (): Promise<Json> => (await desk.read(`/tasks?account_id=${account.id}`)).data[0];

  desk.story("makes an image at once, for the price that it told before", async (opened) => {
    const { page } = opened;
    await openOn(page, "images", IMAGES);
    expect(await page.getByRole("button", { name: "Make images" }).isDisabled()).toBe(true);
    await page.getByLabel("Prompt").first().fill("A quiet harbour");
    await page.getByLabel("Answer").selectOption({ label: "At once, in one answer" });
    const price = Number(
      ((await page.locator("strong", { hasText: " cr" }).first().textContent()) ?? "").replace(/[^\d.]/g, ""),
    );
    await page.getByRole("button", { name: "Make images" }).click();
    const run = page.getByRole("article", { name: `${IMAGES}: A quiet harbour` });
    await run.getByText("Sent", { exact: true }).waitFor();
    await passUntil(run.getByRole("button", { name: "Open image 1" }));
    expect(await newest(IMAGES)).toMatchObject({ outcome: "completed", credit: price });
    await run.getByText("Sandbox", { exact: true }).waitFor();

    await run.getByRole("button", { name: "Open image 1" }).click();
    const dialog = page.getByRole("dialog", { name: /^Image 1 of/ });
    const image = dialog.getByRole("img", { name: "Result 1" });
    await image.waitFor();
    expect(await page.evaluate("document.querySelector('[role=dialog] img').naturalWidth")).toBeGreaterThan(
      0,
    );
    await opened.picture("dialog-image");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const saved = page.waitForEvent("download");
    await run.getByRole("link", { name: "Download" }).first().click();
    expect((await saved).suggestedFilename()).toMatch(/\.(png|jpe?g|webp)$/);
    await run.getByText("As curl").click();
    await run.getByText(`${desk.gateway.url}/api/v1/images/generations`).waitFor();
  });

  desk.story("makes an image as a task, which goes on while another page is read", async ({ page }) => {
    await openOn(page, "images", IMAGES);
    await page.getByLabel("Prompt").first().fill("A red kite");
    await page.keyboard.press("Control+Enter");
    const run = page.getByRole("article", { name: `${IMAGES}: A red kite` });
    await run.locator('[aria-current="step"]', { hasText: "Pending" }).waitFor();
    const task = await newestTask();
    expect(task).toMatchObject({ kind: "image", status: "pending" });
    await openPlace(page, "Tasks");
    const rowOfTask = page.getByRole("row").filter({ has: page.getByTitle(task.id) });
    await passUntil(rowOfTask.getByText("Completed"));
    await openPlace(page, "Playground");
    await page.getByRole("navigation", { name: "Playground" }).getByRole("link", { name: "Images" }).click();
    await run.getByRole("button", { name: "Open image 1" }).waitFor();
    await run.getByRole("link", { name: task.id }).click();
    await page.waitForURL(new RegExp(`/tasks/${task.id}$`));
    await page.getByRole("img", { name: "Output 1" }).waitFor();
    expect(await desk.read(`/tasks/${task.id}`)).toMatchObject({ status: "completed" });
  });

  desk.story("cancels a video that waits, which costs nothing", async ({ page }) => {
    const before = (await desk.read(`/accounts/${account.id}`)).balance;
    await openOn(page, "videos", VIDEOS);
    await page.getByLabel("Prompt").first().fill("Waves on a beach");
    await page.getByRole("button", { name: "Make a video" }).click();
    const run = page.getByRole("article", { name: `${VIDEOS}: Waves on a beach` });
    await run.getByRole("button", { name: "Cancel" }).click();
    await run.getByText("Cancelled", { exact: true }).waitFor();
    expect((await newestTask()).status).toBe("cancelled");
    expect(await desk.read(`/accounts/${account.id}`)).toMatchObject({ balance: before, held: 0 });
    // What was asked for is there again at a click.
    await page.getByLabel("Prompt").first().fill("");
    await run.getByRole("button", { name: "Use again" }).click();
    expect(await page.getByLabel("Prompt").first().inputValue()).toBe("Waves on a beach");
  });

  desk.story("shows the states of a video, plays it and says what it cost", async (opened) => {
    const { page } = opened;
    await openOn(page, "videos", VIDEOS);
    await page.getByLabel("Prompt").first().fill("A train");
    await page.getByLabel("resolution").selectOption("480p");
    await page.getByRole("button", { name: "Make a video" }).click();
    const run = page.getByRole("article", { name: `${VIDEOS}: A train` });
    await run.locator('[aria-current="step"]', { hasText: "Pending" }).waitFor();
    await passUntil(run.locator('[aria-current="step"]', { hasText: "Running" }));
    expect(await run.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    await opened.picture("playground-video-running");
    await passUntil(run.getByLabel("Result 1"));
    const seconds = await page.evaluate<number>(`new Promise((resolve) => {
      const video = document.querySelector("video");
      const tell = () => resolve(video.duration);
      if (video.readyState >= 1) tell();
      else video.addEventListener("loadedmetadata", tell, { once: true });
    })`);
    expect(seconds).toBeGreaterThan(0);
    const row = await newest(VIDEOS);
    expect(row.outcome).toBe("completed");
    expect(row.credit).toBeGreaterThan(0);
    await run.getByText(/cr · <?\$/).waitFor();
  });

  desk.story("takes references by drop and by link, and refuses what is none", async (opened) => {
    const { page } = opened;
    await openOn(page, "images", IMAGES);
    const slot = page.getByRole("group", { name: /^Images to start from/ });
    const dot =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const dropped = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob("${dot}"), (char) => char.charCodeAt(0));
      transfer.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      transfer.items.add(new File(["x"], "note.txt", { type: "text/plain" }));
      return transfer;
    })()`);
    await slot.dispatchEvent("drop", { dataTransfer: dropped });
    await slot.getByText("dot.png").waitFor();
    await slot.getByText("This takes image files.").waitFor();
    await slot.getByRole("textbox").fill("ftp://example.com/a.png");
    await page.keyboard.press("Enter");
    await slot.getByText("A link begins with https:// or http://.").waitFor();
    await page.getByLabel("Prompt").first().fill("The same in blue");
    // A link that is still typed is not left out in silence.
    await page.getByText(/^Add the link under/).waitFor();
    await slot.getByRole("textbox").fill("");
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "Make images" }).click();
    expect((await sent).postDataJSON().image).toEqual([`data:image/png;base64,${dot}`]);
    await slot.getByRole("button", { name: "Remove dot.png" }).click();
    expect(await slot.getByText("dot.png").count()).toBe(0);
    await passUntil(page.getByRole("article").getByText(/^(Completed|Failed)$/));
  });
});

describeInLooks("a first video", (next) => {
  const desk = useDesk(next);

  /** The cheapest and the dearest video that the sandbox makes of nothing but a prompt. */
  const FIRST = ["alibaba/wan-2.6", "bytedance/seedance-2.0"];

  desk.story("is within the budget that the playground offers, whichever model is chosen", async (opened) => {
    const { page } = opened;
    await page.goto(`${desk.gateway.url}/console/playground/videos`);
    await page.getByText("What its calls may spend in all ($1.00)").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/of 10,000.00 cr spent/).waitFor();
    for (const model of FIRST) {
      await page.getByLabel("Model").selectOption(model);
      await page.getByLabel("Prompt").first().fill("A harbour");
      await page.getByText(/^Costs/).waitFor();
      await page.getByRole("button", { name: "Make a video" }).click();
      const run = page.getByRole("article", { name: `${model}: A harbour` });
      await run.getByRole("button", { name: "Cancel" }).click();
      await run.getByText("Cancelled", { exact: true }).waitFor();
    }
    expect((await desk.read("/tasks")).data.map(({ status }: Json) => status)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });

  desk.story("that costs more than the budget has left says so before it is sent", async (opened) => {
    const { page } = opened;
    const operator = await signIn(desk.gateway, ADMIN_TOKEN);
    const choice = { account_id: desk.gateway.accountId, budget: 1_000 };
    expect((await operator.ask("PUT", "/playground", choice)).status).toBe(200);
    await page.goto(`${desk.gateway.url}/console/playground/videos?model=${FIRST[0]}`);
    await page.getByText("The playground's budget has 1,000.00 cr · $0.10 left.").waitFor();
    await opened.picture("playground-video-budget");
    await page.getByRole("link", { name: "Raise it" }).click();
    await page.getByLabel("Budget, credits").waitFor();
  });
});
