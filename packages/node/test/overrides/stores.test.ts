import { DefinitionError, definePrompt, defineTool, type OverridesStore, type PromptOverride } from "@proviso/core";
import { createSession, memoryOverrides, modelAdapter } from "@proviso/runtime";
import { fileOverrides } from "@proviso/node";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../../../runtime/test/support.ts";

const template = definePrompt({
  ns: "tests",
  key: "stored",
  params: z.object({ name: z.string() }),
  sections: [
    { key: "guide", text: "Help {{name}}." },
    { key: "ask", text: "Begin.", role: "user" },
  ],
});
const { descriptor } = template;
const better: PromptOverride = {
  tag: "latest",
  sections: { guide: { hash: descriptor.sections["guide"] ?? "", text: "Serve {{name}}." } },
  tools: {},
};

const folders: string[] = [];
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "overrides-"));
  folders.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(folders.splice(0).map((made) => rm(made, { recursive: true, force: true })));
});
const stores: readonly (readonly [string, () => Promise<OverridesStore>])[] = [
  ["memory", async () => memoryOverrides()],
  ["files", async () => fileOverrides(await folder())],
];

test.each(stores)("OVR-2 what was stored in %s is what is resolved, and what is evaluated with", async (_, make) => {
  const store = await make();
  expect(await store.resolve(descriptor, "latest")).toBeUndefined();
  await store.upsert(descriptor, better);
  expect(await store.resolve(descriptor, "latest")).toEqual(better);
  const model = scriptedModel([{ text: "x" }]);
  const session = createSession();
  const events = recordEvents(session);
  await modelAdapter(model, fakeEnvironment()).evaluate(template.bind({ name: "Ada" }), {
    session,
    overrides: { store },
  });
  expect(model.requests[0]?.messages[0]?.text).toBe("Serve Ada.");
  expect(events[0]).toMatchObject({ overrides: { tag: "latest", applied: ["guide"], stale: [] } });
});

test.each(stores)(
  "OVR-2 OVR-3 %s refuse what is stale, unknown or names unknown params, and keep what they had",
  async (_, make) => {
    const store = await make();
    await store.upsert(descriptor, better);
    const hash = descriptor.sections["guide"] ?? "";
    const refused: unknown[] = [
      { ...better, sections: { guide: { hash: "0", text: "x" } } },
      { ...better, sections: { nope: { hash, text: "x" } } },
      { ...better, sections: { guide: { hash, text: "{{nope}}" } } },
      { ...better, sections: { guide: { hash, text: 1 } } },
      { ...better, sections: { guide: { hash, title: "x" } } },
      { ...better, tag: "../../up" },
      { ...better, sections: JSON.parse('{"__proto__": {"hash": "x"}}') },
      "nothing",
    ];
    for (const override of refused) {
      expect(await rejection(store.upsert(descriptor, override as PromptOverride))).toBeInstanceOf(DefinitionError);
    }
    expect(await store.resolve(descriptor, "latest")).toEqual(better);
  },
);

test.each(stores)("OVR-4 seed writes the current texts to %s once, and is idempotent", async (_, make) => {
  const store = await make();
  const seeded = await store.seed(template as never, "latest");
  expect(seeded.sections["guide"]).toMatchObject({ text: "Help {{name}}." });
  await store.upsert(descriptor, better);
  expect(await store.seed(template as never, "latest")).toEqual(better);
});

test("OVR-2 a stale override is skipped, listed and logged, and the evaluation goes on", async () => {
  const store: OverridesStore = {
    ...memoryOverrides(),
    resolve: async () => ({ ...better, sections: { guide: { hash: "old", text: "Old." } } }),
  };
  const logged: unknown[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (...entry: unknown[]) => void logged.push(entry) };
  const model = scriptedModel([{ text: "x" }]);
  await modelAdapter(model, { logger }).evaluate(template.bind({ name: "Ada" }), { overrides: { store } });
  expect(model.requests[0]?.messages[0]?.text).toBe("Help Ada.");
  expect(logged).toMatchObject([[{ stale: ["guide"], tag: "latest" }, "prompt.overrides.stale"]]);
});

