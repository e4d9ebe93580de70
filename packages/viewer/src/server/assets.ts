import { readFileSync } from "node:fs";

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const types = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
} as const;

/** The page is beside the bundle; a program that runs the sources finds it where the build puts it. */
const folders = ["./page/", "../../dist/page/"];

/** Returns a file of the page. undefined: there is none at that path. @throws an error where the page was not built. */
export function pageAsset(path: string): Asset | undefined {
  if (!Object.hasOwn(types, path)) return undefined;
  const [file, type] = types[path as keyof typeof types];
  for (const folder of folders) {
    try {
      return { type, body: readFileSync(new URL(`${folder}${file}`, import.meta.url)) };
    } catch {
      // The file is in the other folder.
    }
  }
  throw new Error("The page of the viewer was not built: run pnpm build.");
}
