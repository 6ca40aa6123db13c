// `node browse.mjs <chromium> <url>`: opens a page in Chromium and prints as JSON what its promise `result` comes to.
import { chromium } from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
if (executablePath === undefined || url === undefined) throw new Error("usage: browse.mjs <chromium> <url>");
// Whoever runs the tests as root has no sandbox to run Chromium in; the pages are the tests' own.
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage"],
});
try {
  const page = await browser.newPage();
  await page.goto(url);
  console.log(JSON.stringify(await page.evaluate("result")));
} finally {
  await browser.close();
}
