import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { findChromium, startChromium, type Browser } from "../../../scripts/chromium.ts";
import { newFile, start } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const executable = findChromium();

// Skipped, and listed as such, where no Chromium is installed; CHROMIUM names one.
describe.skipIf(executable === undefined)("RFD-7 the pages in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(executable ?? "")), 60_000);
  afterAll(() => browser.close());

  async function opened(options: Parameters<typeof start>[0] = {}) {
    const started = await start(options);
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const faults: string[] = [];
    const newPage = async (path = "/", url = started.url) => {
      const page = await context.newPage();
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(url + path);
      return page;
    };
    const page = await newPage();
    const link = async (): Promise<string> => {
      await expect.poll(() => started.asked.length, { timeout: 120_000 }).toBeGreaterThan(0);
      const { mailId, token } = started.asked.at(-1)!;
      return `/decide#${mailId}/${token}`;
    };
    return { ...started, page, newPage, link, faults };
  }

  test("RFD-7 a mail is written, its link is opened and paid, and the answer appears without a reload", async () => {
    const { page, newPage, link, faults } = await opened();
    await page.locator("#none").waitFor();
    await page.fill("#text", "My coat A-17 never came.");
    await page.click("#send");
    const card = page.locator("#mails li");
    await card.locator(".word", { hasText: "Waiting for a decision" }).waitFor();
    expect(await page.locator("#none").isVisible()).toBe(false);
    const address = await link();
    const decide = await newPage(address);
    await decide.locator("#form").waitFor();
    expect(await decide.locator("h1").textContent()).toBe("Pay back 90.00 € for A-17?");
    expect(await decide.locator("#text").textContent()).toBe("My coat A-17 never came.");
    // Opened, and nothing is decided.
    expect(await card.locator(".word").textContent()).toBe("Waiting for a decision");
    await decide.click("#pay");
    await card.locator(".more", { hasText: "You have 90.00 € back" }).waitFor();
    await decide.locator("#answer", { hasText: "You have 90.00 € back" }).waitFor();
    const late = await newPage(address);
    await late.locator("h1", { hasText: "This was decided." }).waitFor();
    expect(await late.locator("#form").isVisible()).toBe(false);
    expect(faults).toEqual([]);
  });

  test("RFD-7 by keyboard alone: Enter in the reason refuses, and never pays", async () => {
    const { page, newPage, link, faults } = await opened();
    await page.locator("#text").fill("My coat A-17 never came.");
    await page.keyboard.press("Control+Enter");
    const decide = await newPage(await link());
    await decide.locator("#form").waitFor();
    await decide.keyboard.press("Tab");
    expect(await decide.evaluate("document.activeElement.id")).toBe("pay");
    await decide.keyboard.press("Tab");
    await decide.keyboard.press("Enter");
    await decide.locator("#status", { hasText: "Give a reason." }).waitFor();
    await decide.keyboard.type("It was delivered.");
    await decide.keyboard.press("Enter");
    await decide.locator("#answer", { hasText: "We cannot pay it back: It was delivered." }).waitFor();
    await page.locator("#mails li.answered").waitFor();
    expect(faults).toEqual([]);
  });

  test("RFD-7 RFD-4 an open page goes on when the server was started again", async () => {
    const file = await newFile();
    const first = await opened({ file });
    const address = await (async () => {
      await first.send("My coat A-17 never came.");
      return first.link();
    })();
    await first.stop();
    const second = await start({ file });
    const decide = await first.newPage(address, second.url);
    await decide.locator("#form").waitFor();
    await decide.click("#pay");
    await decide.locator("#answer", { hasText: "You have 90.00 € back" }).waitFor();
  });

  test("RFD-6 RFD-7 what a customer and a model write is shown as text: no HTML of it runs", async () => {
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const { page, newPage, send, until } = await opened({ rules: [() => ({ text: hostile })] });
    const id = await send(`${hostile} A-17`);
    await until(id, "answered");
    await page.reload();
    await page.locator("#mails li .more").waitFor();
    expect(await page.locator("#mails li .more").textContent()).toBe(hostile);
    const decide = await newPage(`/decide#${id}/x.y`);
    await decide.locator("#answer").waitFor();
    expect(await decide.locator("#answer").textContent()).toBe(hostile);
    for (const shown of [page, decide]) expect(await shown.locator("img").count()).toBe(0);
    expect([await page.title(), await decide.title()]).toEqual(["Refund desk", "A decision"]);
    const none = await newPage("/decide#mail/none/x.y");
    await none.locator("h1", { hasText: "This link leads to no question." }).waitFor();
  });
});

test.runIf(executable === undefined)(
  "RFD-7 no Chromium is installed: the pages were not tried in a browser",
  (context) => {
    context.skip("install Debian's package chromium, or name one in CHROMIUM");
  },
);
