import { afterAll, beforeAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import { signIn } from "../gateway/console-client.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { ConsolePage } from "./browser.ts";
import { useDesk } from "./desk.ts";
import { openRequest } from "./hands.ts";
import { describeInLooks } from "./looks.ts";
import { HOSTILE, LOOK_FOR_TRACES } from "./hostile-text.ts";

// Texts of models, providers and files stand on the screens as they are, and do nothing (catalogue, S28).

const MODEL = "evil/model";
const IMAGES = "openai/gpt-image-2";
const ALL = HOSTILE.join("\n");

describeInLooks("a hostile text", (next) => {
  let double: UpstreamDouble;
  let chat: () => Answer;
  beforeAll(async () => {
    double = await startUpstreamDouble();
    double.handle((request) =>
      request.target.includes("/images/")
        ? jsonAnswer(400, { error: { message: ALL, type: "invalid_request_error", code: ALL, param: ALL } })
        : chat(),
    );
  });
  afterAll(() => double.close());
  const desk = useDesk(next, () => ({
    openai: `${double.url}/v1`,
    settings: JSON.stringify({
      providers: {
        evil: {
          base_url: `${double.url}/v1`,
          models: [{ id: MODEL, thinking: { efforts: ["low"] }, prices: { input: 1, output: 1 } }],
        },
      },
    }),
  }));
  beforeAll(async () => {
    const operator = await signIn(desk.gateway, ADMIN_TOKEN);
    const choice = { account_id: desk.gateway.accountId, budget: null };
    expect((await operator.ask("PUT", "/playground", choice)).status).toBe(200);
  });

  const expectInert = async (
    { page, faults }: ConsolePage,
    expected: readonly string[] = [],
  ): Promise<void> => {
    expect(await page.evaluate(LOOK_FOR_TRACES)).toEqual([]);
    expect(faults()).toEqual([...expected]);
  };
  const missing = async (page: Page): Promise<readonly string[]> => {
    const text: string = await page.evaluate("document.body.textContent");
    return HOSTILE.filter((each) => !text.includes(each));
  };
  const openOn = async (page: Page, path: string): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
  };
  const say = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel("Message").fill(text);
    await page.keyboard.press("Enter");
  };
  const failed = (status: number, words: string): string =>
    `console: Failed to load resource: the server responded with a status of ${status} (${words})`;

  desk.story(
    "that a model says, thinks or calls with is drawn as it is, also raw and as code",
    async (opened) => {
      const { page } = opened;
      const toolCalls = HOSTILE.map((text, at) => ({
        id: `call_${at}`,
        name: "weather",
        arguments: [JSON.stringify({ city: text })],
      }));
      const paragraphs = HOSTILE.map((text) => `${text}\n\n`);
      chat = () => sseAnswer(chatStream({ words: paragraphs, reasoning: paragraphs, toolCalls }));
      await openOn(page, `playground?model=${MODEL}`);
      const request = await openRequest(page);
      await request.getByLabel("System prompt").fill(ALL);
      await request.locator("summary", { hasText: "Tools" }).click();
      await request.getByRole("button", { name: "Put in an example" }).click();
      await say(page, ALL);
      await page.getByRole("button", { name: "Send the results" }).waitFor();
      const answer = page.getByRole("article");
      await answer.locator("summary", { hasText: "Thinking" }).click();
      // What Markdown gives no meaning to stands there letter by letter.
      const plain = HOSTILE.filter((text) => !/[`*_[\]&]|https?:|^[=#+-]/.test(text));
      expect(plain.length).toBeGreaterThan(25);
      for (const part of [answer.locator("details").first(), answer]) {
        const text = (await part.textContent()) ?? "";
        expect(plain.filter((each) => !text.includes(each))).toEqual([]);
      }
      const called = (await answer.locator("pre").allTextContents()).map((text) => JSON.parse(text).city);
      expect(called).toEqual([...HOSTILE]);
      await opened.picture("hostile-answer");
      await expectInert(opened);
      await answer.getByRole("button", { name: "Code" }).click();
      const dialog = page.getByRole("dialog", { name: "Request, response and code" });
      for (const tab of ["Call it", "Request", "Response"]) {
        await dialog.getByRole("tab", { name: tab }).click();
        await dialog.getByRole("button", { name: "Copy" }).last().waitFor();
        await expectInert(opened);
      }
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      // Results that the reader writes.
      await page.getByLabel("Result of weather").first().fill(ALL);
      await page.getByRole("button", { name: "Send the results" }).click();
      await page.getByText("Result of the tool").first().waitFor();
      await expectInert(opened);
    },
  );

  desk.story("that a provider answers an error with is drawn as it is", async (opened) => {
    const { page } = opened;
    chat = () => jsonAnswer(400, { error: { message: ALL, type: ALL, code: ALL, param: ALL } });
    await openOn(page, `playground?model=${MODEL}`);
    await say(page, "Hello");
    const alert = page.getByRole("article").getByRole("alert");
    await alert.waitFor();
    await opened.picture("hostile-error");
    await expectInert(opened, [failed(400, "Bad Request")]);
    // And in the middle of a stream.
    const events = [`data: {"choices":[{"index":0,"delta":{"content":"Well"}}]}\n\n`];
    events.push(`data: ${JSON.stringify({ error: { message: ALL, type: ALL, code: ALL } })}\n\n`);
    chat = () => sseAnswer(new TextEncoder().encode(events.join("")));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Well", { exact: true }).waitFor();
    await alert.waitFor();
    await expectInert(opened);
  });

  desk.story(
    "that a task has failed with is drawn as it is, in the playground and on its page",
    async (opened) => {
      const { page } = opened;
      await openOn(page, `playground/images?model=${IMAGES}`);
      await page.getByText(/^Costs/).waitFor();
      await page.getByLabel("Prompt").first().fill(ALL);
      await page.getByRole("button", { name: "Make images" }).click();
      const run = page.getByRole("article");
      for (let tries = 0; !(await run.getByText("Failed", { exact: true }).isVisible()); tries += 1) {
        expect(tries).toBeLessThan(300);
        await desk.clock.advance(500);
        await run
          .getByText("Failed", { exact: true })
          .waitFor({ timeout: 100 })
          .catch(() => undefined);
      }
      expect(await missing(page)).toEqual([]);
      for (const title of ["Request", "As curl"])
        await run.locator("summary", { hasText: title }).first().click();
      await run.locator("summary", { hasText: "Response" }).click();
      await run.getByText("image_generation.task").first().waitFor();
      await opened.picture("hostile-image");
      await expectInert(opened);
      const [task]: Json[] = (await desk.read("/tasks")).data;
      expect(task.status).toBe("failed");
      await openOn(page, `tasks/${task.id}`);
      await page.getByRole("region", { name: "What happened" }).waitFor();
      await expectInert(opened);
      await openOn(page, `requests/${task.request_id}`);
      await page.getByRole("region", { name: "What happened" }).waitFor();
      await expectInert(opened);
    },
  );

  desk.story("that names a file is drawn as it is, beside the message and beside a job", async (opened) => {
    const { page } = opened;
    chat = () => sseAnswer(chatStream({ words: ["Thank you."] }));
    await openOn(page, `playground?model=${MODEL}`);
    const files = HOSTILE.map((name) => ({ name, mimeType: "text/plain", buffer: Buffer.from(name) }));
    await page.getByLabel("Files", { exact: true }).setInputFiles(files);
    const list = page.getByRole("list", { name: "Files that go along" });
    await list
      .getByRole("listitem")
      .nth(HOSTILE.length - 1)
      .waitFor();
    await expectInert(opened);
    await say(page, "Read these");
    await page.getByText("Thank you.").waitFor();
    expect(await missing(page)).toEqual([]);
    await expectInert(opened);

    await openOn(page, "playground/images?model=alibaba/qwen-image-2.0");
    const slot = page.getByRole("group", { name: /^Images to start from/ });
    const svg = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`);
    const images = HOSTILE.slice(8, 11).map((name) => ({ name, mimeType: "image/svg+xml", buffer: svg }));
    await slot.locator('input[type="file"]').setInputFiles(images);
    await slot.getByRole("listitem").nth(2).waitFor();
    await expectInert(opened);
  });
});
