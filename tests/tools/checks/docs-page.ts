/** The API reference in a real browser that may speak to nobody else. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { chromium, type Page } from "playwright-core";
import { slugs } from "../../../supabase/local/paths.ts";
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

/** Opens `/docs` once for each function: every operation must be seen, nothing may fail or leave this machine. */
export async function docsPage(
  url: string,
  browserPath: string,
  screenshot: string,
): Promise<StepResult> {
  const browser = await chromium.launch({ executablePath: browserPath, args: quiet });
  const wrong: string[] = [];
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
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
    let passed = 0;
    for (const slug of slugs) {
      const problem = await showsAll(page, url, slug);
      if (problem) wrong.push(problem);
      else passed++;
      if (slug === slugs[0]) {
        mkdirSync(dirname(screenshot), { recursive: true });
        await page.screenshot({ path: screenshot, fullPage: true });
      }
    }
    return { passed, failed: wrong.length, details: wrong };
  } finally {
    await browser.close();
  }
}

async function showsAll(page: Page, url: string, slug: string): Promise<string | undefined> {
  const answer = await fetch(`${url}/functions/v1/${slug}/openapi.json`);
  const document = await answer.json() as {
    info: { title: string };
    paths: Record<string, Record<string, unknown>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  await page.goto(`${url}/docs?urls.primaryName=${slug}`);
  await page.locator(".info .title", { hasText: document.info.title }).waitFor();
  const blocks = page.locator(".opblock-summary:visible");
  // Of a long list the page draws what is near the window: it is read while it is scrolled.
  const seen = new Set<string>();
  const until = Date.now() + 30_000;
  for (;;) {
    const drawn = await blocks.evaluateAll((elements) =>
      elements.map((element) =>
        [".opblock-summary-method", ".opblock-summary-path"].map((part) =>
          (element.querySelector(part)?.textContent ?? "").replace(/\u200b/g, "").trim()
        ).join(" ")
      )
    );
    for (const one of drawn) seen.add(one);
    if (operations.every((operation) => seen.has(operation)) || Date.now() > until) break;
    await page.mouse.wheel(0, 500);
    await page.waitForTimeout(100);
  }
  const unseen = operations.filter((operation) => !seen.has(operation));
  return unseen.length ? `${slug}: not seen: ${unseen.join(", ")}` : undefined;
}
