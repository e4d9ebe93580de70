import { expect, test, vi } from "vitest";
import { examples } from "./docstring-programs.ts";
import { printedBy } from "./run-programs.ts";

vi.setConfig({ testTimeout: 300_000 });

/** The first functions that an application, an adapter or a test calls. */
const mainEntryPoints = [
  "definePrompt",
  "defineTool",
  "defineSlice",
  "defineEvent",
  "resourceKey",
  "provide",
  "trackBudget",
  "modelAdapter",
  "agentAdapter",
  "openResources",
  "transaction",
  "scriptedModel",
  "openai",
  "aiSdk",
  "litellm",
  "acpAgent",
  "commandLine",
  "hostFilesystem",
  "sqliteResource",
  "startSimulator",
  "definePrimitive",
  "estimate",
  "requireApproval",
];

test.each(mainEntryPoints)("DOC-24 the docstring of %s has an example", (name) => {
  expect(examples.filter(({ of }) => of === name)).toHaveLength(1);
});

/** Those that need a service or a program that is not here, and a file of settings, which prints nothing. */
const notRun = ["acpAgent", "aiSdk", "defineConfig", "litellm", "openai"];

test("DOC-24 every other example prints something", () => {
  const silent = examples.filter(({ prints }) => prints === "").map(({ of }) => of);
  expect(silent.toSorted()).toEqual(notRun);
});

const printing = examples.filter(({ prints }) => prints !== "");
const printed = printedBy(printing);

test.concurrent.each(printing)("DOC-24 the example of $of runs and prints what its comments expect", async (example) =>
  expect(await printed(example)).toBe(example.prints),
);
