import {
  DefinitionError,
  definePolicy,
  definePrompt,
  deny,
  Filesystem,
  overrideOf,
  provide,
  type Section,
} from "@proviso/core";
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
  const global = { scope: "global", overrides: { store, tag: "v1" } } as const;
  const damaged = { ...store, resolve: () => Promise.reject(new DefinitionError("The file is damaged.")) };
  const hash = template.descriptor.sections["files"] ?? "";
  await store.upsert(template.descriptor, { tag: "v1", sections: { files: { hash, text: "Careful." } }, tools: {} });
  const sections = [{ ...workspace, text: "Changed since." }, workspaceDigest()];
  const changed = definePrompt({ ns: "tests", key: "shop", sections });
  const cases: readonly (readonly [Parameters<typeof optimize>[1], Partial<Parameters<typeof optimize>[2]>])[] = [
    [bare(workspace), {}],
    [bare(workspaceDigest()), {}],
    [bare({ key: "s", text: "x", tools: [] }), {}],
    [prompt, { scope: "global" }],
    [prompt, { scope: "global", overrides: { store } }],
    [prompt, { scope: "global", overrides: { store, tag: "../up" } }],
    [prompt, { scope: "global", overrides: { store: damaged, tag: "v1" } }],
    [changed.bind(), { scope: "global", overrides: { store, tag: "v1" } }],
    [bare(workspace, { ...workspaceDigest(), acceptsOverrides: false }), global],
    [definePrompt({ key: "k".repeat(60), sections: [workspace, workspaceDigest()] }).bind(), {}],
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

test("OPT-6 an application's own workspace is one whose tools are registered", async () => {
  const own = asWorkspaceTools(filesystemTools({ readOnly: true }).map((tool) => ({ ...tool })));
  const section: Section = { key: "sandbox", text: "x", tools: own, resources: [provide(Filesystem, files)] };
  const given = definePrompt({ key: "p", sections: [section, workspaceDigest({ key: "digest" })] }).bind();
  const session = createSession();
  expect(await optimize(started().adapter, given, { session })).toMatchObject({ sectionKey: "digest" });
  clearWorkspaceDigest(session, "digest");
  expect(session.get(workspaceDigests)).toEqual([]);
});

test.each([
  ["an object with a digest", { output: { digest: "A shop." } }],
  ["a JSON text", { text: '"A shop."' }],
  ["a text", { text: "A shop.\n" }],
])("OPT-4 the digest is the answer: %s", async (_, answer) => {
  const session = createSession();
  const { digest, response } = await optimize(started([answer]).adapter, prompt, { session });
  expect([digest, response.output.digest]).toEqual(["A shop.", "A shop."]);
});

test("OPT-5 the digest of a section inside another one is shown there", async () => {
  const nested = { key: "about", title: "About", children: [workspaceDigest()] };
  const given = definePrompt({ key: "nested", sections: [workspace, nested] }).bind();
  const session = createSession();
  const { model, adapter } = started([...steps, { text: "x" }]);
  expect(await optimize(adapter, given, { session })).toMatchObject({ sectionKey: "about.workspace-digest" });
  await adapter.evaluate(given, { session });
  expect(model.requests.at(-1)?.messages[0]?.text).toContain("### 2.1. Workspace\n\n# Shop");
});

test.each(["goal", "expectations", "planning", "workspace", "request"])(
  "OPT-2 a digest section may have the key %s",
  async (key) => {
    const given = definePrompt({ key: "p", sections: [workspace, workspaceDigest({ key })] }).bind();
    expect(await optimize(started().adapter, given, { session: createSession() })).toMatchObject({ sectionKey: key });
  },
);

test("OPT-2 what the prompt binds and demands around its workspace holds in the optimisation", async () => {
  const { resources: _, ...bare } = workspace;
  const noReadme = definePolicy({ name: "no-readme", check: () => deny("The README is private.") });
  for (const policies of [[], [noReadme]]) {
    const given = definePrompt({
      key: "p",
      resources: [provide(Filesystem, files)],
      policies,
      sections: [{ key: "around", visibility: "summary", summary: "Files.", children: [bare] }, workspaceDigest()],
    });
    const { response } = await optimize(started().adapter, given.bind(), { session: createSession() });
    const said = response.toolResults.map(({ result }) => (result.success ? "read" : result.message));
    expect(said).toEqual([policies.length === 0 ? "read" : "The README is private."]);
  }
});

test("OPT-4 what was meant to be JSON and is not the output is no digest", async () => {
  for (const text of ['{"digest": "A sh', '{"digest": 5}', "```json\n{}\n```", "[1]", "7"]) {
    const session = createSession();
    const error = await rejectionOf(optimize(started([{ text }]).adapter, prompt, { session }));
    expect(error).toMatchObject({ code: "output", phase: "response" });
    expect(session.get(workspaceDigests)).toEqual([]);
  }
});

test("OPT-4 OPT-6 the response of a text has what was spent on it", async () => {
  const session = createSession();
  const given: readonly ScriptedStep[] = [...steps.slice(0, 1), { text: "A shop.", finishReason: "stop" }];
  const { response } = await optimize(started(given).adapter, prompt, { session });
  const expected = await optimize(started().adapter, prompt, { session });
  expect(Object.keys(response).toSorted()).toEqual(Object.keys(expected.response).toSorted());
  expect(response).toMatchObject({ turns: 2, text: "A shop.", finishReason: "stop" });
  expect(response.toolResults).toHaveLength(1);
  expect(response.usage.totalTokens).toBeGreaterThan(0);
});

test("EVL-40 OPT-5 accept is asked with both overrides before anything is stored; refused, or failed, nothing is", async () => {
  const store = memoryOverrides();
  const overrides = { store, tag: "latest" };
  const global = { session: createSession(), scope: "global", overrides } as const;
  const asked: unknown[] = [];
  const refused = await optimize(started().adapter, prompt, {
    ...global,
    accept: async (candidate, current) => {
      asked.push(candidate.sections["workspace-digest"]?.text, current);
      return { accepted: false, why: "worse by 0.2" };
    },
  });
  expect(refused).toMatchObject({
    digest: "# Shop\nA {{shop}}.",
    acceptance: { accepted: false, why: "worse by 0.2" },
  });
  expect(asked).toEqual(["# Shop\nA \\{{shop}}.", undefined]);
  const failed = await optimize(started().adapter, prompt, {
    ...global,
    accept: () => Promise.reject(new Error("no rows")),
  });
  expect(failed.acceptance).toEqual({ accepted: false, why: "It could not be decided: no rows" });
  expect(await store.resolve(template.descriptor, "latest")).toBeUndefined();
  const accepted = await optimize(started().adapter, prompt, {
    ...global,
    accept: async () => ({ accepted: true, why: "better" }),
  });
  expect(accepted.acceptance).toEqual({ accepted: true, why: "better" });
  expect(await store.resolve(template.descriptor, "latest")).toMatchObject({
    sections: { "workspace-digest": { text: expect.stringContaining("# Shop") } },
  });
  const { model, adapter } = started();
  const accept = async () => ({ accepted: true, why: "" });
  const wrong = await rejectionOf(optimize(adapter, prompt, { session: createSession(), accept }));
  expect(String(wrong)).toContain('accept is asked before an override is stored: it needs the scope "global".');
  expect(model.requests).toHaveLength(0);
});
