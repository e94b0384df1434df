/** The API reference in a real browser that may speak to nobody else. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import type { StepResult } from "./steps.ts";

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-domain-reliability",
  "--disable-sync",
  "--no-first-run",
  "--no-pings",
  "--metrics-recording-only",
];

/** A phone, a laptop and a large screen at night. */
const screens = [
  { width: 390, height: 844, colorScheme: "light" },
  { width: 1280, height: 1000, colorScheme: "light" },
  { width: 1920, height: 1080, colorScheme: "dark" },
] as const;

const drawnMs = 60_000;

/**
 * Opens `/docs` and `/docs/codes` at each width: nothing is wider than the screen, fails, or is asked of another host. On one screen
 * it works as a developer does: finds a call, signs in as a demo account, sends it. Leaves pictures in `pictures`.
 */
export async function docsPage(
  url: string,
  browserPath: string,
  pictures: string,
): Promise<StepResult> {
  const browser = await chromium.launch({ executablePath: browserPath, args: quiet });
  const wrong: string[] = [];
  let passed = 0;
  const check = async (name: string, problem: Promise<string | undefined>) => {
    const text = await problem.catch((error: Error) => error.message.split("\n")[0]);
    if (text) wrong.push(`${name}: ${text}`);
    else passed++;
  };
  try {
    mkdirSync(pictures, { recursive: true });
    for (const screen of screens) {
      const page = await watchedPage(browser, url, screen, wrong);
      await check(`reference at ${screen.width}`, fits(page, `${url}/docs`, "#api h1"));
      await page.screenshot({ path: join(pictures, `api-reference-${screen.width}.png`) });
      if (screen.width === 1280) {
        await check("groups", showsEveryGroup(page, url));
        await check("search", findsACall(page));
        await check("a call as a demo account", sendsACall(page));
        await page.screenshot({ path: join(pictures, "api-reference-call.png") });
      }
      await check(`codes at ${screen.width}`, fits(page, `${url}/docs/codes`, "tbody tr"));
      await page.screenshot({ path: join(pictures, `api-codes-${screen.width}.png`) });
      await page.close();
    }
    return { passed, failed: wrong.length, details: wrong };
  } finally {
    await browser.close();
  }
}

async function watchedPage(
  browser: Browser,
  url: string,
  { width, height, colorScheme }: (typeof screens)[number],
  wrong: string[],
): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`page: ${error.message}`));
  page.on("requestfailed", (request) => wrong.push(`not loaded: ${request.url()}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== url) {
      wrong.push(`asked another host: ${request.url()}`);
    }
  });
  return page;
}

async function fits(page: Page, address: string, drawn: string): Promise<string | undefined> {
  await page.goto(address);
  await page.locator(drawn).first().waitFor({ timeout: drawnMs });
  const [wide, screen] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    innerWidth,
  ]);
  return wide! > screen! ? `${wide} px wide on a screen of ${screen}` : undefined;
}

/** Every group of calls is in the side bar. */
async function showsEveryGroup(page: Page, url: string): Promise<string | undefined> {
  const document = await (await fetch(`${url}/docs/reference.json`)).json() as {
    tags: { "x-displayName": string }[];
  };
  const shown = await page.locator("#api aside").first().innerText();
  const unseen = document.tags.map((tag) => tag["x-displayName"]).filter((name) =>
    !shown.includes(name)
  );
  return unseen.length ? `not in the side bar: ${unseen.join(", ")}` : undefined;
}

async function findsACall(page: Page): Promise<string | undefined> {
  await page.keyboard.press("Control+k");
  await page.keyboard.type("cod-collections/remit");
  await page.getByText("/delivery/cod-collections/remit").first().waitFor();
  await page.keyboard.press("Escape");
  return undefined;
}

async function sendsACall(page: Page): Promise<string | undefined> {
  await page.selectOption("#account", "dispatcher@demo.test");
  await page.locator("#signed-in", { hasText: "signed in" }).waitFor();
  await page.evaluate(() => location.hash = "#tag/delivery-cod-summary");
  await page.locator("#api button", { hasText: "Test Request(get /delivery/cod-summary)" }).click();
  await page.locator("button", { hasText: /^Send/ }).first().click();
  await page.getByText("200 OK").waitFor();
  return undefined;
}
