import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

test(
  "OAI-14 the global fetch, and a function of its type, compile as the option `fetch` beside the DOM's types",
  {
    timeout: 300_000,
  },
  async () => {
    const args = ["-p", join(import.meta.dirname, "types")];
    const compiled = promisify(execFile)(join(root, "node_modules/.bin/tsc"), args);
    const { stdout } = await compiled.catch((error: { readonly stdout: string }) => error);
    expect(stdout).toBe("");
  },
);
