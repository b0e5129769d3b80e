/** Opens a page in a headless browser, evaluates an expression there and prints its value. Run by Node. */

import { pathToFileURL } from "node:url";

const { PUPPETEER, CHROMIUM, PAGE, EXPRESSION } = process.env;
const { default: puppeteer } = await import(pathToFileURL(PUPPETEER).href);
const browser = await puppeteer.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
  const tab = await browser.newPage();
  tab.on("console", (message) => console.error(`browser: ${message.text()}`));
  tab.on("pageerror", (error) => console.error(`browser: ${error}`));
  await tab.goto(PAGE);
  console.log(JSON.stringify(await tab.evaluate(EXPRESSION)));
} finally {
  await browser.close();
}
