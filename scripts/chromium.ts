// The browser of tests and pictures: Debian's package, or one that CHROMIUM names. Nothing is downloaded.
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

export type { Browser, Page } from "playwright-core";

const usualPlaces = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Returns the path of a Chromium: CHROMIUM names it, or it is in a usual place; undefined: there is none. */
export function findChromium(): string | undefined {
  const named = process.env["CHROMIUM"]?.trim() || undefined;
  return [named, ...usualPlaces].find((path) => path !== undefined && existsSync(path));
}

/** Starts it without a window. */
export async function startChromium(executablePath: string): Promise<Browser> {
  // The pages are our own, and CI runs as root, where the sandbox does not start.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}
