import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  Filesystem,
  provide,
  provideFactory,
  resourceKey,
  type Binding,
  type Prompt,
  type Resources,
  type ToolResult,
} from "@proviso/core";
import { memoryFilesystem, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const input = z.object({});
const refused = /tried to change a file, which it has not locked for that: .*uses/u;

/** The results of these calls, one a turn. */
async function called(
  prompt: Prompt<string>,
  names: readonly string[],
  resources: readonly Binding[] | Resources,
): Promise<readonly ToolResult[]> {
  const steps: ScriptedStep[] = names.map((name) => ({ toolCalls: [{ name, arguments: {} }] }));
  const adapter = modelAdapter(scriptedModel([...steps, { text: "Done." }]), fakeEnvironment());
  const { toolResults } = await adapter.evaluate(prompt, { resources });
  return toolResults.map(({ result }) => result);
}

/** A prompt whose policy gives its filesystem to the handler of `write`. */
function handed(uses: readonly [typeof Filesystem] | readonly [], fails: boolean) {
  let held: Filesystem | undefined;
  const look = definePolicy({
    name: "look",
    uses: [Filesystem],
    check(_, { resources }) {
      held = resources.get(Filesystem);
      return allow();
    },
  });
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input,
    uses,
    async execute() {
      await held?.read("b.txt");
      await held?.write("a.txt", "written");
      if (fails) throw new Error("failed after the write");
    },
  });
  return definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [write] }], policies: [look] }).bind();
}

test.each([true, false])(
  "TX-1 RES-9 what a policy got to read is not written to by a handler that has not locked it; it fails: %s",
  async (fails) => {
    const files = memoryFilesystem({ "b.txt": "there" });
    const [result] = await called(handed([], fails), ["write"], [provide(Filesystem, files)]);
    expect(result).toMatchObject({ success: false, message: expect.stringMatching(refused) });
    expect(await files.exists("a.txt")).toBe(false);
  },
);

test("TX-1 RES-9 a handler whose tool uses the resource may write through what its policy got", async () => {
  for (const fails of [true, false]) {
    const files = memoryFilesystem({ "b.txt": "there" });
    const [result] = await called(handed([Filesystem], fails), ["write"], [provide(Filesystem, files)]);
    expect(result).toMatchObject({ success: !fails });
    expect(await files.exists("a.txt")).toBe(!fails);
  }
});

interface Notes {
  write(path: string): Promise<void>;
}
const Notes = resourceKey<Notes>("Notes");

/** Gets the filesystem when no call asks for it, after its factory. */
function lateNotes(): Binding {
  return provideFactory(Notes, (resources) => {
    const opening = new Promise<Filesystem>((resolve) => {
      setImmediate(() => resolve(resources.get(Filesystem)));
    });
    return { write: async (path) => (await opening).write(path, "written") };
  });
}

const writing = (uses: readonly (typeof Notes | typeof Filesystem)[], fails: boolean, readOnly = false) =>
  defineTool({
    name: "write",
    description: "Writes.",
    input,
    uses,
    readOnly,
    async execute(_, { resources }) {
      await resources.get(Notes).write("a.txt");
      if (fails) throw new Error("failed after the write");
    },
  });

test.each([true, false])(
  "TX-1 RES-10 a handle that a factory got in no call is refused to a call that has not locked the resource; it fails: %s",
  async (fails) => {
    const files = memoryFilesystem();
    const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [writing([Notes], fails)] }] });
    const [result] = await called(prompt.bind(), ["write"], [provide(Filesystem, files), lateNotes()]);
    expect(result).toMatchObject({ success: false, message: expect.stringMatching(refused) });
    expect(await files.exists("a.txt")).toBe(false);
  },
);

test("TX-1 RES-10 a call that uses both writes through it, and is undone where it fails", async () => {
  for (const fails of [true, false]) {
    const files = memoryFilesystem();
    const tools = [writing([Notes, Filesystem], fails)];
    const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools }] });
    const [result] = await called(prompt.bind(), ["write"], [provide(Filesystem, files), lateNotes()]);
    expect(result).toMatchObject({ success: !fails });
    expect(await files.exists("a.txt")).toBe(!fails);
  }
});

test("RES-10 in no call the handle is the application's", async () => {
  const files = memoryFilesystem();
  await using resources = await openResources([provide(Filesystem, files), lateNotes()]);
  await resources.get(Notes).write("a.txt");
  expect(await files.exists("a.txt")).toBe(true);
});

test.each([
  ["that declares other resources", { uses: [] as const }, refused],
  ["that is read-only", { readOnly: true }, /inner is read-only, but tried to change a file/u],
] as const)("TX-1 RES-9 a handle of the call around is refused to a call inside %s", async (_, how, message) => {
  const files = memoryFilesystem();
  const results: ToolResult[] = [];
  const outer = defineTool({
    name: "outer",
    description: "Evaluates.",
    input,
    async execute(__, { resources, evaluate }) {
      const held = resources.get(Filesystem);
      const inner = defineTool({
        name: "inner",
        description: "Writes.",
        input,
        ...how,
        execute: () => held.write("a.txt", "written"),
      });
      const prompt = definePrompt({ key: "i", sections: [{ key: "t", text: "Go.", tools: [inner] }] });
      const adapter = modelAdapter(
        scriptedModel([{ toolCalls: [{ name: "inner", arguments: {} }] }, { text: "Done." }]),
      );
      const { toolResults } = await evaluate(prompt.bind(), { adapter });
      results.push(...toolResults.map(({ result }) => result));
      // The outer call itself may.
      await held.write("b.txt", "written");
    },
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [outer] }] });
  const [result] = await called(prompt.bind(), ["outer"], [provide(Filesystem, files)]);
  expect(results).toEqual([expect.objectContaining({ success: false, message: expect.stringMatching(message) })]);
  expect(result).toMatchObject({ success: true });
  expect(await files.list(".")).toEqual([expect.objectContaining({ name: "b.txt" })]);
});
