// The page in a real Chromium. Skipped, and listed as such, where none is installed; CHROMIUM names one.
import type { FrameworkEvent, RunReader, RunRecord, RunSummary } from "@proviso/core";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { findChromium, startChromium, type Browser, type Page } from "../../../scripts/chromium.ts";
import { buildPage } from "../../../scripts/page.ts";
import { hostileEvals, hostileReader } from "./hostile-reader.ts";
import { hostile, opened, record, viewed } from "./viewer-support.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const executable = findChromium();

beforeAll(() => buildPage());

it("VIEW-12 the script of the page has at most 50 KB, gzipped", () => {
  const script = readFileSync(new URL("../dist/page/page.js", import.meta.url));
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(50 * 1024);
});

/** A busy machine takes its time. */
const poll = <T>(read: () => T | Promise<T>, { timeout = 15_000 } = {}) => expect.poll(read, { timeout });

interface Shown {
  readonly page: Page;
  /** What the policy forbade, and errors of the page. */
  readonly faults: string[];
  /** What was asked of the network. */
  readonly requests: string[];
}

// A browser takes its time: `pnpm test:exhaustive` has these.
describe.runIf(executable !== undefined && inject("exhaustive"))("in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium(executable!);
  });
  afterAll(() => browser.close());

  async function shown(url: string, colorScheme: "light" | "dark" = "light"): Promise<Shown> {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 760 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.addInitScript({ path: new URL("./processes/in-page.mjs", import.meta.url).pathname });
    const faults: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(url);
    return { page, faults, requests };
  }

  const at = (page: Page, hash: string) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
  const detail = (page: Page) => page.locator(".side");

  it("VIEW-1 the token leaves the address at once, and a page without it says what to do", async () => {
    const { viewer } = await viewed();
    const { page, requests } = await shown(viewer.url);
    await page.waitForSelector("tbody tr");
    expect(page.url()).toBe(`http://127.0.0.1:${viewer.port}/#/`);
    expect(requests.join(" ")).not.toContain(viewer.token);
    await page.reload();
    await page.waitForSelector("tbody tr");
    const other = await shown(`http://127.0.0.1:${viewer.port}/`);
    await poll(() => other.page.locator("[role=alert]").textContent()).toContain("Open the whole address");
  });

  it("VIEW-1 VIEW-12 an address with the token opens the run that stands behind it, in a tab that is open too", async () => {
    const { viewer } = await viewed();
    const { page } = await shown(`${viewer.url}&/run/first?row=7`);
    await page.waitForSelector(".row");
    expect(page.url()).toBe(`http://127.0.0.1:${viewer.port}/#/run/first?row=7`);
    await page.goto(`${viewer.url}&/run/third`);
    await poll(() => page.url()).toBe(`http://127.0.0.1:${viewer.port}/#/run/third`);
    await page.waitForSelector(".row");
  });

  it("VIEW-4 texts of a run are text in every view: nothing runs, nothing is loaded, nothing is hidden or turned", async () => {
    const { viewer, journal } = await viewed();
    await record(journal, `odd ${hostile.replaceAll(/\p{Cc}/gu, "")}`, { text: `${hostile} {{file}}` });
    const { page, faults, requests } = await shown(viewer.url);
    await page.waitForSelector("tbody tr");
    await poll(() => page.locator("tbody tr").count()).toBe(4);
    const ids = ["first", "third", `odd ${hostile.replaceAll(/\p{Cc}/gu, "")}`];
    for (const id of ids) {
      for (const tab of ["transcript", "prompt", "state", "raw", "tokens"]) {
        for (const row of [1, 7, 12, 14]) {
          await at(page, `#/run/${encodeURIComponent(id)}?tab=${tab}&row=${row}`);
          await page.waitForSelector(tab === "tokens" ? ".wide table" : ".row");
          await page.waitForTimeout(60);
          expect(await page.evaluate("inPage.oddThings()")).toEqual({ elements: 0, hidden: false, isTaken: false });
        }
      }
    }
    await at(page, "#/run/first?row=7");
    await poll(() => detail(page).innerText()).toContain("<script>document.title='taken'</script> \\u{202e}");
    await at(page, "#/compare?a=first&b=third");
    await page.waitForSelector(".first");
    for (const url of requests)
      expect(url.startsWith(`http://127.0.0.1:${viewer.port}/`) || url === "data:,").toBe(true);
    expect(faults).toEqual([]);
  });

  it("VIEW-4 VIEW-11 whatever a reader returns is text, in every field: names, ids, errors, params, rows of evals", async () => {
    const { reader } = await viewed();
    const viewer = await opened(hostileReader(reader), { evals: hostileEvals() });
    const { page, faults, requests } = await shown(viewer.url);
    await page.waitForSelector("tbody tr");
    const views = ["#/", "#/compare?a=first&b=third", "#/eval/hostile"];
    for (const tab of ["transcript", "prompt", "state", "raw", "tokens"]) {
      for (const row of [1, 3, 5, 7, 12, 14]) views.push(`#/run/first?tab=${tab}&row=${row}`);
    }
    for (const view of views) {
      await at(page, view);
      await poll(() => page.locator("#app").innerText()).toContain("\\u{202e}");
      await page.waitForTimeout(100);
      const odd = await page.evaluate("inPage.oddThings()");
      expect(odd, view).toEqual({ elements: 0, hidden: false, isTaken: false });
      expect(await page.locator("[role=alert]").count(), view).toBe(0);
    }
    for (const url of requests)
      expect(url.startsWith(`http://127.0.0.1:${viewer.port}/`) || url === "data:,").toBe(true);
    expect(faults).toEqual([]);
  });

  it("VIEW-6 an undone call is struck through and says so, one that was not run is grey, and its bar is hatched", async () => {
    const { viewer } = await viewed();
    const { page } = await shown(viewer.url);
    await at(page, "#/run/first?row=7");
    await page.waitForSelector(".row");
    const rows = await page.evaluate<{ text: string; line: string; bar: string }[]>("inPage.shownRows()");
    const undone = rows.filter(({ text }) => text.includes("undone"));
    expect(undone).toEqual([
      {
        text: expect.stringContaining('note_finding {"path":"b.ts"}'),
        line: "line-through",
        bar: "repeating-linear-gradient",
      },
    ]);
    expect(rows.filter(({ line }) => line === "line-through")).toEqual(undone);
    expect(rows.filter(({ text }) => text.includes("not run"))).toHaveLength(1);
    expect(rows.some(({ text }) => /rate_limit, 2\.\d s \(Retry-After 2\)/.test(text))).toBe(true);
  });

  it("VIEW-7 VIEW-8 beside the rows stand the state before and after a call, and the limits at that row", async () => {
    const { viewer } = await viewed();
    const { page } = await shown(viewer.url);
    await at(page, "#/run/first?row=3");
    await poll(() => detail(page).innerText()).toContain("a.ts");
    await poll(() => page.locator(".patch li").allInnerTexts()).toContain("+ /1  a.ts");
    await poll(() => page.locator(".limits").innerText()).toContain("15 of 100,000");
    await at(page, "#/run/first?row=7");
    await poll(() => detail(page).innerText()).toContain("Undone: the state after it is the state before");
    await poll(() => page.locator(".limits").innerText()).toContain("30 of 100,000");
    await at(page, "#/run/first?row=14&tab=state");
    await poll(() => detail(page).innerText()).toContain("ended summarise");
    await at(page, "#/run/first?row=14&tab=prompt");
    await expect
      .poll(() => page.locator(".section").allInnerTexts())
      .toEqual([
        expect.stringMatching(/^rules · full\s+Be brief\.$/),
        expect.stringMatching(/^task · full\s+Review a\.ts\.$/),
      ]);
  });

  it("VIEW-7 without slices the page says that states are not known", async () => {
    const { viewer } = await viewed(false);
    const { page } = await shown(viewer.url);
    await at(page, "#/run/first?row=3&tab=state");
    await poll(() => detail(page).innerText()).toContain("No states are known");
  });

  it("VIEW-12 everything can be done with the keyboard, and every view has an address", async () => {
    const { viewer } = await viewed();
    const { page } = await shown(viewer.url);
    await page.waitForSelector("tbody tr");
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const address = (): string => page.url().slice(page.url().indexOf("#"));
    const selected = () => page.locator("tr[aria-selected=true] small").first().innerText();
    await press("j", "j");
    await poll(selected).toBe("first");
    await press("k");
    await poll(selected).toBe("second");
    await press("u");
    await poll(selected).toBe("first");
    await press("e");
    await poll(selected).toBe("third");
    await press("u", "Enter");
    await page.waitForSelector(".row");
    expect(address()).toBe("#/run/first");
    await press("u");
    await poll(address).toBe("#/run/first?row=7");
    await press("j", "j", "k");
    await poll(address).toBe("#/run/first?row=8");
    await press("g");
    await poll(address).toBe("#/run/first?row=14");
    await press("/");
    await page.keyboard.type("summarise");
    await poll(() => page.locator(".row").count()).toBe(1);
    await press("Escape");
    await press("?");
    await page.waitForSelector("[role=dialog]");
    await press("?");
    expect(await page.locator("[role=dialog]").count()).toBe(0);
    await press("t");
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    await press("t");
    expect(await page.getAttribute("html", "data-theme")).toBe("light");
    await press("Escape");
    await page.waitForSelector("tbody tr");
    await press("j", "c", "j", "c");
    await page.waitForSelector(".first");
    expect(address()).toBe("#/compare?a=second&b=first");
    // The same address in another tab of the browser is the same view.
    await page.goto(`http://127.0.0.1:${viewer.port}/#/run/first?row=7&tab=raw`);
    await page.reload();
    await poll(() => detail(page).innerText()).toContain('"callId": "call_2"');
  });

  it("VIEW-10 runs are compared: equal steps are folded, the first that differs is in view and named", async () => {
    const { viewer } = await viewed();
    const { page } = await shown(viewer.url);
    await at(page, "#/compare?a=first&b=second");
    await page.waitForSelector(".first");
    expect(await page.locator(".folded").innerText()).toContain("Same for 4 steps. They part at step 5: an answer.");
    expect(await page.locator(".pair").count()).toBe(10);
    await poll(() => page.locator(".texts del").allInnerTexts()).toEqual(["note that"]);
    await page.getByRole("button", { name: "show 4 equal steps" }).click();
    expect(await page.locator(".pair").count()).toBe(14);
    await at(page, "#/compare?a=first&b=first");
    await poll(() => page.locator(".folded").innerText()).toContain("steps are the same");
  });

  it("VIEW-11 VIEW-4 a matrix has failures first, is filtered, and a cell opens its run", async () => {
    const { viewer } = await viewed();
    const { page, faults } = await shown(viewer.url);
    await page.getByRole("link", { name: /^Eval review/ }).click();
    await page.waitForSelector(".matrix tbody tr");
    const names = () => page.locator(".matrix tbody th").allInnerTexts();
    expect(await names()).toEqual(["row-3", "row-4", "row-2", "row-5", "row-1", "row-6"]);
    expect(await page.locator(".matrix tbody tr").first().innerText()).toMatch(/^row-3\s+✗ 1 rate_limit\s+✓ 1 1$/);
    const head = (await page.locator(".matrix thead").innerText()).replaceAll(/\s+/g, " ");
    expect(head).toContain("brief 0.80 +0.30 [+0.20, +0.40] at least 0.7: unsettled");
    await page.getByRole("button", { name: "failures first" }).click();
    expect((await names())[0]).toBe("row-1");
    await page.selectOption("select[aria-label=status]", "failed");
    expect(await names()).toEqual(["row-3"]);
    await page.selectOption("select[aria-label=status]", "");
    await page.fill("input[type=number]", "0.4");
    // What failed counts as 0.
    expect(await names()).toEqual(["row-2", "row-3"]);
    expect(page.url()).toContain("differ=0.4");
    expect(await page.evaluate("inPage.oddThings()")).toEqual({ elements: 0, hidden: false, isTaken: false });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".row");
    expect(page.url()).toContain("#/run/first");
    expect(faults).toEqual([]);
  });

  it("VIEW-9 a record is on the page soon after it is written; follow keeps to the end and lets go", async () => {
    const { viewer, journal } = await viewed();
    const { page } = await shown(viewer.url);
    await poll(() => page.locator(".live").innerText()).toContain("live");
    await page.waitForTimeout(400);
    await record(journal, "fourth");
    const line = page.locator("tbody tr", { hasText: "fourth" });
    await line.waitFor({ timeout: 5_000 });
    await poll(() => line.innerText()).toContain("executed");
    await at(page, "#/run/first");
    await page.getByRole("button", { name: "follow" }).click();
    await poll(() => page.locator(".row[aria-selected=true] .place").innerText()).toBe("14");
    await page.keyboard.press("k");
    expect(await page.getByRole("button", { name: "follow" }).getAttribute("aria-pressed")).toBe("false");
  });

  it.each(["light", "dark"] as const)("VIEW-12 the contrast of every text is at least 4.5, %s", async (scheme) => {
    const { viewer } = await viewed();
    const { page } = await shown(viewer.url, scheme);
    const views = ["#/", "#/run/first?row=7", "#/run/first?row=3&tab=state", "#/run/first?row=1&tab=prompt"];
    for (const view of [
      ...views,
      "#/run/first?tab=tokens",
      "#/run/third?row=3",
      "#/compare?a=first&b=second",
      "#/eval/eval%201",
    ]) {
      await at(page, view);
      await page.waitForTimeout(300);
      expect(await page.evaluate("inPage.faintTexts()"), view).toEqual([]);
    }
  });

  it("VIEW-12 a run of 50,000 events is scrolled, searched and filtered with few elements", async () => {
    const viewer = await opened(longRun(12_500));
    const { page } = await shown(viewer.url);
    await page.waitForSelector("tbody tr");
    const begun = performance.now();
    await at(page, "#/run/long");
    await page.waitForSelector(".row");
    const first = performance.now() - begun;
    await poll(() => heightOfRows(page), { timeout: 20_000 }).toBeGreaterThan(700_000);
    const whole = performance.now() - begun;
    expect(await page.locator("*").count()).toBeLessThan(1_000);
    const client = await page.context().newCDPSession(page);
    await client.send("Performance.enable");
    const cpu = async (): Promise<number> => {
      const { metrics } = await client.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")!.value * 1_000;
    };
    const before = await cpu();
    const frames = 60;
    await page.evaluate(`inPage.scroll(${frames})`);
    const frame = ((await cpu()) - before) / frames;
    const searching = await cpu();
    await page.fill(".bar input[type=search]", "write 777");
    await poll(() => heightOfRows(page)).toBeLessThan(10_000);
    const search = (await cpu()) - searching;
    const { metrics } = await client.send("Performance.getMetrics");
    const heap = metrics.find(({ name }) => name === "JSHeapUsedSize")!.value / 1e6;
    if (process.env["FIGURES"] !== undefined) console.log({ first, whole, frame, search, heap });
    expect(heap).toBeLessThan(100);
    // Ten times what was measured: a busy machine is no fault.
    expect(frame).toBeLessThan(160);
  });
});

