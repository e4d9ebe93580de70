import { definePrompt, Filesystem, overrideOf, provide, type Section } from "@proviso/core";
import { createSession, memoryFilesystem, memoryOverrides, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import {
  asWorkspaceTools,
  clearWorkspaceDigest,
  filesystemTools,
  optimize,
  setWorkspaceDigest,
  workspaceDigest,
  workspaceDigests,
} from "@proviso/toolkit";
import { expect, test } from "vitest";
import { call } from "./support.ts";

const files = memoryFilesystem({ "README.md": "A shop." });
const workspace: Section = {
  key: "files",
  title: "Files",
  text: "Work on the files.",
  tools: filesystemTools(),
  resources: [provide(Filesystem, files)],
};
const template = definePrompt({ ns: "tests", key: "shop", sections: [workspace, workspaceDigest()] });
const prompt = template.bind();
const steps: readonly ScriptedStep[] = [
  { toolCalls: [call("read_file", { path: "README.md" })] },
  { output: { digest: "# Shop\nA {{shop}}." } },
];
const started = (given: readonly ScriptedStep[] = steps) => {
  const model = scriptedModel(given);
  return { model, adapter: modelAdapter(model, fakeEnvironment()) };
};
const rejectionOf = (promise: Promise<unknown>) => promise.then(String, (error: Error & { phase?: string }) => error);

test("OPT-2 the inner prompt has goal, expectations, planning, the workspace read-only and the digest", async () => {
  const { model, adapter } = started();
  const { response } = await optimize(adapter, prompt, { session: createSession() });
  expect(response.promptName).toBe("tests.optimization/shop-workspace-digest");
  const [request] = model.requests;
  expect(request?.tools.map(({ name }) => name)).toEqual([
    "set_plan",
    "update_plan_step",
    "list_files",
    "read_file",
    "glob_files",
    "grep_files",
  ]);
  for (const title of ["Goal", "Expectations", "Planning", "Files", "Workspace"]) {
    expect(request?.messages[0]?.text).toMatch(new RegExp(`^## \\d+\\. ${title}$`, "m"));
  }
});

test("OPT-3 OPT-5 scope session sets the digest in the caller's session, where nothing else changes", async () => {
  const session = createSession();
  const heard: string[] = [];
  session.on("*", ({ type }) => void heard.push(type));
  const result = await optimize(started().adapter, prompt, { session });
  expect(result).toMatchObject({ digest: "# Shop\nA {{shop}}.", scope: "session", sectionKey: "workspace-digest" });
  expect(heard).toEqual(["toolkit.workspace-digest-set"]);
  const { model, adapter } = started([{ text: "x" }]);
  await adapter.evaluate(prompt, { session });
  expect(model.requests[0]?.messages[0]?.text).toContain("## 2. Workspace\n\n# Shop\nA {{shop}}.");
});

test("OPT-3 a given optimisation session is used as it is", async () => {
  const optimizationSession = createSession();
  const heard: string[] = [];
  optimizationSession.on("*", ({ type }) => void heard.push(type));
  await optimize(started().adapter, prompt, { session: createSession(), optimizationSession });
  expect(heard).toContain("prompt.executed");
});

test("OPT-5 scope global persists the digest as an override and clears the session's copy", async () => {
  const store = memoryOverrides();
  const session = createSession();
  setWorkspaceDigest(session, "workspace-digest", "old");
  await store.upsert(template.descriptor, {
    ...overrideOf(template as never, "v1"),
    sections: { files: { hash: template.descriptor.sections["files"] ?? "", text: "Be careful." } },
    tools: {},
  });
  await optimize(started().adapter, prompt, { session, scope: "global", overrides: { store, tag: "v1" } });
  expect(session.get(workspaceDigests)).toEqual([]);
  const { model, adapter } = started([{ text: "x" }]);
  await adapter.evaluate(prompt, { session, overrides: { store, tag: "v1" } });
  const text = model.requests[0]?.messages[0]?.text;
  expect(text).toContain("Be careful.");
  expect(text).toContain("# Shop\nA {{shop}}.");
});

test("OPT-1 what is missing is an error of phase request, before anything is spent", async () => {
  const session = createSession();
  const bare = (...sections: Section[]) => definePrompt({ key: "p", sections }).bind();
  const store = memoryOverrides();
  const cases: readonly (readonly [Parameters<typeof optimize>[1], Partial<Parameters<typeof optimize>[2]>])[] = [
    [bare(workspace), {}],
    [bare(workspaceDigest()), {}],
    [bare({ key: "s", text: "x", tools: [] }), {}],
    [prompt, { scope: "global" }],
    [prompt, { scope: "global", overrides: { store } }],
    [prompt, { scope: "global", overrides: { store, tag: "../up" } }],
  ];
  for (const [given, options] of cases) {
    const { model, adapter } = started();
    expect(await rejectionOf(optimize(adapter, given, { session, ...options }))).toMatchObject({
      code: "render",
      phase: "request",
    });
    expect(model.callCount).toBe(0);
  }
});

test("OPT-4 an empty digest is an error of phase response, and nothing is kept", async () => {
  const session = createSession();
  const { adapter } = started([{ output: { digest: "  " } }]);
  expect(await rejectionOf(optimize(adapter, prompt, { session }))).toMatchObject({
    code: "output",
    phase: "response",
  });
  expect(session.get(workspaceDigests)).toEqual([]);
});

test("OPT-6 a workspace of one's own is one whose tools are told of", async () => {
  const own = asWorkspaceTools(filesystemTools({ readOnly: true }).map((tool) => ({ ...tool })));
  const section: Section = { key: "sandbox", text: "x", tools: own, resources: [provide(Filesystem, files)] };
  const given = definePrompt({ key: "p", sections: [section, workspaceDigest({ key: "digest" })] }).bind();
  const session = createSession();
  expect(await optimize(started().adapter, given, { session })).toMatchObject({ sectionKey: "digest" });
  clearWorkspaceDigest(session, "digest");
  expect(session.get(workspaceDigests)).toEqual([]);
});
