import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { findChromium, startChromium, type Browser } from "../../../scripts/chromium.ts";
import { folder, start } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const executable = findChromium();

// Skipped, and listed as such, where no Chromium is installed; CHROMIUM names one.
describe.skipIf(executable === undefined)("CHT-6 the page in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(executable ?? "")), 60_000);
  afterAll(() => browser.close());

  async function newContext() {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    return context;
  }

  async function opened(rules: Parameters<typeof start>[1] = []) {
    const started = await start(join(await folder(), "c.db"), rules);
    const context = await newContext();
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(started.url);
    const say = async (text: string): Promise<void> => {
      await page.fill("#said", text);
      await page.press("#said", "Enter");
    };
    const saved = () => page.locator("#status", { hasText: "Saved." }).waitFor();
    const shown = () => page.locator("#messages li").allTextContents();
    return { ...started, page, say, saved, shown, faults };
  }

  test("CHT-6 shows an answer as it comes, what is known, and all of it after a reload", async () => {
    const { page, say, saved, shown, faults } = await opened();
    await say("I live in a lighthouse.");
    await page.locator("#messages li.assistant", { hasText: /^Good to/ }).waitFor();
    await saved();
    const fact = "The user lives in a lighthouse.";
    const answer = `Good to know: ${fact} I will keep it in mind.`;
    expect(await shown()).toEqual(["I live in a lighthouse.", "remember was called", answer]);
    expect(await page.locator("#facts li").allTextContents()).toEqual([fact]);
    await page.reload();
    await expect.poll(shown).toEqual(["I live in a lighthouse.", answer]);
    expect(faults).toEqual([]);
  });

  test("CHT-6 Stop ends the evaluation, and nothing of the turn is saved", async () => {
    const { page, say, simulator, store, shown } = await opened([
      ({ messages }) => (messages.at(-1)?.text === "Slowly" ? { text: "word ".repeat(2_000), eventMs: 20 } : undefined),
    ]);
    await say("Slowly");
    await page.locator("#messages li.assistant", { hasText: "word word word" }).waitFor();
    // Stop is there as long as the answer comes: this one takes half a minute.
    await page.click("#stop");
    await expect.poll(() => simulator.requests.at(-1)?.aborted, { timeout: 120_000 }).toBe(true);
    await expect.poll(shown).toContain("Stopped.");
    expect(await store.list()).toEqual([]);
  });

  test("CHT-5 CHT-6 what a model writes is shown as text: no HTML of it runs", async () => {
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const { page, say, saved, shown } = await opened([() => ({ text: hostile })]);
    await say("Hi.");
    await saved();
    expect((await shown()).at(-1)).toBe(hostile);
    expect([await page.title(), await page.locator("#messages img").count()]).toEqual(["Chat", 0]);
  });

  test("CHT-2 CHT-6 two people in two browsers see their own conversations", async () => {
    const { url, say, saved, page } = await opened();
    await say("I like tea.");
    await saved();
    const other = await (await newContext()).newPage();
    await other.goto(url);
    await other.fill("#said", "What do you know?");
    await other.press("#said", "Enter");
    await other.locator("#status", { hasText: "Saved." }).waitFor();
    expect(await other.locator("#messages li").allTextContents()).toEqual([
      "What do you know?",
      "I know nothing about you yet.",
    ]);
    expect(await other.locator("#conversations li").count()).toBe(1);
    await page.click("#begin");
    await expect.poll(() => page.locator("#messages li").count()).toBe(0);
    expect(await page.locator("#conversations li").count()).toBe(1);
  });
});

test.runIf(executable === undefined)(
  "CHT-6 no Chromium is installed: the page was not tried in a browser",
  (context) => {
    context.skip("install Debian's package chromium, or name one in CHROMIUM");
  },
);