test("ERR-1 a store that fails is a PromptRenderError before any request", async () => {
  const store = { ...memoryOverrides(), resolve: () => Promise.reject(new Error("no disk")) };
  const model = scriptedModel([]);
  const error = await rejection(modelAdapter(model).evaluate(template.bind({ name: "x" }), { overrides: { store } }));
  expect(error).toMatchObject({ code: "render", message: "no disk" });
});

test("OVR-5 files lie in <folder>/<ns>/<key>/<tag>.json and are written whole", async () => {
  const root = await folder();
  await fileOverrides(root).upsert(descriptor, better);
  expect(await readdir(join(root, "tests", "stored"))).toEqual(["latest.json"]);
  const text = await readFile(join(root, "tests", "stored", "latest.json"), "utf8");
  expect(JSON.parse(text)).toEqual({ version: 1, ns: "tests", key: "stored", ...better });
});

test.each([
  ["truncated", (text: string) => text.slice(0, -20), /damaged/],
  ["empty", () => "", /damaged/],
  ["of another prompt", (text: string) => text.replace('"stored"', '"other"'), /another prompt/],
  ["of another tag", (text: string) => text.replace('"latest"', '"other"'), /another prompt or tag/],
  ["from a newer version", (text: string) => text.replace('"version": 1', '"version": 2'), /version 2/],
  ["with hostile keys", (text: string) => text.replace('"guide"', '"__proto__"'), /__proto__/],
  ["with hostile keys in a section", (text: string) => text.replace('"hash"', '"__proto__": {}, "hash"'), /__proto__/],
  ["with hostile keys at its root", (text: string) => text.replace("{", '{"__proto__": {"tag": "x"},'), /__proto__/],
  ["with a hostile tool", (text: string) => text.replace('"tools": {}', '"tools": {"constructor": {}}'), /constructor/],
  [
    "with a hostile param",
    (text: string) => text.replace('"tools": {}', '"tools": {"t": {"hash": "x", "params": {"__proto__": "x"}}}'),
    /__proto__/,
  ],
  ["without a version", (text: string) => text.replace('"version": 1,', ""), /version undefined/],
  ["a list", () => "[]", /must hold an object/],
  ["of wrong shape", (text: string) => text.replace('"Serve {{name}}."', "5"), /sections\.guide\.text/],
])("OVR-4 a file that is %s is an error that names it, and is left alone", async (_, damage, says) => {
  const root = await folder();
  const store = fileOverrides(root);
  await store.upsert(descriptor, better);
  const file = join(root, "tests", "stored", "latest.json");
  const damaged = damage(await readFile(file, "utf8"));
  await writeFile(file, damaged);
  for (const use of [() => store.resolve(descriptor, "latest"), () => store.seed(template as never, "latest")]) {
    const error = await rejection(use());
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(file);
    expect(error.message).toMatch(says);
  }
  expect(await readFile(file, "utf8")).toBe(damaged);
});

