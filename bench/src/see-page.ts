// The page in a Chromium: CHROMIUM names one, else Debian's. Without one the rows are left out.
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { definePrompt } from "@proviso/core";
import { openRuns, startViewer } from "@proviso/viewer";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type CDPSession, type Page } from "playwright-core";
import { buildPage } from "../../scripts/page.ts";
import { median, row, type Row } from "./measure.ts";
import { longRun } from "./see-runs.ts";

const named = process.env["CHROMIUM"];
const executable = [named, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== undefined && path !== "" && existsSync(path),
);

/** A run of 50,000 events on the page, and a record that another process writes. */
export async function seePage(quick: boolean): Promise<readonly Row[]> {
  if (executable === undefined) return [];
  await buildPage();
  const folder = await mkdtemp(join(tmpdir(), "proviso-see-"));
  const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
  try {
    const file = join(folder, "runs.db");
    await longRun(file);
    const first = await firstRows(browser, file, quick);
    await using runs = openRuns(file);
    await using viewer = await startViewer({ runs });
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 760 } })).newPage();
    await page.goto(viewer.url);
    await page.waitForSelector("tbody tr");
    const rows = await looked(page, quick);
    return [first, ...rows, await written(page, file, quick)];
  } finally {
    await browser.close();
    await rm(folder, { recursive: true });
  }
}

/** Milliseconds of CPU of the page's main thread, and bytes of its heap. */
async function figuresOf(client: CDPSession): Promise<{ readonly cpuMs: number; readonly heap: number }> {
  const { metrics } = await client.send("Performance.getMetrics");
  const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? Number.NaN;
  return { cpuMs: of("TaskDuration") * 1000, heap: of("JSHeapUsedSize") };
}

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((next) => setTimeout(next, 5));
}

const of = (what: string) => `a run of 50,000 events on the page: ${what}`;

/** From a click on the run to its first rows, in a viewer that has not read its rows yet. */
async function firstRows(browser: Browser, file: string, quick: boolean): Promise<Row> {
  const times: number[] = [];
  const used: { readonly server: number[]; readonly page: number[] } = { server: [], page: [] };
  for (let round = 0; round < (quick ? 2 : 5); round++) {
    await using runs = openRuns(file);
    await using viewer = await startViewer({ runs });
    const context = await browser.newContext({ viewport: { width: 1280, height: 760 } });
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Performance.enable");
    await page.goto(viewer.url);
    await page.waitForSelector("tbody tr");
    const { cpuMs } = await figuresOf(client);
    const [begun, cpu] = [performance.now(), process.cpuUsage()];
    await page.evaluate(`void (location.hash = "#/run/long")`);
    await page.waitForSelector(".row");
    times.push((performance.now() - begun) / 1000);
    const { user, system } = process.cpuUsage(cpu);
    used.server.push((user + system) / 1000);
    used.page.push((await figuresOf(client)).cpuMs - cpuMs);
    await context.close();
  }
  const [server, shown] = [median(used.server), median(used.page)];
  const waited = `on the machine as it was ${median(times).toFixed(2)} s, least ${Math.min(...times).toFixed(2)} s`;
  const detail = `server ${server.toFixed(0)} ms, page ${shown.toFixed(0)} ms of CPU; ${waited}`;
  return row(of("first rows, s of CPU"), (server + shown) / 1000, detail, "≤ 1");
}

async function looked(page: Page, quick: boolean): Promise<readonly Row[]> {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const show = (hash: string) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
  const heightOfRows = async (): Promise<number> => (await page.locator(".all").boundingBox())?.height ?? 0;
  await show("#/run/long");
  await page.waitForSelector(".row");
  await until(async () => (await heightOfRows()) > 700_000);
  const nodes = await page.locator("*").count();
  const frames = 120;
  const perFrame: number[] = [];
  for (let round = 0; round < (quick ? 2 : 5); round++) {
    const { cpuMs } = await figuresOf(client);
    await page.evaluate(`(async () => {
      const box = document.querySelector(".rows");
      box.scrollTop = 0;
      for (let n = 0; n < ${frames}; n++) {
        box.scrollTop += 900;
        await new Promise(requestAnimationFrame);
      }
    })()`);
    perFrame.push(((await figuresOf(client)).cpuMs - cpuMs) / frames);
  }
  const filters: number[] = [];
  for (const text of ["f7771", "f91", "f100", "f123", "f4"].slice(0, quick ? 2 : 5)) {
    await page.fill(".bar input[type=search]", "");
    await until(async () => (await heightOfRows()) > 700_000);
    const { cpuMs } = await figuresOf(client);
    await page.fill(".bar input[type=search]", text);
    await until(async () => (await heightOfRows()) < 700_000);
    filters.push((await figuresOf(client)).cpuMs - cpuMs);
  }
  await page.fill(".bar input[type=search]", "");
  await client.send("HeapProfiler.collectGarbage");
  const { heap } = await figuresOf(client);
  return [
    row(
      of("scrolling, ms of CPU a frame"),
      median(perFrame),
      `900 pixels a frame, least ${Math.min(...perFrame).toFixed(1)} ms`,
      "≤ 16",
    ),
    row(of("filter, ms of CPU"), median(filters), `most ${Math.max(...filters).toFixed(0)} ms`, "≤ 100"),
    row(of("elements"), nodes, "", "≤ 1000"),
    row(of("heap, MB"), heap / 1e6, "", "≤ 100"),
  ];
}

/** From the moment at which another process has written a run to the one at which the page shows it. */
async function written(page: Page, file: string, quick: boolean): Promise<Row> {
  await page.evaluate(`void (location.hash = "#/")`);
  await page.waitForSelector("tbody tr");
  await until(async () => (await page.locator(".live").innerText()).includes("live"));
  await new Promise((next) => setTimeout(next, 500));
  const times: number[] = [];
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    const id = `other-${round}`;
    const seen = page.evaluate(`new Promise((seen) => {
      const look = () => document.body.innerText.includes("${id}-done") && (watch.disconnect(), seen(Date.now()));
      const watch = new MutationObserver(look);
      watch.observe(document.body, { subtree: true, childList: true, characterData: true });
    })`);
    const at = await recordElsewhere(file, id);
    times.push(Number(await seen) - at);
  }
  const detail = `${times.length} runs, most ${Math.max(...times).toFixed(0)} ms`;
  return row("a record of another process, until the page shows it, ms", median(times), detail, "≤ 500");
}

/** Records a run in a process of its own; returns when its last entry was in the file, by the system's clock. */
async function recordElsewhere(file: string, id: string): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, file, id], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout) text += String(chunk);
  return Number(text);
}

const [, program, file, id] = process.argv;
if (program === import.meta.filename && file !== undefined && id !== undefined) {
  const journal = sqliteJournal(file);
  const prompt = definePrompt({ key: `${id}-done`, text: "Say hello." });
  await modelAdapter(scriptedModel([{ text: "Hello." }])).evaluate(prompt.bind(), { run: journal.run(id) });
  await journal.close();
  console.log(Date.now());
}
