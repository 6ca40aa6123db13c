import { afterAll, beforeAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { useDesk } from "./desk.ts";
import { openRequest } from "./hands.ts";
import { describeInLooks } from "./looks.ts";

// The playground for text, by hand in a browser. Where the pace of an answer counts, a double stands for OpenAI.

const LUNA = "openai/gpt-5.6-luna";
const SANDBOXED = "anthropic/claude-haiku-4.5";

describeInLooks("the playground for text", (next) => {
  let double: UpstreamDouble;
  beforeAll(async () => void (double = await startUpstreamDouble()));
  afterAll(() => double.close());
  const desk = useDesk(next, () => ({ openai: `${double.url}/v1` }));
  let account: Json;
  beforeAll(async () => {
    account = (await desk.gateway.admin("POST", "/accounts", { name: "Trials" })).json;
    await desk.gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 50_000, reason: "a test" });
  });

  const rows = async (): Promise<readonly Json[]> =>
    (await desk.read(`/requests?account_id=${account.id}`)).data;
  const openOn = async (page: Page, search = `?model=${SANDBOXED}`): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/playground${search}`);
    await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor();
  };
  const say = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel("Message").fill(text);
    await page.keyboard.press("Enter");
  };

  desk.story("asks first what it is charged to, then answers and says what that cost", async (opened) => {
    const { page } = opened;
    await openOn(page);
    await page.getByLabel("Message").fill("Hello there");
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    const charged = page.getByRole("region", { name: "What runs are charged to" });
    await charged.getByLabel("Account").selectOption({ label: "Trials" });
    await charged.getByRole("button", { name: "Save" }).click();
    await charged.waitFor({ state: "detached" });
    await page.getByLabel("Message").press("Enter");
    const answer = page.getByRole("article");
    await answer.getByText(/no model was asked\. You said: "Hello there"/).waitFor();
    await answer.getByText("Sandbox", { exact: true }).waitFor();
    await answer.getByText(/cr · <?\$/).waitFor();
    const [row] = await rows();
    expect(row).toMatchObject({ model: SANDBOXED, outcome: "completed", provider: "sandbox" });
    await answer.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
    expect(page.url()).toEndWith(`/requests/${row.id}`);
  });

  desk.story("streams: text stands there before the answer has ended, and Stop ends it", async (opened) => {
    const { page } = opened;
    const gate = createGate();
    const bytes = chatStream({ words: ["Once ", "upon ", "a time."] });
    double.handle(() => gateAt(sseAnswer(bytes), afterEvent(bytes, 3), gate));
    await openOn(page, `?model=${LUNA}`);
    await say(page, "Tell me a story");
    const answer = page.getByRole("article");
    await answer.getByText("Once upon").waitFor();
    await answer.getByText("Answering").waitFor();
    expect(await answer.getByText("a time.").count()).toBe(0);
    await page.getByRole("button", { name: "Stop" }).click();
    await answer.getByText("Stopped", { exact: true }).waitFor();
    // The gateway hangs up before the rest of the answer could come.
    await double.waitForRequest(1).then((request) => double.waitForOutcome(request));
    gate.release();
    await desk.gateway.settled();
    for (let tries = 0; (await rows())[0]?.outcome !== "client_gone"; tries += 1)
      expect(tries).toBeLessThan(200);
    // Once more, whole.
    double.handle(() => sseAnswer(bytes));
    await page.getByRole("button", { name: "Regenerate" }).click();
    await answer.getByText("Once upon a time.").waitFor();
    await answer.getByText(/cr · <?\$/).waitFor();
    expect((await rows()).slice(0, 1)).toMatchObject([{ model: LUNA, outcome: "completed" }]);
  });

  desk.story("calls a tool, whose result the reader writes", async (opened) => {
    const { page } = opened;
    await openOn(page);
    const request = await openRequest(page);
    await request.locator("summary", { hasText: "Tools" }).click();
    await request.getByRole("button", { name: "Put in an example" }).click();
    await say(page, "What is the weather in Oslo?");
    await page.getByText("Calls weather").waitFor();
    await page.getByLabel("Result of weather").fill('{"sky": "a green moon"}');
    await opened.picture("playground-tool");
    await page.getByRole("button", { name: "Send the result" }).click();
    await page.getByText(/A tool answered: "\{"sky": "a green moon"\}"/).waitFor();
    await page.getByText("Result of the tool").waitFor();

    await request.getByLabel("Functions, as JSON").fill("[{");
    await page.getByLabel("Message").fill("more");
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await page.getByText("The tools are no valid list.").waitFor();
  });

  desk.story("asks two models at once, side by side", async (opened) => {
    const { page } = opened;
    double.handle(() => sseAnswer(chatStream({ words: ["From the double."] })));
    await openOn(page);
    await page.getByRole("button", { name: "Compare two" }).click();
    await page.getByLabel("Beside it").selectOption(LUNA);
    await page.waitForURL(/model2=openai/);
    await say(page, "Who are you?");
    for (const [name, text] of [
      ["First model", "sandbox in place of"],
      ["Second model", "From the double."],
    ] as const) {
      const lane = page.getByRole("region", { name });
      await lane.getByText(text).waitFor();
      await lane.getByText(/cr · <?\$/).waitFor();
    }
    await opened.picture("playground-two");
    const models = (await rows()).slice(0, 2).map(({ model }) => model);
    expect(new Set(models)).toEqual(new Set([SANDBOXED, LUNA]));
    await page.getByRole("button", { name: "One model" }).click();
    expect(await page.getByRole("region", { name: "Second model" }).count()).toBe(0);
  });

  desk.story("sends files, parameters and the form of the answer along", async ({ page }) => {
    await openOn(page);
    const request = await openRequest(page);
    await request.getByLabel("System prompt").fill("Be brief.");
    await request.locator("summary", { hasText: "Answer" }).click();
    await request.getByLabel("The answer is").selectOption({ label: "JSON by a schema" });
    await request.getByLabel("max_tokens").first().fill("400");
    await page
      .getByLabel("Files", { exact: true })
      .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Milk and bread") });
    await page.getByRole("list", { name: "Files that go along" }).getByText("notes.txt").waitFor();
    const sent = page.waitForRequest((each) => each.url().endsWith("/play/chat/completions"));
    await say(page, "What is on the list?");
    const body: Json = (await sent).postDataJSON();
    expect(body).toMatchObject({ model: SANDBOXED, stream: true, max_tokens: 400 });
    expect(body.messages[0]).toEqual({ role: "system", content: "Be brief." });
    expect(JSON.stringify(body.messages[1])).toContain("Milk and bread");
    expect(body.response_format.type).toBe("json_schema");
    await page
      .getByRole("article")
      .getByText(/"title"/)
      .waitFor();
  });

  desk.story("gives the call to copy, which answers elsewhere, as curl and for each SDK", async (opened) => {
    const { page } = opened;
    await openOn(page);
    await say(page, "It's “quoted” $HOME\nand `more`");
    await page.getByRole("button", { name: "Code" }).click();
    const dialog = page.getByRole("dialog", { name: "Request, response and code" });
    const copied = async (): Promise<string> => {
      await dialog.getByRole("button", { name: "Copy call" }).click();
      await dialog.getByRole("button", { name: "Copied" }).waitFor();
      return page.evaluate("navigator.clipboard.readText()");
    };
    const call = await copied();
    expect(await opened.axe()).toEqual([]);
    await opened.picture("dialog-call");
    // A shell runs it as it is.
    const shell = Bun.spawn(["bash", "-c", `curl() { command curl -sS "$@"; }; ${call}`], {
      env: { ...process.env, SWITCHYARD_KEY: desk.gateway.key },
      stdout: "pipe",
    });
    const said = await new Response(shell.stdout).text();
    expect(await shell.exited).toBe(0);
    expect(said).toContain("sandbox");
    const own = (await desk.read(`/requests?key_id=${desk.gateway.keyId}`)).data;
    expect(own.map(({ model, outcome }: Json) => [model, outcome])).toEqual([[SANDBOXED, "completed"]]);

    await dialog.getByLabel("Written in").selectOption({ label: "Python" });
    const seen = new Set<string>();
    const formats = await dialog.getByLabel("Format").locator("option").allTextContents();
    for (const label of formats) {
      await dialog.getByLabel("Format").selectOption({ label });
      const code = (await dialog.getByRole("region", { name: "The call" }).textContent()) ?? "";
      expect(code).toContain(desk.gateway.url);
      seen.add(code);
    }
    expect(seen.size).toBe(formats.length);
    await dialog.getByRole("tab", { name: "Request" }).click();
    await dialog.getByText('"messages"').waitFor();
    await dialog.getByRole("tab", { name: "Response" }).click();
    await dialog
      .getByText(/^data: \{/)
      .first()
      .waitFor();
  });

  desk.story("tells what went wrong with its field and request id, and tries again", async (opened) => {
    const { page } = opened;
    await openOn(page, `?model=${LUNA}`);
    double.handle(() => ({ status: 500, body: '{"error":{"message":"It broke."}}' }));
    await say(page, "Hello");
    const alert = page.getByRole("article").getByRole("alert");
    await alert.waitFor();
    await opened.picture("playground-failed");
    expect(await page.getByRole("article").getByRole("button", { name: "Copy request id" }).count()).toBe(1);
    // The browser logs the refusal.
    expect(opened.faults().length).toBe(1);
    double.handle(() => sseAnswer(chatStream({ words: ["Well again."] })));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Well again.").waitFor();
    expect(await alert.count()).toBe(0);
  });

  desk.story("folds what the model thought, which a click opens", async (opened) => {
    const { page } = opened;
    const thought = Array.from({ length: 60 }, (_, at) => `Step ${at} of a long thought.\n\n`);
    double.handle(() => sseAnswer(chatStream({ words: ["Forty-two."], reasoning: thought })));
    await openOn(page, `?model=${LUNA}`);
    await say(page, "Think hard");
    const answer = page.getByRole("article");
    await answer.getByText("Forty-two.").waitFor();
    await answer.getByText(/cr · <?\$/).waitFor();
    const last = answer.getByText("Step 59 of a long thought.");
    expect(await last.isVisible()).toBe(false);
    await opened.picture("playground-thinking");
    const fold = answer.locator("summary", { hasText: "Thinking" });
    await fold.click();
    await last.waitFor();
    expect(await answer.getByText("Step 0 of a long thought.").isVisible()).toBe(true);
    await opened.picture("playground-thinking-open");
    await fold.click();
    await last.waitFor({ state: "hidden" });
  });

  desk.story("begins with the model that the first call names", async ({ page }) => {
    await page.goto(`${desk.gateway.url}/console/welcome`);
    const named = await page.getByLabel("Model", { exact: true }).inputValue();
    await openOn(page, "");
    const picker = page.getByRole("region", { name: "First model" });
    expect(await picker.getByLabel("Model", { exact: true }).inputValue()).toBe(named);
    expect(named).toBe(LUNA);
  });
});