test("OVR-4 a file cut anywhere is an error that names it, and nothing of it is used", async () => {
  const root = await folder();
  const store = fileOverrides(root);
  await store.upsert(descriptor, better);
  const file = join(root, "tests", "stored", "latest.json");
  const text = (await readFile(file, "utf8")).trimEnd();
  for (let length = 0; length < text.length; length++) {
    await writeFile(file, text.slice(0, length));
    const error = await rejection(store.resolve(descriptor, "latest"));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(file);
  }
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test("OVR-5 nothing outside the folder is read or written: not by names, not by links", async () => {
  const [root, outside] = [await folder(), await folder()];
  const store = fileOverrides(root);
  for (const wrong of ["..", "../x", "a/b", "", ".hidden", "A"]) {
    expect(await rejection(store.resolve({ ...descriptor, ns: wrong }, "latest"))).toBeInstanceOf(DefinitionError);
    expect(await rejection(store.resolve({ ...descriptor, key: wrong }, "latest"))).toBeInstanceOf(DefinitionError);
    expect(await rejection(store.resolve(descriptor, wrong))).toBeInstanceOf(DefinitionError);
    for (const named of [{ ns: wrong }, { key: wrong }]) {
      expect(await rejection(store.upsert({ ...descriptor, ...named }, better))).toBeInstanceOf(DefinitionError);
      expect(await rejection(store.seed({ ...template, ...named } as never, "latest"))).toBeInstanceOf(DefinitionError);
    }
    expect(await rejection(store.upsert(descriptor, { ...better, tag: wrong }))).toBeInstanceOf(DefinitionError);
    expect(await rejection(store.seed(template as never, wrong))).toBeInstanceOf(DefinitionError);
    expect(await readdir(root)).toEqual([]);
  }
  await mkdir(join(root, "tests"));
  await symlink(outside, join(root, "tests", "stored"));
  expect(await rejection(store.upsert(descriptor, better))).toBeInstanceOf(DefinitionError);
  expect(await rejection(store.resolve(descriptor, "latest"))).toBeInstanceOf(DefinitionError);
  expect(await readdir(outside)).toEqual([]);
});

test("OVR-3 a file with an unknown placeholder is refused when it is resolved, and the error names it", async () => {
  const root = await folder();
  const store = fileOverrides(root);
  await store.upsert(descriptor, better);
  const file = join(root, "tests", "stored", "latest.json");
  const good = await readFile(file, "utf8");
  for (const text of ["Serve {{nmae}}.", "Serve {{}}."]) {
    await writeFile(file, good.replace("Serve {{name}}.", text));
    const error = await rejection(store.resolve(descriptor, "latest"));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(file);
    expect(error.message).toContain('section "guide"');
  }
});

test("OVR-4 a file that an editor saved with a mark, or with other line ends, is read; one that is no UTF-8 is refused", async () => {
  const root = await folder();
  const store = fileOverrides(root);
  await store.upsert(descriptor, better);
  const file = join(root, "tests", "stored", "latest.json");
  const text = await readFile(file, "utf8");
  await writeFile(file, `\u{feff}${text.replaceAll("\n", "\r\n")}`);
  expect(await store.resolve(descriptor, "latest")).toEqual(better);
  await writeFile(file, text.replace("Serve", "Servé"), "latin1");
  const error = await rejection(store.resolve(descriptor, "latest"));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain(`${file} is damaged: it is not UTF-8`);
});

test("OVR-4 a pipe or a folder in a file's place is refused, not waited for", async () => {
  const root = await folder();
  const store = fileOverrides(root);
  const file = join(root, "tests", "stored", "latest.json");
  await mkdir(file, { recursive: true });
  const refused = async () => {
    for (const use of [() => store.resolve(descriptor, "latest"), () => store.upsert(descriptor, better)]) {
      const error = await rejection(use());
      expect(error).toBeInstanceOf(DefinitionError);
      expect(error.message).toContain(`${file} is no file`);
    }
  };
  await refused();
  await rmdir(file);
  execFileSync("mkfifo", [file]);
  await refused();
});

test.each(stores)(
  "OVR-4 what is seeded into %s can be read, whatever the prompt's parts are called",
  async (_, make) => {
    const odd = ["constructor", "prototype"];
    const input = z.object({ toString: z.string().describe("a drawing"), at: z.string().describe("where") });
    const tools = odd.map((name) => defineTool({ name, description: name, input, execute: () => name }));
    const sections = [...odd, "plain"].map((key) => ({ key, text: key }));
    const given = definePrompt({ key: "odd", sections: [...sections, { key: "tools", text: "x", tools }] });
    const store = await make();
    const seeded = await store.seed(given as never, "latest");
    expect(Object.keys(seeded.sections)).toEqual(["plain", "tools"]);
    expect(await store.resolve(given.descriptor, "latest")).toEqual(seeded);
    const hash = given.descriptor.sections["prototype"] ?? "";
    const override = { tag: "latest", sections: { prototype: { hash, text: "x" } }, tools: {} };
    expect(await rejection(store.upsert(given.descriptor, override))).toBeInstanceOf(DefinitionError);
  },
);

test("OVR-4 seed writes no text over one that another store of the folder has saved meanwhile", async () => {
  for (let turns = 0; turns < 24; turns++) {
    const shared = await folder();
    const [one, two] = [fileOverrides(shared), fileOverrides(shared)];
    const seeding = one.seed(template, "latest");
    for (let left = turns; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([seeding, two.upsert(descriptor, better)]);
    expect(await one.resolve(descriptor, "latest")).toEqual(better);
    expect(await readdir(join(shared, "tests", "stored"))).toEqual(["latest.json"]);
  }
});
