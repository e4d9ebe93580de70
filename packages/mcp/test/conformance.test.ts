// The Model Context Protocol's own conformance suite, from npm, against our server and our client.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { serveForConformance } from "./conformance-service.ts";

const suite = suiteOf();
const why = suite === undefined ? "(not installed: pnpm install --prefer-offline brings it)" : "";
const folder = mkdtempSync(join(tmpdir(), "proviso-conformance-"));
afterAll(() => rmSync(folder, { recursive: true }));

function suiteOf(): string | undefined {
  try {
    const { resolve } = createRequire(import.meta.url);
    const program = join(dirname(resolve("@modelcontextprotocol/conformance/package.json")), "dist/index.js");
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** What the suite found, without what it did not check. */
async function run(args: readonly string[]): Promise<readonly Check[]> {
  const printed = await new Promise<string>((resolve) => {
    const given = [suite as string, ...args, "--verbose"];
    const options = { cwd: folder, timeout: 300_000, maxBuffer: 1 << 26 };
    execFile(process.execPath, given, options, (_, stdout, stderr) => resolve(`${stdout}\n${stderr}`));
  });
  const from = /^\[$/m.exec(printed)?.index;
  const to = printed.indexOf("\n]", from);
  if (from === undefined || to < 0) throw new Error(`The suite printed no checks: ${printed.slice(0, 2_000)}`);
  const checks = JSON.parse(printed.slice(from, to + 2)) as readonly Check[];
  return checks.filter(({ status }) => status !== "INFO" && status !== "SKIPPED");
}

/** Passed ones, and what was found wrong. */
function found(checks: readonly Check[]): { readonly passed: number; readonly wrong: readonly string[] } {
  const wrong = checks.filter(({ status }) => status !== "SUCCESS");
  return {
    passed: checks.length - wrong.length,
    wrong: wrong.map(({ id, errorMessage = "" }) => `${id}: ${errorMessage}`),
  };
}

/** Each is a process of its own, a second long: some scenarios in one revision each, and all with `pnpm test:exhaustive`. */
const isTaken = ([scenario]: readonly [string, ...unknown[]]): boolean =>
  inject("exhaustive") ||
  ["tools-list", "prompts-get-with-args", "tools_call", "http-standard-headers"].includes(scenario);

const [june, november, newest] = ["2025-06-18", "2025-11-25", "2026-07-28"] as const;

describe.skipIf(suite === undefined)(`the protocol's suite against serveMcp ${why}`, { timeout: 300_000 }, () => {
  let service: Awaited<ReturnType<typeof serveForConformance>>;
  beforeAll(async () => void (service = await serveForConformance()));
  afterAll(() => service[Symbol.asyncDispose]());

  test.each(
    (
      [
        ["server-initialize", [june, november], 1],
        ["ping", [november], 1],
        ["tools-list", [november, newest], 3],
        ["tools-call-simple-text", [november, newest], 1],
        ["tools-call-image", [november, newest], 1],
        ["tools-call-audio", [november, newest], 1],
        ["tools-call-embedded-resource", [november, newest], 1],
        ["tools-call-mixed-content", [november, newest], 1],
        ["tools-call-error", [november, newest], 1],
        ["tools-call-with-progress", [november, newest], 1],
        ["json-schema-2020-12", [november, newest], 7],
        ["prompts-list", [november, newest], 1],
        ["prompts-get-simple", [november, newest], 1],
        ["prompts-get-with-args", [november, newest], 1],
        ["dns-rebinding-protection", [november, newest], 2],
        ["server-sse-multiple-streams", [newest], 1],
        ["http-header-validation", [newest], 14],
      ] as const
    ).filter(isTaken),
  )("SRV-1 SRV-2 SRV-4 %s", async (scenario, revisions, least) => {
    for (const revision of inject("exhaustive") ? revisions : revisions.slice(-1)) {
      const args = ["server", "--url", service.url, "--scenario", scenario, "--spec-version", revision];
      const { passed, wrong } = found(await run(args));
      expect(wrong, revision).toEqual([]);
      expect(passed, revision).toBeGreaterThanOrEqual(least);
    }
  });

  test.runIf(inject("exhaustive"))(
    "SRV-1 server-stateless, but for a tool that asks its client for texts: serveMcp asks its clients for nothing",
    async () => {
      const args = ["server", "--url", service.url, "--scenario", "server-stateless", "--spec-version", newest];
      const { passed, wrong } = found(await run(args));
      expect(wrong.map((text) => text.split(":")[0])).toEqual([
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
      ]);
      expect(passed).toBeGreaterThanOrEqual(20);
    },
  );
});

describe.skipIf(suite === undefined)(`the protocol's suite against connectMcp ${why}`, { timeout: 300_000 }, () => {
  const program = join(import.meta.dirname, "processes/conformance-client.mjs");
  const command = [process.execPath, ...fromSources, program].join(" ");

  test.each(
    (
      [
        ["initialize", [november], 1],
        ["tools_call", [june, november, newest], 1],
        ["elicitation-sep1034-client-defaults", [november], 5],
        ["sse-retry", [november], 3],
        ["request-metadata", [newest], 7],
        ["sep-2322-client-request-state", [newest], 5],
        ["http-standard-headers", [newest], 9],
        ["http-custom-headers", [newest], 17],
        ["http-invalid-tool-headers", [newest], 12],
        ["json-schema-ref-no-deref", [newest], 1],
        ["json-schema-2020-12-preservation", [november, newest], 9],
      ] as const
    ).filter(isTaken),
  )("MCP-1 MCP-3 MCP-4 MCP-12 %s", async (scenario, revisions, least) => {
    for (const revision of inject("exhaustive") ? revisions : revisions.slice(-1)) {
      const args = ["client", "--command", command, "--scenario", scenario, "--spec-version", revision];
      const { passed, wrong } = found(await run(args));
      expect(wrong, revision).toEqual([]);
      expect(passed, revision).toBeGreaterThanOrEqual(least);
    }
  });
});