it.runIf(executable === undefined)(
  "VIEW-12 no Chromium is installed: the page was not tried in a browser",
  (context) => {
    context.skip("install Debian's package chromium, or name one in CHROMIUM");
  },
);

async function heightOfRows(page: Page): Promise<number> {
  return (await page.locator(".all").boundingBox())?.height ?? 0;
}

/** A run of four events a turn, in a store of its own: whatever implements RunReader can be shown. */
function longRun(turns: number): RunReader {
  const records: RunRecord[] = [];
  const usage = {
    inputTokens: 10,
    outputTokens: 5,
    totalTokens: 15,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  };
  const add = (event: object): void => {
    const n = records.length;
    const base = { sessionId: "s", evaluationId: "e", seq: n, at: 1_000 + n };
    records.push({ n, runId: "long", at: 1_000 + n, kind: "event", event: { ...base, ...event } as FrameworkEvent });
  };
  for (let turn = 1; turn <= turns; turn++) {
    const callId = `c${turn}`;
    const given = JSON.stringify({ n: turn });
    const isUndone = turn % 50 === 0;
    const result = isUndone
      ? { success: false, message: "No." }
      : { success: true, message: "Yes.", value: turn, hideValue: false };
    add({ type: "provider.requested", turn, attempt: 1, messages: turn });
    const toolCalls = [{ id: callId, name: "write", arguments: given }];
    add({
      type: "provider.responded",
      turn,
      usage,
      finishReason: "tool_call",
      durationMs: 1,
      model: "m",
      text: `write ${turn}`,
      toolCalls,
    });
    add({ type: "tool.requested", turn, callId, name: "write", arguments: given });
    add({ type: "tool.invoked", turn, callId, name: "write", params: { n: turn }, result, durationMs: 1, ran: true });
  }
  const summary: RunSummary = {
    runId: "long",
    sessionId: "s",
    promptName: "app/long",
    provider: "p",
    model: "m",
    startedAt: 1_000,
    endedAt: 1_000 + records.length,
    status: "executed",
    turns,
    toolCalls: turns,
    undone: turns / 50,
    waits: 0,
    usage,
  };
  return {
    list: async () => ({ runs: [summary], cursor: undefined }),
    summary: async (runId) => (runId === "long" ? summary : undefined),
    async *records(_runId, { after = -1, until = Infinity, limit = Infinity } = {}) {
      yield* records.slice(after + 1, Math.min(until + 1, after + 1 + limit));
    },
    async *follow({ signal }) {
      yield* [];
      await new Promise((done) => signal.addEventListener("abort", done));
    },
  };
}
