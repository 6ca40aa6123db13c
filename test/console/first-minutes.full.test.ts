import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Locator } from "playwright-core";
import { greeted, useGatewayProcesses } from "../gateway/processes.ts";
import { openChromium, openPage, signIn } from "./browser.ts";
import { describeInLooks, named } from "./looks.ts";

// The first minutes of a reader who has started the gateway, and knows no more than what it printed. The reader gets a
// key with a budget, a call, an answer, an image, and what these cost. The test counts the steps. At ten seconds each,
// which is slow for a press or a line of text, they take less than three minutes. The seconds of the machine are
// printed; no test depends on them.

/** What a reader presses and writes after the sign-in. */
const STEPS = 13;
const SLOW_STEP_SEC = 10;

const processes = useGatewayProcesses();
let browser: Browser;
beforeAll(async () => void (browser = await openChromium()));
afterAll(() => browser.close());

describeInLooks("the first minutes", (next) => {
  const look = next();
  test(`lead from the greeting to a key with a budget, a call, an image, and what it cost (${named(look)})`, async () => {
    const gateway = processes.start({ SWITCHYARD_SANDBOX: "on" });
    const url = await greeted(gateway);
    const began = performance.now();
    const times: string[] = [];
    const done = (what: string): void =>
      void times.push(`${what} ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    let steps = 0;
    const press = (what: Locator): Promise<void> => {
      steps += 1;
      return what.click();
    };
    const write = (where: Locator, text: string): Promise<void> => {
      steps += 1;
      return where.fill(text);
    };
    const [, token = ""] = /Admin token \(shown once\): (\S+)/.exec(gateway.output()) ?? [];

    const opened = await openPage(browser, look);
    const { page } = opened;
    await signIn(opened, url, token);
    opened.faults();
    // Nobody looked for it: an unused gateway leads there by itself.
    await page.getByRole("heading", { level: 1, name: "Make a first call" }).waitFor();
    await write(page.getByLabel("Name of the key"), "trial");
    await write(page.getByLabel(/^Budget in credits/), "2000");
    await press(page.getByRole("button", { name: "Create a key" }));
    await page.getByText("This is the only time that its text is shown.").waitFor();
    const copied = async (name: string, text: RegExp): Promise<string> => {
      await press(page.getByRole("button", { name }));
      const isCopied = `navigator.clipboard.readText().then((text) => ${text}.test(text) && text)`;
      return String(await (await page.waitForFunction(isCopied)).jsonValue());
    };
    const line = await copied("Copy line for a shell", /^export/);
    done("key");

    const call = await copied("Copy the call", /^curl/);
    const shell = Bun.spawn(["bash", "-c", `${line}\n${call}`], { stdout: "pipe", stderr: "ignore" });
    expect(JSON.parse(await new Response(shell.stdout).text())).toMatchObject({
      object: "chat.completion",
    });
    await page.getByRole("status").getByText("Completed").waitFor();
    done("first call");

    await press(page.getByRole("link", { name: "Try it here" }));
    await press(page.getByRole("button", { name: "Save" }));
    await write(page.getByLabel("Message"), "What is a switchyard?");
    await press(page.getByRole("button", { name: "Send" }));
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    done("answer");

    await press(page.getByRole("link", { name: "Images" }));
    // The page of texts, which is left, has a field "System prompt".
    await page.getByRole("button", { name: "Make images" }).waitFor();
    await write(page.getByLabel("Prompt").first(), "A quiet harbour");
    await page.getByText(/^Costs/).waitFor();
    const price = (await page.locator("strong", { hasText: " cr" }).first().textContent()) ?? "";
    await press(page.getByRole("button", { name: "Make images" }));
    await page.getByRole("button", { name: "Open image 1" }).waitFor();
    done("image");

    await press(page.getByRole("article").getByRole("link", { name: /^req_/ }).first());
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
    const charge = page.getByRole("region", { name: "Charge", exact: true });
    await charge.getByText(price.replace(" cr", "")).first().waitFor();
    done("what it cost");
    await opened.picture("first-minutes");
    console.log(`first minutes, ${named(look)}: ${times.join(", ")}; ${steps} steps of the reader`);
    expect(steps * SLOW_STEP_SEC).toBeLessThan(3 * 60);
    expect(steps).toBe(STEPS);
    expect(opened.faults()).toEqual([]);
    await opened.close();
  }, 300_000);
});
