import { openChromium, openPage, signIn } from "../test/console/browser.ts";
import { startGateway } from "./gateway.ts";
import { mkdtempSync } from "node:fs";
const what = process.argv[2] ?? "overview";
const gateway = await startGateway({ folder: mkdtempSync("/tmp/zz-"), upstreamUrl: "http://127.0.0.1:9", on: [], home: "/tmp/fill" });
const browser = await openChromium();
try {
  const opened = await openPage(browser, { theme: "light", width: 1440 });
  const { page } = opened;
  await signIn(opened, gateway.url, gateway.token);
  const READ = () => !document.querySelector('main [class*="skeleton"], main [class*="busy"]') && document.querySelectorAll("main figure canvas").length > 2;
  for (let i = 0; i < 8; i++) {
    await page.goto(`${gateway.url}/console/settings`);
    await page.waitForTimeout(500);
    const place = page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Overview" });
    if (what === "year") { await place.click(); await page.waitForTimeout(1500); }
    const last = i >= 4;
    if (last) await browser.startTracing(page, { categories: ["devtools.timeline","v8.execute","blink.user_timing","disabled-by-default-devtools.timeline","loading", "disabled-by-default-v8.cpu_profiler"] });
    await page.evaluate(() => { addEventListener("click", (e) => { performance.mark("input"); }, {capture:true, once:true}); addEventListener("change", (e) => { performance.mark("input"); }, {capture:true, once:true}); });
    await (what === "year" ? page.getByLabel("Range of time").selectOption("1y") : place.click());
    await page.waitForTimeout(1000);
    if (last) {
      const buf = await browser.stopTracing();
      await Bun.write(`/tmp/trace-${what}-${i}.json`, buf);
    }
  }
} finally { await browser.close(); await gateway.stop(); }
